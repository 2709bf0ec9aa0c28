// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/checkpoint.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace cupel;
  const fuzz::File file(fuzz::text_of(data, size));
  fuzz::tolerate([&] {
    const auto container = format::open_gguf(file.path());
    for (const format::TensorEntry& t : container->tensors()) {
      if (!format::has_decoder(t.type) || t.elements() > 1 << 20) continue;
      std::vector<float> values(static_cast<std::size_t>(t.elements()));
      format::to_float(t.type, t.bytes, values);
    }
  });
  return fuzz::tolerate([&] {
    const auto checkpoint = format::Checkpoint::open(file.path());
    checkpoint->tokenizer_json();
    for (const format::WeightInfo& w : checkpoint->weights()) {
      std::size_t count = 1;
      for (const int64_t n : w.shape) count *= static_cast<std::size_t>(n);
      if (count > 1 << 20) continue;
      std::vector<float> values(count);
      checkpoint->read(w.name, values);
    }
  });
}
