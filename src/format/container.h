// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/element_type.h"

namespace cupel::format {

/// One tensor of a file: where its bytes lie. `shape` is outermost first (a torch [out, in] matrix
/// is {out, in} for GGUF too).
struct TensorEntry {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  int64_t elements() const;
};

/// The tensors and metadata of a file or a sharded folder, memory-mapped and fully validated,
/// nothing copied. Names are those in the file. Thread-safe.
class Container {
 public:
  virtual ~Container() = default;
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  const TensorEntry* find(std::string_view name) const;
  /// Metadata as one JSON object (GGUF keys; safetensors `__metadata__`). GGUF arrays of more than
  /// 16 elements appear as {"type": ..., "count": n}; read those through the GGUF interface.
  virtual std::string metadata_json() const = 0;
  /// "safetensors", "gguf v3".
  virtual std::string kind() const = 0;
  /// Bytes of the files, headers included.
  int64_t file_bytes() const { return file_bytes_; }
  /// What the reader accepted but thinks worth a note.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  /// For find(); to be called once, when tensors_ is complete. Fault::data for a name that occurs
  /// twice.
  void index_names();
  std::vector<TensorEntry> tensors_;
  std::vector<std::string> notes_;
  int64_t file_bytes_ = 0;

 private:
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

/// A `.safetensors` file, or a folder that holds one or a sharded set with its index.
std::unique_ptr<Container> open_safetensors(const std::string& path);
/// A `.gguf` file.
std::unique_ptr<Container> open_gguf(const std::string& path);
/// By the file's first bytes or the folder's content. Fault::user when nothing is there.
std::unique_ptr<Container> open_container(const std::string& path);

}  // namespace cupel::format
