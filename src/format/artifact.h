// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "format/architecture.h"
#include "format/layout.h"

namespace cupel::format {

/// The front of a `*.cupel` file: an ordinary HDF5 file whose 4096-byte userblock holds this
/// header, little endian. All offsets are absolute. `index`, `config` and `tokenizer` are the
/// datasets of these names.
struct ArtifactHeader {
  static constexpr char kMagic[8] = {'C', 'U', 'P', 'E', 'L', '\r', '\n', '\x1a'};
  static constexpr uint32_t kVersion = 2;       ///< the newest
  static constexpr uint32_t kPlainVersion = 1;  ///< of files that round no input
  static constexpr std::size_t kUserblock = 4096;
  struct Block {
    uint64_t offset = 0, length = 0;
    uint32_t crc = 0, reserved = 0;
  };
  char magic[8];
  uint32_t version;
  uint32_t header_crc;   ///< CRC-32C of the header with this field zero
  uint64_t file_length;  ///< as written; a file that an HDF5 tool has made longer is still good
  Block index, config, tokenizer, manifest;
};

/// A tensor of an artifact: its layout, transform, and views of its planes in the map.
struct ArtifactTensor {
  std::string name;
  WeightId id;
  std::shared_ptr<const Layout> layout;
  int64_t rows = 0, cols = 0;  ///< a vector is [1, cols]
  InputTransform input;
  InputRounding rounding;
  PlaneViews planes;
  int64_t bytes = 0;  ///< of its planes
};

/// A mapped, validated artifact: header, index, every offset and length are checked against the
/// file and the layouts before anything is used; no HDF5 code is involved. Thread-safe, the views
/// live as long as this object.
class Artifact {
 public:
  /// Fault::data with the reason for a damaged file; a newer format version is refused by its
  /// number.
  static std::shared_ptr<const Artifact> open(const std::string& path);

  const ModelConfig& config() const { return config_; }
  const std::string& config_json() const { return config_json_; }
  const std::string& tokenizer_json() const { return tokenizer_json_; }
  const std::string& manifest_json() const { return manifest_json_; }
  const std::vector<ArtifactTensor>& tensors() const { return tensors_; }
  /// nullptr when absent (a tied head has no tensor of its own).
  const ArtifactTensor* find(WeightId id) const;
  /// Of the file's format.
  uint32_t version() const { return version_; }
  int64_t file_bytes() const { return static_cast<int64_t>(file_.bytes().size()); }
  /// Reads every plane: compares its CRC and looks for floats that are not finite; Fault::data
  /// names the first.
  void verify() const;

  /// A dataset of the file as header and index describe it: "/tensors/<name>/<plane>",
  /// "/transforms/<id>/<plane>",
  /// "/index", ...; all lie inside the file and none overlaps another.
  struct Dataset {
    std::string name;
    ElementType type = ElementType::u8;
    std::vector<int64_t> shape;
    uint64_t offset = 0, length = 0;
    uint32_t crc = 0;
  };
  const std::vector<Dataset>& datasets() const { return datasets_; }
  std::span<const std::byte> bytes_of(const Dataset& dataset) const {
    return file_.bytes().subspan(dataset.offset, dataset.length);
  }

 private:
  friend class ArtifactReader;
  MappedFile file_;
  uint32_t version_ = 0;
  ModelConfig config_;
  std::string config_json_, tokenizer_json_, manifest_json_;
  std::vector<ArtifactTensor> tensors_;
  std::vector<Dataset> datasets_;
};

/// True if the file starts with the artifact's magic.
bool is_artifact(const std::string& path);

}  // namespace cupel::format
