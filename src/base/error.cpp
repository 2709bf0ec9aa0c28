// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/error.h"

namespace cupel {

Error::Error(Fault fault, std::string message)
    : fault_(fault), message_(std::move(message)), text_(message_) {}

void Error::add_frame(std::string frame) {
  text_ += cat("\n  while ", frame);
  trail_.push_back(std::move(frame));
}

std::size_t checked_mul(std::size_t a, std::size_t b, const char* what) {
  std::size_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    fail(Fault::data, what, ": ", a, " x ", b,
         " does not fit 64 bits; the file is probably damaged");
  return result;
}

std::size_t checked_add(std::size_t a, std::size_t b, const char* what) {
  std::size_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    fail(Fault::data, what, ": ", a, " + ", b,
         " does not fit 64 bits; the file is probably damaged");
  return result;
}

}  // namespace cupel
