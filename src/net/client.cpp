// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "net/client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "base/log.h"

namespace cupel::net {

namespace {

bool is_busy(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

/// A later try may go better.
bool may_pass(const Exchange& e) {
  return e.trouble == Trouble::dropped ||
         (e.trouble == Trouble::none && is_busy(e.response.status));
}

/// Seconds of a Retry-After header; 0 without one, or where it is a date.
double wanted_pause(const HttpResponse& response) {
  const std::string_view text = response.header("Retry-After");
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool number = error == std::errc() && end == text.data() + text.size();
  return number && std::isfinite(seconds) ? std::max(seconds, 0.0) : 0;
}

}  // namespace

HttpClient::HttpClient(Url url, ClientOptions options)
    : url_(std::move(url)),
      options_(std::move(options)),
      connection_(make_connection(url_, options_.limits)) {
  for (const auto& [name, value] : options_.headers)
    CUPEL_CHECK(value.find_first_of("\r\n") == value.npos, user, "the value of the header '", name,
                "' holds a line end");
}

HttpResponse HttpClient::get(const std::string& path) {
  return send({"GET", url_.path + path, options_.headers, {}});
}

HttpResponse HttpClient::post_json(const std::string& path, std::string body) {
  HttpRequest request{"POST", url_.path + path, options_.headers, std::move(body)};
  request.headers.emplace_back("Content-Type", "application/json");
  return send(std::move(request));
}

Exchange HttpClient::once(const HttpRequest& request) {
  const bool used = connection_->is_used();
  Exchange e = connection_->exchange(request);
  // A server may close a connection that idles at any time: that is no failure of this request.
  return used && e.trouble == Trouble::dropped ? connection_->exchange(request) : e;
}

HttpResponse HttpClient::send(HttpRequest request) {
  if (request.target.empty()) request.target = "/";
  for (int tries = 1;; ++tries) {
    Exchange e = once(request);
    const bool last = tries > options_.retries;
    if (e.trouble == Trouble::none && (last || !may_pass(e))) return std::move(e.response);
    if (last || !may_pass(e)) give_up(e, request, tries);
    pause(tries, e);
  }
}

void HttpClient::pause(int tries, const Exchange& last) const {
  const double doubled = options_.first_pause_seconds * std::pow(2.0, tries - 1);
  const double seconds =
      std::min(std::max(doubled, wanted_pause(last.response)), options_.longest_pause_seconds);
  log::debug("net", cat(url_.origin(), " ",
                        last.trouble == Trouble::none ? cat("answered ", last.response.status)
                                                      : "dropped the connection",
                        "; next try in ", fixed(seconds, 1), " s"));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void HttpClient::give_up(const Exchange& last, const HttpRequest& request, int tries) const {
  const std::string what = cat(request.method, " ", request.target);
  switch (last.trouble) {
    case Trouble::timeout:
      fail(Fault::environment, url_.origin(), " did not answer ", what, " within the time (",
           options_.limits.connect_seconds, " s to connect, ", options_.limits.answer_seconds,
           " s to answer)");
    case Trouble::unreachable:
      fail(Fault::environment, "can't connect to ", url_.origin(), ": ", last.reason,
           "; is the server running?");
    case Trouble::garbled:
      fail(Fault::environment, url_.origin(), " answered ", what,
           " with something that is not HTTP, or too large: ", last.reason);
    default:
      fail(Fault::environment, url_.origin(), " dropped the connection during ", what, " ", tries,
           tries == 1 ? " time: " : " times: ", last.reason);
  }
}

void HttpClient::check_ok(const HttpResponse& response, const std::string& path) const {
  CUPEL_CHECK(response.ok(), environment, url_.origin(), " answered ", response.status, " to ",
              url_.path, path, ": ", error_text(response));
}

}  // namespace cupel::net
