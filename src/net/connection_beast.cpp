// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// The only file that sees Boost: HTTP/1.1 over TCP with deadlines. Every operation is started
// asynchronously, because deadlines of tcp_stream exist for those alone, and waited for at once.
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>

#include "net/connection.h"

namespace cupel::net {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using ErrorCode = boost::system::error_code;

constexpr uint32_t kHeaderBytes = 64 * 1024;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

Trouble trouble_of(const ErrorCode& error) {
  if (!error) return Trouble::none;
  if (error == beast::error::timeout) return Trouble::timeout;
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error == asio::error::eof || error == asio::error::connection_reset ||
      error == asio::error::connection_aborted || error == asio::error::broken_pipe ||
      error == asio::error::not_connected)
    return Trouble::dropped;
  return error.category() == http::make_error_code(http::error::bad_value).category()
             ? Trouble::garbled
             : Trouble::unreachable;
}

http::request<http::string_body> message_of(const Url& url, const HttpRequest& request) {
  http::request<http::string_body> out;
  out.method_string(request.method);
  out.target(request.target);
  out.version(11);
  out.set(http::field::host, url.origin());
  out.set(http::field::user_agent, "cupel");
  for (const auto& [name, value] : request.headers) out.set(name, value);
  out.keep_alive(true);
  out.body() = request.body;
  if (!request.body.empty() || request.method != "GET") out.prepare_payload();
  return out;
}

class BeastConnection final : public Connection {
 public:
  BeastConnection(const Url& url, const ConnectionLimits& limits) : url_(url), limits_(limits) {}

  bool is_used() const override { return used_; }

  Exchange exchange(const HttpRequest& request) override {
    ErrorCode error = open();
    if (error) return failed(error, Trouble::unreachable);
    stream_->expires_after(milliseconds(limits_.answer_seconds));
    const auto message = message_of(url_, request);
    error = wait([&](auto done) { http::async_write(*stream_, message, std::move(done)); });
    if (error) return failed(error, trouble_of(error));
    http::response_parser<http::string_body> parser;
    parser.body_limit(static_cast<uint64_t>(limits_.body_bytes));
    parser.header_limit(kHeaderBytes);
    // The header by itself: Beast forgets the limit where both arrive together.
    error = wait(
        [&](auto done) { http::async_read_header(*stream_, buffer_, parser, std::move(done)); });
    if (!error && !parser.is_done())
      error =
          wait([&](auto done) { http::async_read(*stream_, buffer_, parser, std::move(done)); });
    if (error) return failed(error, trouble_of(error));
    used_ = parser.get().keep_alive();
    if (!used_) stream_.reset();
    return {Trouble::none, {}, taken(parser.release())};
  }

 private:
  static HttpResponse taken(http::response<http::string_body> message) {
    HttpResponse out{static_cast<int>(message.result_int()), {}, std::move(message.body())};
    for (const auto& field : message)
      out.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    return out;
  }

  /// Runs one asynchronous operation to its end.
  template <class Start>
  ErrorCode wait(const Start& start) {
    ErrorCode result = asio::error::operation_aborted;
    start([&](const ErrorCode& error, auto&&...) { result = error; });
    io_.restart();
    io_.run();
    return result;
  }

  ErrorCode open() {
    if (stream_) return {};
    buffer_.clear();
    used_ = false;
    ErrorCode error;
    asio::ip::tcp::resolver resolver(io_);
    const auto places = resolver.resolve(url_.host, std::to_string(url_.port), error);
    if (error) return error;
    stream_.emplace(io_);
    stream_->expires_after(milliseconds(limits_.connect_seconds));
    error = wait([&](auto done) { stream_->async_connect(places, std::move(done)); });
    if (error)
      stream_.reset();
    else
      stream_->socket().set_option(asio::ip::tcp::no_delay(true), error);
    return error;
  }

  Exchange failed(const ErrorCode& error, Trouble trouble) {
    stream_.reset();
    used_ = false;
    if (error == beast::error::timeout) trouble = Trouble::timeout;
    return {trouble, error.message(), {}};
  }

  Url url_;
  ConnectionLimits limits_;
  asio::io_context io_{1};
  std::optional<beast::tcp_stream> stream_;
  beast::flat_buffer buffer_;
  bool used_ = false;
};

}  // namespace

std::unique_ptr<Connection> make_connection(const Url& url, const ConnectionLimits& limits) {
  return std::make_unique<BeastConnection>(url, limits);
}

}  // namespace cupel::net
