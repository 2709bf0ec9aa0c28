// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "quantized_util.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace cupel::test {

Entry floats(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  return {name, "F32", shape, raw_floats(values)};
}
Entry bytes(const std::string& name, const std::string& dtype, const Shape& shape,
            const std::vector<int>& values) {
  std::string data;
  for (const int v : values) data += static_cast<char>(v);
  return {name, dtype, shape, data};
}
Entry words(const std::string& name, const Shape& shape, const std::vector<uint32_t>& values) {
  std::string data;
  for (const uint32_t v : values) data += raw(v);
  return {name, "I32", shape, data};
}
Entry longs(const std::string& name, const Shape& shape, const std::vector<int64_t>& values) {
  std::string data;
  for (const int64_t v : values) data += raw(v);
  return {name, "I64", shape, data};
}

const format::StoredTensor& Reading::at(const std::string& name) const {
  for (const auto& t : tensors)
    if (t->name == name) return *t;
  throw Error(Fault::internal, "no tensor " + name);
}

std::vector<float> Reading::values(const std::string& name) const {
  const format::StoredTensor& t = at(name);
  const auto size = static_cast<std::size_t>(t.slab_elements());
  std::vector<float> out(size * static_cast<std::size_t>(t.slabs()));
  for (int64_t s = 0; s < t.slabs(); ++s)
    t.read(s, std::span(out).subspan(static_cast<std::size_t>(s) * size, size));
  return out;
}

bool Reading::noted(std::string_view part) const {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

std::unique_ptr<Reading> read_scheme(const std::vector<Entry>& entries, const std::string& config) {
  nlohmann::ordered_json header;
  std::string data;
  for (const Entry& e : entries) {
    header[e.name] = {{"dtype", e.dtype},
                      {"shape", e.shape},
                      {"data_offsets", {data.size(), data.size() + e.bytes.size()}}};
    data += e.bytes;
  }
  auto out = std::make_unique<Reading>();
  out->container = format::open_safetensors(
      out->folder.write("model.safetensors", safetensors_bytes(header.dump(), data)));
  out->tensors = format::quantized_tensors(*out->container, config, out->taken, out->notes);
  return out;
}

void expect_refused(std::string_view part, const std::vector<Entry>& entries,
                    const std::string& config) {
  // Some faults of the data show only when it is read.
  expect_error(Fault::data, part, [&] {
    const auto reading = read_scheme(entries, config);
    for (const auto& t : reading->tensors) reading->values(t->name);
  });
}

std::vector<Entry> with(std::vector<Entry> entries, const Entry& other) {
  for (Entry& e : entries)
    if (e.name == other.name) {
      e = other;
      return entries;
    }
  entries.push_back(other);
  return entries;
}
std::vector<Entry> without(std::vector<Entry> entries, const std::string& name) {
  std::erase_if(entries, [&](const Entry& e) { return e.name == name; });
  return entries;
}

float e4m3_value(int byte) {
  const int exponent = byte >> 3 & 15, fraction = byte & 7;
  const double magnitude =
      exponent == 0 ? std::exp2(-6) * fraction / 8 : std::exp2(exponent - 7) * (1 + fraction / 8.0);
  return static_cast<float>(byte & 128 ? -magnitude : magnitude);
}
float e2m1_value(int nibble) {
  constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return nibble & 8 ? -kValues[nibble & 7] : kValues[nibble & 7];
}

std::vector<int> scrambled(std::size_t count, int below, uint32_t seed) {
  std::vector<int> out;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    out.push_back(static_cast<int>((seed >> 8) % static_cast<uint32_t>(below)));
  }
  return out;
}

std::vector<uint32_t> bit_stream(const std::vector<int>& fields, int bits) {
  std::vector<bool> stream;
  for (const int field : fields)
    for (int b = 0; b < bits; ++b) stream.push_back(field >> b & 1);
  std::vector<uint32_t> out((stream.size() + 31) / 32);
  for (std::size_t i = 0; i < stream.size(); ++i)
    if (stream[i]) out[i / 32] |= 1u << i % 32;
  return out;
}

}  // namespace cupel::test
