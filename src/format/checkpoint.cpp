// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/checkpoint.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "format/artifact.h"
#include "format/checkpoint_kinds.h"

namespace cupel::format {
namespace {

namespace fs = std::filesystem;

/// Turns what <filesystem> throws (no permission, a loop of links) into an Error.
template <class Body>
auto with_files(const std::string& path, Body&& body) {
  try {
    return body();
  } catch (const fs::filesystem_error& e) {
    fail(Fault::environment, "can't read '", path, "': ", e.code().message());
  }
}

enum class Kind { folder, gguf, artifact, safetensors, json, other };

Kind kind_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  CUPEL_CHECK(fs::exists(status), user, "no model at '", path, "': no such file or folder");
  if (fs::is_directory(status)) return Kind::folder;
  if (is_artifact(path)) return Kind::artifact;
  char first[4] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  const std::string_view magic(first, sizeof first);
  const fs::path extension = fs::path(path).extension();
  if (magic == "GGUF" || magic == "FUGG" || extension == ".gguf") return Kind::gguf;
  if (extension == ".safetensors") return Kind::safetensors;
  if (extension == ".json" || first[0] == '{') return Kind::json;
  return Kind::other;
}

}  // namespace

std::unique_ptr<Checkpoint> Checkpoint::open(const std::string& path) {
  const auto by_kind = [&]() -> std::unique_ptr<Checkpoint> {
    switch (kind_of(path)) {
      case Kind::folder:
        return open_hf_checkpoint(path);
      case Kind::gguf:
        return open_gguf_checkpoint(path);
      case Kind::artifact:
        return open_artifact_checkpoint(path);
      case Kind::safetensors:
        fail(Fault::user, "'", path, "' holds weights only; give the folder with its config.json");
      default:
        fail(Fault::user, "'", path,
             "' is no model: a Hugging Face folder, a .gguf or a .cupel file expected");
    }
  };
  auto checkpoint = with_files(path, by_kind);
  checkpoint->path_ = path;
  for (const WeightInfo& w : checkpoint->weights_) checkpoint->by_name_[w.name] = &w;
  return checkpoint;
}

const WeightInfo* Checkpoint::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::optional<RoundedInput> Checkpoint::rounded_input(std::string_view) const {
  return std::nullopt;
}

std::string Checkpoint::fingerprint() const {
  Sha256 hash;
  hash.add(config_json_);
  std::vector<float> values;
  for (const WeightInfo& w : weights_) {
    std::size_t count = 1;
    for (const int64_t size : w.shape) count *= static_cast<std::size_t>(size);
    values.resize(count);
    read(w.name, values);
    hash.add(cat("\n", w.name, " ", w.stored_as, " ", list_text(w.shape), " ",
                 crc32c(std::as_bytes(std::span(values)))));
  }
  return hash.hex();
}

std::string tokenizer_json_of(const std::string& path) {
  const std::string json = with_files(path, [&]() -> std::string {
    switch (kind_of(path)) {
      case Kind::folder:
        return hf_tokenizer_json(path);
      case Kind::gguf:
        return gguf_tokenizer_json(GgufFile(path));
      case Kind::artifact:
        return Artifact::open(path)->tokenizer_json();
      case Kind::json:
        return tokenizer_file_json(path, "");
      default:
        return "";
    }
  });
  CUPEL_CHECK(!json.empty(), user, "no tokenizer in '", path, "'");
  return json;
}

void check_finite(std::span<const float> values, std::string_view weight) {
  constexpr std::size_t kChunk = 4096;
  for (std::size_t start = 0; start < values.size(); start += kChunk) {
    const auto chunk = values.subspan(start, std::min(kChunk, values.size() - start));
    uint32_t bad = 0;
    for (const float v : chunk)
      bad |= (std::bit_cast<uint32_t>(v) & 0x7f800000) == 0x7f800000 ? 1u : 0u;
    if (bad == 0) continue;
    for (std::size_t i = 0; i < chunk.size(); ++i)
      CUPEL_CHECK((std::bit_cast<uint32_t>(chunk[i]) & 0x7f800000) != 0x7f800000, data, "weight '",
                  weight, "' holds ", chunk[i], " at position ", start + i,
                  "; the checkpoint is damaged");
  }
}

}  // namespace cupel::format
