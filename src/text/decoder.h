// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/part.h"

namespace cupel::text {

/// A step from the texts of tokens towards plain text. Immutable, thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

std::unique_ptr<Decoder> make_decoder(const Part& part);

}  // namespace cupel::text
