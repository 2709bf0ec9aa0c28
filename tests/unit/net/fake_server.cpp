// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "fake_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

namespace cupel::test {

namespace {

/// Reads until `done` says that there is enough; false when the other side closed.
bool read_until(int socket, std::string& data, const std::function<bool()>& done) {
  char buffer[65536];
  while (!done()) {
    const ssize_t n = recv(socket, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    data.append(buffer, static_cast<std::size_t>(n));
  }
  return true;
}

std::size_t content_length(const std::string& head) {
  const std::size_t at = head.find("Content-Length: ");
  return at == head.npos ? 0 : std::stoul(head.substr(at + 16));
}

}  // namespace

Reply reply(int status, const std::string& body, const std::string& more_headers) {
  return {"HTTP/1.1 " + std::to_string(status) + " Text\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n" + more_headers + "\r\n" + body,
          false, 0};
}

FakeServer::FakeServer(Answer answer) : answer_(std::move(answer)) {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(listener_, 64);
  socklen_t size = sizeof address;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { accept_all(); });
}

FakeServer::~FakeServer() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int s : sockets_) shutdown(s, SHUT_RDWR);
  }
  threads_.clear();
  for (const int s : sockets_) close(s);
}

int FakeServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}
int FakeServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void FakeServer::accept_all() {
  for (int s; (s = accept(listener_, nullptr, nullptr)) >= 0;) {
    const std::lock_guard lock(mutex_);
    ++connections_;
    sockets_.push_back(s);
    threads_.emplace_back([this, s] { serve(s); });
  }
}

void FakeServer::serve(int socket) {
  while (answer_one(socket)) {
  }
  shutdown(socket, SHUT_RDWR);
}

bool FakeServer::answer_one(int socket) {
  std::string data;
  std::size_t head = 0;
  if (!read_until(socket, data, [&] { return (head = data.find("\r\n\r\n")) != data.npos; }))
    return false;
  const std::size_t whole = head + 4 + content_length(data.substr(0, head));
  if (!read_until(socket, data, [&] { return data.size() >= whole; })) return false;
  Reply out;
  {
    const std::lock_guard lock(mutex_);
    out = answer_(data.substr(0, head + 2), data.substr(head + 4), requests_++);
  }
  if (out.pause_seconds > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(out.pause_seconds));
  if (!out.bytes.empty()) send(socket, out.bytes.data(), out.bytes.size(), MSG_NOSIGNAL);
  return !out.close;
}

}  // namespace cupel::test
