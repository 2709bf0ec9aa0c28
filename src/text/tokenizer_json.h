// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string_view>

#include "text/model.h"
#include "text/part.h"

namespace cupel::text {

/// A tokenizer's JSON in memory: a tree without the vocabulary and the merges, which are read
/// straight into tables (a tree of a quarter of a million entries costs a second).
class TokenizerJson {
 public:
  /// Fault::data for broken JSON or tables of another shape.
  explicit TokenizerJson(std::string_view json);
  TokenizerJson(TokenizerJson&&) noexcept;
  ~TokenizerJson();
  Part root() const;
  const ModelTables& tables() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cupel::text
