// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "files_util.h"
#include "format/checkpoint.h"

/// A GGUF writer for tests, by the published rules of names and layouts alone: it shares no table
/// with the reader.
namespace cupel::test {

struct GgufOptions {
  bool usual_windows = false;  ///< no pattern of layers with a window
  bool old_forms = false;  ///< one tensor per expert (llama), kv_b whole, keys of their true size
};

struct GgufTensor {
  std::string name;
  std::vector<int64_t> shape;  ///< outermost first
  uint32_t type = 0;
  std::string data;
};

struct GgufModel {
  std::string arch;  ///< value of general.architecture
  GgufBuilder keys;
  std::vector<GgufTensor> tensors;
  /// Replaces the tensor of that name, which must exist.
  void replace(GgufTensor tensor);
  std::string bytes() const;
};

/// Every weight as float32.
GgufModel to_gguf(const format::Checkpoint& model, const GgufOptions& options = {});

void add_tensor(GgufBuilder& builder, const GgufTensor& tensor);

}  // namespace cupel::test
