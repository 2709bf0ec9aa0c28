// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/pipeline/units.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
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
            {"scale", code.rounding.scale},
            {"clip", code.rounding.clip}}},
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
      .scale = rounding.at("scale"),
      .clip = rounding.at("clip")};
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

json read_meta(const format::H5Reader& file) {
  const Array text = file.read("/meta");
  return json::parse(
      std::string(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()));
}

}  // namespace

FinishedMatrix finished(const QuantizedMatrix& m, const std::string& unit, std::size_t index) {
  const auto& code = m.result.code;
  return {m.name,    m.method,         m.result.fallback, m.result.note, code.layout, code.rows,
          code.cols, m.relative_error, m.weighted,        code.rounding, unit,        index};
}

UnitStore::UnitStore(std::string folder) : folder_(std::move(folder)) {
  make_folder(folder_ + "/codes");
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
    const json meta = read_meta(file);
    std::vector<QuantizedMatrix> out;
    for (std::size_t i = 0; i < meta.size(); ++i)
      out.push_back(matrix_from(file, cat("/", i), meta[i]));
    return std::optional(std::move(out));
  });
}

format::WeightCode UnitStore::load_code(const FinishedMatrix& m) const {
  const std::string file_path = path("codes", m.unit);
  return in_frame("reading " + file_path, [&] {
    CUPEL_CHECK(fs::exists(file_path), environment, "the codes of ", m.name,
                " are gone; they were written there by this run");
    const format::H5Reader file(file_path);
    const json meta = read_meta(file);
    CUPEL_CHECK(m.index < meta.size() && meta[m.index].at("name") == m.name, data, "no codes of ",
                m.name, " at place ", m.index, "; another program wrote this file");
    return matrix_from(file, cat("/", m.index), meta[m.index]).result.code;
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

}  // namespace cupel::core
