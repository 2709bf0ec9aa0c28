// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "format/container.h"

namespace cupel::format {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kLongestHeader = 100'000'000;
constexpr int kDeepest = 16;

/// JSON in which no object repeats a key: a second reader might keep the other value.
Json parse_strict(std::string_view text, std::string_view what) {
  std::vector<std::set<std::string>> keys;
  const Json::parser_callback_t watch = [&](int depth, Json::parse_event_t event, Json& value) {
    CUPEL_CHECK(depth < kDeepest, data, what, " is nested more than ", kDeepest, " deep");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key)
      CUPEL_CHECK(keys.back().insert(value.get<std::string>()).second, data, what,
                  " repeats the key '", value.get<std::string>(), "'");
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& e) {
    fail(Fault::data, what, " is not valid JSON: ", e.what());
  }
}

uint64_t natural(const Json& value, std::string_view name, std::string_view what) {
  CUPEL_CHECK(value.is_number_unsigned(), data, "tensor '", name, "': ", what, " holds ",
              value.dump(-1, ' ', true, Json::error_handler_t::replace),
              ", a non-negative integer expected");
  return value.get<uint64_t>();
}

/// A tensor's entry in the header, offsets not yet turned into bytes.
struct Described {
  TensorEntry tensor;
  uint64_t begin = 0, end = 0;
};

Described describe(const std::string& name, const Json& entry, std::vector<std::string>& notes) {
  CUPEL_CHECK(entry.is_object(), data, "tensor '", name, "' is not described by an object");
  for (const char* key : {"dtype", "shape", "data_offsets"})
    CUPEL_CHECK(entry.contains(key), data, "tensor '", name, "' has no ", key);
  for (const auto& [key, value] : entry.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      notes.push_back(cat("tensor '", name, "' has the unknown field '", key, "'"));

  Described d;
  d.tensor.name = name;
  const Json &dtype = entry["dtype"], &shape = entry["shape"], &range = entry["data_offsets"];
  const auto type =
      dtype.is_string() ? type_of_safetensors(dtype.get<std::string>()) : std::nullopt;
  CUPEL_CHECK(type, data, "tensor '", name, "' has the unknown dtype ", dtype.dump());
  d.tensor.type = *type;
  CUPEL_CHECK(shape.is_array(), data, "tensor '", name, "': the shape is not a list");
  std::size_t count = 1;
  for (const Json& size : shape) {
    const uint64_t n = natural(size, name, "the shape");
    CUPEL_CHECK(n <= uint64_t{std::numeric_limits<int64_t>::max()}, data, "tensor '", name,
                "' has the impossible size ", n);
    count = checked_mul(count, n, "size of a tensor");
    d.tensor.shape.push_back(static_cast<int64_t>(n));
  }
  CUPEL_CHECK(range.is_array() && range.size() == 2, data, "tensor '", name,
              "': data_offsets is not a pair");
  d.begin = natural(range[0], name, "data_offsets");
  d.end = natural(range[1], name, "data_offsets");
  const std::size_t bytes = in_frame(cat("reading tensor '", name, "'"),
                                     [&] { return stored_bytes(d.tensor.type, count); });
  CUPEL_CHECK(d.begin <= d.end && d.end - d.begin == bytes, data, "tensor '", name, "' of ",
              list_text(d.tensor.shape), " ", traits(d.tensor.type).name, " takes ", bytes,
              " bytes, but its data_offsets are [", d.begin, ", ", d.end, "]");
  return d;
}

/// The JSON text at the front of the file.
std::string_view header_of(std::span<const std::byte> file) {
  CUPEL_CHECK(file.size() >= 8, data, "not a safetensors file: ", file.size(),
              " bytes, at least 8 expected");
  uint64_t size;
  std::memcpy(&size, file.data(), sizeof size);
  CUPEL_CHECK(size <= kLongestHeader, data, "not a safetensors file: its header claims ", size,
              " bytes, at most ", kLongestHeader, " expected");
  CUPEL_CHECK(size <= file.size() - 8, data, "the header claims ", size, " bytes, but only ",
              file.size() - 8, " follow; a download may be incomplete");
  return {reinterpret_cast<const char*>(file.data()) + 8, static_cast<std::size_t>(size)};
}

/// Ranges must follow one another from 0 to the end of the file: this one rule catches holes,
/// overlaps, aliases, truncation and trailing bytes.
void place(std::vector<Described>& all, std::span<const std::byte> data_part) {
  std::stable_sort(all.begin(), all.end(), [](const Described& a, const Described& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (Described& d : all) {
    CUPEL_CHECK(d.begin == at, data, "tensor '", d.tensor.name, "' starts at byte ", d.begin, ", ",
                at, " expected: ", d.begin < at ? "it overlaps another" : "there is a hole");
    CUPEL_CHECK(d.end <= data_part.size(), data, "tensor '", d.tensor.name, "' ends ",
                d.end - data_part.size(),
                " bytes behind the end of the file; a download may be incomplete");
    d.tensor.bytes = data_part.subspan(static_cast<std::size_t>(d.begin),
                                       static_cast<std::size_t>(d.end - d.begin));
    at = d.end;
  }
  CUPEL_CHECK(at == data_part.size(), data, data_part.size() - at,
              " bytes behind the last tensor belong to none");
}

struct Shard {
  std::vector<TensorEntry> tensors;
  Json metadata = Json::object();
};

Shard read_shard(std::span<const std::byte> file, std::vector<std::string>& notes) {
  const std::string_view header = header_of(file);
  CUPEL_CHECK(header.find('\0') == std::string_view::npos, data,
              "the header contains a NUL (NUL padding? the format pads with spaces)");
  CUPEL_CHECK(!header.starts_with("\xef\xbb\xbf"), data,
              "the header starts with a byte order mark");
  if (!header.starts_with('{')) notes.push_back("the header does not start with '{'");
  if (header.ends_with('\n')) notes.push_back("the header is padded with a line break");
  const Json json = parse_strict(header, "the header");
  CUPEL_CHECK(json.is_object(), data, "the header is not a JSON object");
  Shard shard;
  std::vector<Described> all;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") {
      CUPEL_CHECK(entry.is_object() || entry.is_null(), data, "__metadata__ is not an object");
      for (const auto& [key, value] : entry.items())
        CUPEL_CHECK(value.is_string(), data, "__metadata__ '", key, "' is not a string");
      if (entry.is_object()) shard.metadata = entry;
      continue;
    }
    if (name.empty()) notes.push_back("a tensor has an empty name");
    all.push_back(describe(name, entry, notes));
    if (all.back().tensor.type == ElementType::c64)
      notes.push_back(cat("tensor '", name, "' is complex"));
  }
  place(all, file.subspan(8 + header.size()));
  for (Described& d : all) shard.tensors.push_back(std::move(d.tensor));
  return shard;
}

/// The index of a sharded folder: shard of each tensor. Names come from outside and must stay
/// inside the folder.
std::map<std::string, std::set<std::string>> read_index(const fs::path& path, uint64_t& total) {
  const Json json = parse_strict(read_text(path.string()), "the index");
  CUPEL_CHECK(json.is_object() && json.contains("weight_map") && json["weight_map"].is_object(),
              data, "the index has no weight_map");
  if (json.contains("metadata") && json["metadata"].is_object())
    if (const Json size = json["metadata"].value("total_size", Json()); size.is_number_unsigned())
      total = size.get<uint64_t>();
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& [tensor, value] : json["weight_map"].items()) {
    CUPEL_CHECK(value.is_string(), data, "the index names no file for tensor '", tensor, "'");
    const auto file = value.get<std::string>();
    const bool plain = !file.empty() && file.front() != '.' &&
                       file.find_first_of(std::string_view("/\\:\0", 4)) == std::string::npos;
    CUPEL_CHECK(plain, data, "the index names the file '", file, "' for tensor '", tensor,
                "': a plain name in the same folder expected");
    shards[file].insert(tensor);
  }
  return shards;
}

class Safetensors final : public Container {
 public:
  explicit Safetensors(const std::string& path) {
    if (!fs::is_directory(path))
      add(path, nullptr);
    else if (fs::exists(fs::path(path) / "model.safetensors.index.json") &&
             !fs::exists(fs::path(path) / "model.safetensors"))
      add_sharded(path);
    else
      add(only_file(path), nullptr);
    index_names();
  }
  std::string metadata_json() const override {
    return metadata_.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string kind() const override { return "safetensors"; }

 private:
  std::string only_file(const fs::path& folder) {
    const fs::path usual = folder / "model.safetensors";
    if (fs::exists(usual)) {
      if (fs::exists(folder / "model.safetensors.index.json"))
        notes_.push_back("model.safetensors was taken, the index beside it was not");
      return usual.string();
    }
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder))
      if (const fs::path p = entry.path();
          p.extension() == ".safetensors" && !p.filename().string().starts_with("consolidated"))
        found.push_back(p);
    CUPEL_CHECK(!found.empty(), user, "no .safetensors file in '", folder.string(), "'");
    CUPEL_CHECK(found.size() == 1, data, "'", folder.string(), "' holds ", found.size(),
                " .safetensors files, but no model.safetensors.index.json says how they belong "
                "together");
    return found.front().string();
  }

  void add_sharded(const fs::path& folder) {
    uint64_t claimed = 0, bytes = 0;
    const fs::path index = folder / "model.safetensors.index.json";
    const auto shards =
        in_frame(cat("reading '", index.string(), "'"), [&] { return read_index(index, claimed); });
    for (const auto& [file, tensors] : shards) {
      const fs::path path = folder / file;
      CUPEL_CHECK(fs::exists(path), data, "the index names '", file, "', which is missing in '",
                  folder.string(), "'; a download may be incomplete");
      add(path.string(), &tensors);
    }
    for (const TensorEntry& t : tensors_) bytes += t.bytes.size();
    if (claimed != 0 && claimed != bytes)
      notes_.push_back(cat("the index claims ", claimed, " bytes, the tensors have ", bytes));
  }

  /// The tensors of one file; of a shard only those that the index expects there.
  void add(const std::string& path, const std::set<std::string>* expected) {
    in_frame(cat("reading '", path, "'"), [&] {
      files_.emplace_back(path);
      file_bytes_ += static_cast<int64_t>(files_.back().bytes().size());
      Shard shard = read_shard(files_.back().bytes(), notes_);
      metadata_.update(shard.metadata);
      std::size_t taken = 0;
      for (TensorEntry& t : shard.tensors) {
        if (expected && !expected->contains(t.name)) {
          notes_.push_back(cat("tensor '", t.name, "' is not in the index: ignored"));
          continue;
        }
        ++taken;
        tensors_.push_back(std::move(t));
      }
      if (expected && taken != expected->size())
        for (const std::string& name : *expected)
          CUPEL_CHECK(std::any_of(tensors_.begin(), tensors_.end(),
                                  [&](const TensorEntry& t) { return t.name == name; }),
                      data, "the index expects tensor '", name, "' in this file: missing");
    });
  }

  std::vector<MappedFile> files_;
  Json metadata_ = Json::object();
};

}  // namespace

std::unique_ptr<Container> open_safetensors(const std::string& path) {
  try {
    return std::make_unique<Safetensors>(path);
  } catch (const fs::filesystem_error& e) {
    fail(Fault::environment, "can't read '", path, "': ", e.code().message());
  }
}

}  // namespace cupel::format
