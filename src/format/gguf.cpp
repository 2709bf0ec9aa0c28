// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/gguf.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cupel::format {
namespace {

template <class T>
T element(const GgufValue& v, std::size_t i) {
  T out;
  std::memcpy(&out, v.bytes.data() + i * sizeof out, sizeof out);
  return out;
}

double real_at(const GgufValue& v, std::size_t i, std::string_view key) {
  if (v.element == GgufType::f64) return element<double>(v, i);
  CUPEL_CHECK(v.element == GgufType::f32, data, "key '", key, "' has type ",
              gguf_type_name(v.element), ", a float expected");
  const auto value = element<float>(v, i);
  char text[64];
  double out = value;
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::from_chars(text, end, out);
  return out;
}

nlohmann::ordered_json json_at(const GgufValue& v, std::size_t i) {
  switch (v.element) {
    case GgufType::f32:
    case GgufType::f64:
      return real_at(v, i, "");
    case GgufType::boolean:
      return v.bytes[i] != std::byte{0};
    case GgufType::u64:
      return element<uint64_t>(v, i);
    default:
      return gguf_integer(v, i, "");
  }
}

/// Which part of a split model a file is.
struct Split {
  int64_t number = 0;  ///< from 0
  int64_t count = 1;
  friend bool operator==(const Split&, const Split&) = default;
};

int64_t integer_or(const GgufPart& part, const std::string& key, int64_t otherwise) {
  const auto found = part.metadata.find(key);
  if (found == part.metadata.end()) return otherwise;
  CUPEL_CHECK(!found->second.is_array, data, "key '", key, "' is an array");
  return gguf_integer(found->second, 0, key);
}

Split split_of(const GgufPart& part) {
  Split split{integer_or(part, "split.no", 0), integer_or(part, "split.count", 1)};
  if (split.count <= 1) return {};
  CUPEL_CHECK(split.number >= 0 && split.number < split.count && split.count <= 99'999, data,
              "the file claims to be part ", split.number, " (split.no) of ", split.count,
              " (split.count)");
  return split;
}

/// How the name of a part ends: "-00001-of-00003.gguf".
std::string name_ending(const Split& split) {
  const auto five = [](int64_t n) {
    const std::string digits = cat(n);
    return std::string(5 - digits.size(), '0') + digits;
  };
  return cat("-", five(split.number + 1), "-of-", five(split.count), ".gguf");
}

std::unique_ptr<GgufPart> open_part(const std::string& base, const Split& split) {
  const std::string path = base + name_ending(split);
  CUPEL_CHECK(std::filesystem::exists(path), data, "the model has ", split.count,
              " parts, but part ", split.number + 1, " is missing: '", path, "'");
  auto part = std::make_unique<GgufPart>(path);
  CUPEL_CHECK(split_of(*part) == split, data, "'", path, "' is not part ", split.number + 1, " of ",
              split.count, " by its metadata (split.no, split.count)");
  return part;
}

/// All parts of the model that `given` belongs to, in order.
std::vector<std::unique_ptr<GgufPart>> all_parts(std::unique_ptr<GgufPart> given) {
  const Split of_given = split_of(*given);
  std::vector<std::unique_ptr<GgufPart>> parts;
  std::string base = given->file.path();
  if (of_given.count > 1) {
    CUPEL_CHECK(base.ends_with(name_ending(of_given)), data, "the file is part ",
                of_given.number + 1, " of ", of_given.count,
                " of a split model; its name must end in '", name_ending(of_given),
                "' for the others to be found");
    base.resize(base.size() - name_ending(of_given).size());
  }
  for (Split split{0, of_given.count}; split.number < split.count; ++split.number)
    parts.push_back(split == of_given ? std::move(given) : open_part(base, split));
  return parts;
}

}  // namespace

GgufFile::GgufFile(const std::string& path) : path_(path) {
  auto given = std::make_unique<GgufPart>(path);
  in_frame(cat("reading '", path, "'"), [&] {
    parts_ = all_parts(std::move(given));
    for (const auto& part : parts_) {
      tensors_.insert(tensors_.end(), part->tensors.begin(), part->tensors.end());
      notes_.insert(notes_.end(), part->notes.begin(), part->notes.end());
      file_bytes_ += static_cast<int64_t>(part->file.bytes().size());
    }
    const auto tensors = static_cast<int64_t>(tensors_.size());
    const int64_t claimed = integer_or(*parts_.front(), "split.tensors.count", tensors);
    CUPEL_CHECK(parts_.size() == 1 || claimed == tensors, data, "the parts hold ", tensors,
                " tensors, ", claimed, " expected (split.tensors.count)");
    text("general.architecture");  // refuses another type
    index_names();
  });
}

const GgufValue* GgufFile::value(std::string_view key, bool array) const {
  const auto it = metadata().find(key);
  if (it == metadata().end()) return nullptr;
  CUPEL_CHECK(it->second.is_array == array, data, "key '", key, "' is ",
              array ? "a single value, an array expected" : "an array, a single value expected");
  return &it->second;
}

std::optional<std::string> GgufFile::text(std::string_view key) const {
  const GgufValue* v = value(key, false);
  if (!v) return std::nullopt;
  CUPEL_CHECK(v->element == GgufType::string, data, "key '", key, "' has type ",
              gguf_type_name(v->element), ", a string expected");
  return std::string(gguf_strings(*v).front());
}

std::optional<int64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* v = value(key, false);
  if (!v) return std::nullopt;
  const int64_t number = gguf_integer(*v, 0, key);
  CUPEL_CHECK(number >= 0, data, "key '", key, "' is negative: ", number);
  return number;
}

std::optional<double> GgufFile::real(std::string_view key) const {
  const GgufValue* v = value(key, false);
  return v ? std::optional(real_at(*v, 0, key)) : std::nullopt;
}

std::optional<bool> GgufFile::flag(std::string_view key) const {
  const GgufValue* v = value(key, false);
  if (!v) return std::nullopt;
  CUPEL_CHECK(v->element == GgufType::boolean, data, "key '", key, "' has type ",
              gguf_type_name(v->element), ", bool expected");
  return v->bytes[0] != std::byte{0};
}

std::optional<std::vector<std::string_view>> GgufFile::texts(std::string_view key) const {
  const GgufValue* v = value(key, true);
  if (!v) return std::nullopt;
  CUPEL_CHECK(v->element == GgufType::string, data, "key '", key, "' is an array of ",
              gguf_type_name(v->element), ", strings expected");
  return gguf_strings(*v);
}

std::optional<std::vector<int64_t>> GgufFile::integers(std::string_view key) const {
  const GgufValue* v = value(key, true);
  if (!v) return std::nullopt;
  std::vector<int64_t> out(static_cast<std::size_t>(v->count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = gguf_integer(*v, i, key);
  return out;
}

std::optional<std::vector<float>> GgufFile::reals(std::string_view key) const {
  const GgufValue* v = value(key, true);
  if (!v) return std::nullopt;
  CUPEL_CHECK(v->element == GgufType::f32, data, "key '", key, "' is an array of ",
              gguf_type_name(v->element), ", f32 expected");
  std::vector<float> out(static_cast<std::size_t>(v->count));
  if (!out.empty()) std::memcpy(out.data(), v->bytes.data(), v->bytes.size());
  return out;
}

std::string GgufFile::metadata_json() const {
  constexpr uint64_t kLongestListed = 16;
  using Json = nlohmann::ordered_json;
  Json all = Json::object();
  for (const auto& [key, v] : metadata()) {
    Json& out = all[key];
    if (v.is_array && v.count > kLongestListed) {
      out = {{"type", gguf_type_name(v.element)}, {"count", v.count}};
      continue;
    }
    Json items = Json::array();
    if (v.element == GgufType::string)
      for (const std::string_view s : gguf_strings(v)) items.push_back(std::string(s));
    else
      for (std::size_t i = 0; i < v.count; ++i) items.push_back(json_at(v, i));
    out = v.is_array ? items : items.front();
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string GgufFile::kind() const {
  return cat("gguf v", parts_.front()->version);
}

std::unique_ptr<Container> open_gguf(const std::string& path) {
  return std::make_unique<GgufFile>(path);
}

}  // namespace cupel::format
