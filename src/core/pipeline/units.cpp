// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/units.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "core/tensor_util.h"
#include "format/h5.h"

namespace cupel::core {

namespace {

namespace fs = std::filesystem;
using format::Array;
using format::ElementType;
using nlohmann::json;

Array text_array(const std::string& text) {
  return Array::of<char>(ElementType::u8, {static_cast<int64_t>(text.size())},
                         std::span(text.data(), text.size()));
}

void put(format::H5Writer& file, const std::string& name, const Array& array) {
  file.dataset(name, array.type, array.shape, array.bytes);
}

json meta_of(const QuantizedMatrix& m) {
  const auto& code = m.result.code;
  json arrays = json::array();
  for (const auto& [name, array] : code.arrays) arrays.push_back(name);
  return {{"name", m.name},
          {"method", m.method},
          {"layout", code.layout->name()},
          {"params", json::parse(params_json(code.layout->params()))},
          {"rows", code.rows},
          {"cols", code.cols},
          {"transform", code.input.id},
          {"hadamard", code.input.hadamard},
          {"rounding",
           {{"numbers", static_cast<int>(code.rounding.numbers)},
            {"bits", code.rounding.bits},
            {"group", code.rounding.group},
            {"scale", code.rounding.scale}}},
          {"arrays", arrays},
          {"fallback", m.result.fallback},
          {"note", m.result.note},
          {"relative_error", m.relative_error},
          {"weighted", m.weighted}};
}

void put_matrix(format::H5Writer& file, const std::string& group, const QuantizedMatrix& m) {
  const auto& code = m.result.code;
  for (const auto& [name, array] : code.arrays) put(file, group + "/arrays/" + name, array);
  if (!code.input.scale.empty())
    put(file, group + "/scale",
        Array::of<float>(ElementType::f32, {static_cast<int64_t>(code.input.scale.size())},
                         code.input.scale));
  if (!code.input.signs.empty())
    put(file, group + "/signs",
        Array::of<int8_t>(ElementType::i8, {static_cast<int64_t>(code.input.signs.size())},
                          code.input.signs));
}

QuantizedMatrix matrix_from(const format::H5Reader& file, const std::string& group,
                            const json& meta) {
  QuantizedMatrix m;
  m.name = meta.at("name");
  m.method = meta.at("method");
  auto& code = m.result.code;
  code.layout = format::make_layout(meta.at("layout").get<std::string>(), meta.at("params").dump());
  code.rows = meta.at("rows");
  code.cols = meta.at("cols");
  code.input.id = meta.at("transform");
  code.input.hadamard = meta.at("hadamard");
  const json& rounding = meta.at("rounding");
  code.rounding = {
      .numbers = static_cast<format::InputRounding::Numbers>(rounding.at("numbers").get<int>()),
      .bits = rounding.at("bits"),
      .group = rounding.at("group"),
      .scale = rounding.at("scale")};
  for (const auto& name : meta.at("arrays"))
    code.arrays[name] = file.read(group + "/arrays/" + name.get<std::string>());
  if (file.has(group + "/scale")) {
    const Array a = file.read(group + "/scale");
    code.input.scale.assign(a.as<float>().begin(), a.as<float>().end());
  }
  if (file.has(group + "/signs")) {
    const Array a = file.read(group + "/signs");
    code.input.signs.assign(a.as<int8_t>().begin(), a.as<int8_t>().end());
  }
  m.result.fallback = meta.at("fallback");
  m.result.note = meta.at("note");
  m.relative_error = meta.at("relative_error");
  m.weighted = meta.at("weighted");
  return m;
}

}  // namespace

UnitStore::UnitStore(std::string folder) : folder_(std::move(folder)) {
  make_folder(folder_ + "/codes");
  make_folder(folder_ + "/stats");
}

std::string UnitStore::path(const char* kind, const std::string& key) const {
  return cat(folder_, "/", kind, "/", key, ".h5");
}

void UnitStore::save_codes(const std::string& key,
                           const std::vector<QuantizedMatrix>& matrices) const {
  write_atomic_with(path("codes", key), [&](const std::string& temporary) {
    format::H5Writer file(temporary, 0, 64);
    json meta = json::array();
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      put_matrix(file, cat("/", i), matrices[i]);
      meta.push_back(meta_of(matrices[i]));
    }
    put(file, "/meta", text_array(meta.dump()));
    file.close();
  });
}

std::optional<std::vector<QuantizedMatrix>> UnitStore::load_codes(const std::string& key) const {
  const std::string file_path = path("codes", key);
  if (!fs::exists(file_path)) return std::nullopt;
  return in_frame("reading " + file_path, [&] {
    const format::H5Reader file(file_path);
    const Array text = file.read("/meta");
    const json meta = json::parse(
        std::string(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()));
    std::vector<QuantizedMatrix> out;
    for (std::size_t i = 0; i < meta.size(); ++i)
      out.push_back(matrix_from(file, cat("/", i), meta[i]));
    return std::optional(std::move(out));
  });
}

void UnitStore::save_stats(const std::string& key, const Stats& stats) const {
  write_atomic_with(path("stats", key), [&](const std::string& temporary) {
    format::H5Writer file(temporary, 0, 64);
    const int64_t tokens = stats.tokens;
    put(file, "/tokens", Array::of<int64_t>(ElementType::i64, {1}, std::span(&tokens, 1)));
    if (stats.second_moment_ii.defined())
      put(file, "/second_moment", array_of(stats.second_moment_ii));
    if (stats.cross_moment_ii.defined())
      put(file, "/cross_moment", array_of(stats.cross_moment_ii));
    if (stats.absmax_i.defined()) put(file, "/absmax", array_of(stats.absmax_i));
    if (stats.abs_sum_i.defined()) put(file, "/abs_sum", array_of(stats.abs_sum_i));
    file.close();
  });
}

std::optional<Stats> UnitStore::load_stats(const std::string& key) const {
  const std::string file_path = path("stats", key);
  if (!fs::exists(file_path)) return std::nullopt;
  return in_frame("reading " + file_path, [&] {
    const format::H5Reader file(file_path);
    Stats stats;
    stats.tokens = file.read("/tokens").as<int64_t>()[0];
    if (file.has("/second_moment")) stats.second_moment_ii = tensor_of(file.read("/second_moment"));
    if (file.has("/cross_moment")) stats.cross_moment_ii = tensor_of(file.read("/cross_moment"));
    if (file.has("/absmax")) stats.absmax_i = tensor_of(file.read("/absmax"));
    if (file.has("/abs_sum")) stats.abs_sum_i = tensor_of(file.read("/abs_sum"));
    return std::optional(std::move(stats));
  });
}

std::optional<std::string> UnitStore::load_plan(const std::string& key) const {
  const std::string file_path = cat(folder_, "/plans/", key, ".json");
  if (!fs::exists(file_path)) return std::nullopt;
  return read_text(file_path);
}

void UnitStore::save_plan(const std::string& key, const std::string& plan) const {
  make_folder(folder_ + "/plans");
  write_atomic(cat(folder_, "/plans/", key, ".json"), plan);
}

void UnitStore::drop_stats(const std::string& key) const {
  std::error_code ignored;
  fs::remove(path("stats", key), ignored);
}

}  // namespace cupel::core
