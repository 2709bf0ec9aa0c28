// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"

namespace cupel {

/// Who must act; the value is the exit code of the program.
enum class Fault {
  user = 2,         ///< a wrong option, recipe or name
  data = 3,         ///< a bad file, NaN in a model
  environment = 4,  ///< disk full, no permission, missing device
  internal = 70,    ///< our bug
};

/// The only exception type that leaves a Cupel library. The message has the form
/// "what, expected, found, likely cause"; callers add "while ..." frames as it passes.
class Error : public std::exception {
 public:
  Error(Fault fault, std::string message);
  const char* what() const noexcept override { return text_.c_str(); }
  Fault fault() const { return fault_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& trail() const { return trail_; }
  void add_frame(std::string frame);

 private:
  Fault fault_;
  std::string message_;
  std::vector<std::string> trail_;
  std::string text_;
};

template <class... Parts>
[[noreturn]] void fail(Fault fault, const Parts&... parts) {
  throw Error(fault, cat(parts...));
}

/// Runs `body`; an Error that leaves it gets the frame "while <frame>", any other std::exception
/// becomes an internal Error first.
template <class Body>
auto in_frame(const std::string& frame, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (Error& e) {
    e.add_frame(frame);
    throw;
  } catch (const std::exception& e) {
    Error wrapped(Fault::internal, e.what());
    wrapped.add_frame(frame);
    throw wrapped;
  }
}

/// a * b and a + b of sizes that come from files; overflow is a data error that names `what`.
std::size_t checked_mul(std::size_t a, std::size_t b, const char* what);
std::size_t checked_add(std::size_t a, std::size_t b, const char* what);

}  // namespace cupel

/// Throws cupel::Error with the given fault and message unless `cond` holds.
#define CUPEL_CHECK(cond, fault, ...)                               \
  do {                                                              \
    if (!(cond)) ::cupel::fail(::cupel::Fault::fault, __VA_ARGS__); \
  } while (false)

/// An invariant of our own code: a violation is an internal error that names the place.
#define CUPEL_ASSERT(cond)                                                                    \
  do {                                                                                        \
    if (!(cond))                                                                              \
      ::cupel::fail(::cupel::Fault::internal, "assertion failed: " #cond " at " __FILE__ ":", \
                    __LINE__);                                                                \
  } while (false)
