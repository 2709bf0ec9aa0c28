// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>

#include "text/part.h"

namespace cupel::text {

/// A step that rewrites text before it is split. Immutable, thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// `text` is valid UTF-8 and stays so.
  virtual void apply(std::string& text) const = 0;
};

std::unique_ptr<Normalizer> make_normalizer(const Part& part);
std::unique_ptr<Normalizer> make_bert_normalizer(const Part& part);

}  // namespace cupel::text
