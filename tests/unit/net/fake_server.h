// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cupel::test {

/// What a server does with one request: the bytes that it sends, and whether it closes then.
struct Reply {
  std::string bytes;  ///< "": none
  bool close = false;
  double pause_seconds = 0;  ///< before it sends
};

/// A complete answer of HTTP/1.1.
Reply reply(int status, const std::string& body, const std::string& more_headers = {});

/// A server of this process on a port of its own. It knows no HTTP beyond Content-Length, so that
/// it can send what no library would.
class FakeServer {
 public:
  /// `answer` gets the request's head and body, and how many came before it. Called from threads
  /// of the server, one at a time.
  using Answer = std::function<Reply(const std::string& head, const std::string& body, int before)>;
  explicit FakeServer(Answer answer);
  ~FakeServer();

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int requests() const;
  int connections() const;

 private:
  void accept_all();
  void serve(int socket);
  bool answer_one(int socket);

  Answer answer_;
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  int requests_ = 0, connections_ = 0;
  std::vector<int> sockets_;
  std::vector<std::jthread> threads_;
  std::jthread acceptor_;
};

}  // namespace cupel::test
