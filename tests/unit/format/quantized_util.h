// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "files_util.h"
#include "format/quantized_inputs.h"

/// Hand-made quantized checkpoints, and their numbers by definition.
namespace cupel::test {

using Shape = std::vector<int64_t>;

/// One entry of a safetensors file, and another way to say its bytes.
struct Entry {
  std::string name, dtype;
  Shape shape;
  std::string bytes;
};
Entry floats(const std::string& name, const Shape& shape, const std::vector<float>& values);
Entry bytes(const std::string& name, const std::string& dtype, const Shape& shape,
            const std::vector<int>& values);
Entry words(const std::string& name, const Shape& shape, const std::vector<uint32_t>& values);
Entry longs(const std::string& name, const Shape& shape, const std::vector<int64_t>& values);

/// What a scheme made of a file.
struct Reading {
  TempFolder folder;
  std::unique_ptr<format::Container> container;
  std::vector<std::unique_ptr<format::StoredTensor>> tensors;
  std::set<std::string_view> taken;
  std::vector<std::string> notes;

  const format::StoredTensor& at(const std::string& name) const;
  /// All numbers of a tensor.
  std::vector<float> values(const std::string& name) const;
  bool noted(std::string_view part) const;
};
std::unique_ptr<Reading> read_scheme(const std::vector<Entry>& entries, const std::string& config);

/// Expects a data error with `part`.
void expect_refused(std::string_view part, const std::vector<Entry>& entries,
                    const std::string& config);

/// `entries` with one of them replaced, or without it.
std::vector<Entry> with(std::vector<Entry> entries, const Entry& other);
std::vector<Entry> without(std::vector<Entry> entries, const std::string& name);

/// A small float by its definition: sign, exponent, fraction; no special values.
float e4m3_value(int byte);
float e2m1_value(int nibble);
/// Numbers in [0, below) that look random.
std::vector<int> scrambled(std::size_t count, int below, uint32_t seed);
/// Fields one after another in a stream of bits, as 32-bit words.
std::vector<uint32_t> bit_stream(const std::vector<int>& fields, int bits);

}  // namespace cupel::test
