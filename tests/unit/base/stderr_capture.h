// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <string>

namespace cupel::test {

/// Standard error goes to a file, or to a terminal of 60 columns, until text() is called.
class StderrCapture {
 public:
  enum class Target { file, terminal };
  explicit StderrCapture(Target target) : saved_(::dup(STDERR_FILENO)) {
    int write_end = -1;
    if (target == Target::terminal) {
      winsize size{};
      size.ws_row = 24;
      size.ws_col = 60;
      if (::openpty(&read_end_, &write_end, nullptr, nullptr, &size) != 0) return;
      ::fcntl(read_end_, F_SETFL, O_NONBLOCK);
    } else {
      int ends[2];
      if (::pipe2(ends, O_NONBLOCK) != 0) return;
      read_end_ = ends[0];
      write_end = ends[1];
    }
    ::dup2(write_end, STDERR_FILENO);
    ::close(write_end);
  }
  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;
  ~StderrCapture() { text(); }

  /// What came since the last call.
  std::string more() {
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = ::read(read_end_, buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }
  std::string text() {
    if (saved_ < 0) return {};
    std::string all = more();
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    ::close(read_end_);
    saved_ = -1;
    return all;
  }

 private:
  int saved_ = -1, read_end_ = -1;
};

}  // namespace cupel::test
