// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/container.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace cupel;
  const fuzz::File file(fuzz::text_of(data, size));
  return fuzz::tolerate([&] {
    std::unique_ptr<format::Container> container;
    {
      const fuzz::HeapLimit limit((1 << 16) + 128 * size);  // JSON: an array in an array is 2 bytes
      container = format::open_safetensors(file.path());
    }
    for (const format::TensorEntry& t : container->tensors()) {
      if (!format::has_decoder(t.type) || t.elements() > 1 << 20) continue;
      std::vector<float> values(static_cast<std::size_t>(t.elements()));
      format::to_float(t.type, t.bytes, values);
    }
  });
}
