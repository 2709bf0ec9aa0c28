// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "export/safetensors_writer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "export/hf_tokenizer.h"

namespace cupel::export_ {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using format::ElementType;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

std::size_t count_of(const OutputTensor& t) {
  std::size_t n = 1;
  for (const int64_t size : t.shape) n = checked_mul(n, static_cast<std::size_t>(size), "shape");
  return n;
}
std::size_t bytes_of(const OutputTensor& t) {
  return format::stored_bytes(t.type, count_of(t));
}

std::string_view dtype_of(const OutputTensor& t) {
  const std::string_view name = format::safetensors_name(t.type);
  const bool encodes = t.type == ElementType::f32 || t.type == ElementType::f16 ||
                       t.type == ElementType::bf16 || !t.bytes.empty();
  CUPEL_CHECK(!name.empty() && encodes, internal, "tensor '", t.name, "': type ",
              format::traits(t.type).name, " cannot be written");
  return name;
}

using Shard = std::vector<const OutputTensor*>;

/// Cuts at tensor boundaries; a tensor larger than a shard gets one of its own.
std::vector<Shard> shards_of(const std::vector<OutputTensor>& tensors, int64_t shard_bytes) {
  std::vector<Shard> shards(1);
  std::size_t used = 0;
  for (const OutputTensor& t : tensors) {
    const std::size_t size = bytes_of(t);
    if (!shards.back().empty() && used + size > static_cast<std::size_t>(shard_bytes)) {
      shards.emplace_back();
      used = 0;
    }
    shards.back().push_back(&t);
    used += size;
  }
  // Widest elements first keeps every tensor aligned to its element.
  for (Shard& shard : shards)
    std::sort(shard.begin(), shard.end(), [](const OutputTensor* a, const OutputTensor* b) {
      const int x = format::traits(a->type).bytes, y = format::traits(b->type).bytes;
      return x != y ? x > y : a->name < b->name;
    });
  return shards;
}

std::string header_of(const Shard& shard) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string text = header.dump();
  text.pop_back();
  std::size_t at = 0;
  for (const OutputTensor* t : shard) {
    const std::size_t end = at + bytes_of(*t);
    const Json entry = {
        {"dtype", dtype_of(*t)}, {"shape", t->shape}, {"data_offsets", Json::array({at, end})}};
    text += cat(",", Json(t->name).dump(), ":", entry.dump());
    at = end;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::vector<char> encode(const OutputTensor& t, std::span<const float> values) {
  std::vector<char> out(bytes_of(t));
  if (t.type == ElementType::f32) {
    std::memcpy(out.data(), values.data(), out.size());
    return out;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits =
        t.type == ElementType::f16 ? format::f32_to_f16(values[i]) : format::f32_to_bf16(values[i]);
    std::memcpy(out.data() + 2 * i, &bits, 2);
  }
  return out;
}

void write_shard(const fs::path& path, const Shard& shard) {
  write_atomic_with(path.string(), [&](const std::string& temporary) {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    const std::string header = header_of(shard);
    const uint64_t size = header.size();
    file.write(reinterpret_cast<const char*>(&size), sizeof size);
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    std::vector<float> values;
    for (const OutputTensor* t : shard) {
      if (!t->bytes.empty()) {
        file.write(reinterpret_cast<const char*>(t->bytes.data()),
                   static_cast<std::streamsize>(t->bytes.size()));
        continue;
      }
      values.assign(count_of(*t), 0.0f);
      in_frame(cat("writing tensor '", t->name, "'"), [&] { t->fill(values); });
      const std::vector<char> bytes = encode(*t, values);
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      CUPEL_CHECK(file.good(), environment, "can't write '", path.string(), "' (disk full?)");
    }
    file.close();
    CUPEL_CHECK(file.good(), environment, "can't write '", path.string(), "' (disk full?)");
  });
}

std::string shard_name(std::size_t index, std::size_t count) {
  const auto five = [](std::size_t n) {
    const std::string digits = cat(n);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
  };
  return count == 1 ? kSingle : cat("model-", five(index + 1), "-of-", five(count), ".safetensors");
}

/// Weight files of an earlier export that a loader would prefer to, or mix with, the new ones.
void remove_stale(const fs::path& folder, const std::vector<std::string>& kept) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name == kSingle || name == kIndex ||
                      (name.starts_with("model-") && name.ends_with(".safetensors"));
    if (ours && std::find(kept.begin(), kept.end(), name) == kept.end()) fs::remove(entry.path());
  }
}

void check_names(const std::vector<OutputTensor>& tensors) {
  std::vector<std::string_view> names;
  for (const OutputTensor& t : tensors) names.push_back(t.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  CUPEL_CHECK(twice == names.end(), internal, "tensor '", *twice, "' would be written twice");
}

}  // namespace

void write_hf_folder(const std::string& folder, const std::vector<OutputTensor>& tensors,
                     const std::string& config_json, const std::string& tokenizer_json,
                     int64_t shard_bytes) {
  in_frame(cat("writing '", folder, "'"), [&] {
    check_names(tensors);
    make_folder(folder);
    const fs::path root(folder);
    const std::vector<Shard> shards = shards_of(tensors, shard_bytes);
    std::vector<std::string> written;
    std::size_t total = 0;
    std::map<std::string, std::string> places;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      written.push_back(shard_name(i, shards.size()));
      write_shard(root / written.back(), shards[i]);
      for (const OutputTensor* t : shards[i]) {
        places[t->name] = written.back();
        total += bytes_of(*t);
      }
    }
    if (shards.size() > 1) {
      written.emplace_back(kIndex);
      const nlohmann::json index = {{"metadata", {{"total_size", total}}}, {"weight_map", places}};
      write_atomic((root / kIndex).string(), index.dump(2) + "\n");
    }
    remove_stale(root, written);
    if (!tokenizer_json.empty()) write_hf_tokenizer(folder, tokenizer_json);
    write_atomic((root / "config.json").string(), config_json);
  });
}

}  // namespace cupel::export_
