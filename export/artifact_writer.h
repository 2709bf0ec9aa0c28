// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "format/architecture.h"
#include "format/weight_code.h"

namespace cupel::export_ {

struct NamedCode {
  std::string name;  ///< canonical name
  /// Makes the code when the weight's turn comes.
  std::function<format::WeightCode()> code;
};

/// Everything that goes into an artifact. Order of `weights` is the order in the file.
struct ArtifactContent {
  std::string config_json;     ///< a Hugging Face config.json
  std::string tokenizer_json;  ///< may be empty
  std::string manifest_json;   ///< recipe, hashes, versions
  std::vector<NamedCode> weights;
};

/// Packs every code, unpacks it again with the layout's definition and compares (a difference is an
/// internal error), and writes one artifact: temporary name, fsync, rename. Equal content gives
/// equal bytes. Codes are made one after the other; a few weights (2^27 numbers, or one that is
/// larger) are in memory at a time and packed on all processors.
void write_artifact(const std::string& path, const ArtifactContent& content);

/// Compares an artifact's index with the HDF5 view of the same file (names, types, shapes, offsets)
/// and all CRCs; Fault::data names the first difference.
void verify_artifact(const std::string& path);

}  // namespace cupel::export_
