// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/stored_tensor.h"

#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/hash.h"
#include "format/quantized_inputs.h"

namespace cupel::format {
namespace {

class PlainTensor final : public StoredTensor {
 public:
  explicit PlainTensor(const TensorEntry& t)
      : StoredTensor(t.name, t.shape, std::string(traits(t.type).name), {&t}) {}
  void read(int64_t slab, std::span<float> out) const override {
    CUPEL_ASSERT(slab >= 0 && slab < slabs());
    const TensorEntry& t = *entries.front();
    const std::size_t size = t.bytes.size() / static_cast<std::size_t>(slabs());
    to_float(t.type, t.bytes.subspan(static_cast<std::size_t>(slab) * size, size), out);
  }
};

}  // namespace

int64_t StoredTensor::slab_elements() const {
  return std::accumulate(shape.begin() + (shape.size() == 3 ? 1 : 0), shape.end(), int64_t{1},
                         std::multiplies<>());
}

int64_t StoredTensor::bytes() const {
  int64_t sum = 0;
  for (const TensorEntry* entry : entries) sum += static_cast<int64_t>(entry->bytes.size());
  return sum;
}

uint32_t StoredTensor::checksum() const {
  if (entries.size() == 1) return crc32c(entries.front()->bytes);
  std::string all;
  for (const TensorEntry* entry : entries) all += cat(crc32c(entry->bytes), " ");
  return crc32c(std::as_bytes(std::span(all)));
}

std::vector<std::unique_ptr<StoredTensor>> stored_tensors(const Container& container,
                                                          const std::string& quantization,
                                                          std::vector<std::string>& notes) {
  std::set<std::string_view> taken;
  auto out = quantized_tensors(container, quantization, taken, notes);
  for (const TensorEntry& t : container.tensors())
    if (!taken.contains(t.name)) out.push_back(std::make_unique<PlainTensor>(t));
  return out;
}

}  // namespace cupel::format
