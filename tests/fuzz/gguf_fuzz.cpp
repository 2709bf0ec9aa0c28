// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/checkpoint.h"
#include "tests/fuzz/fuzz.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace cupel;
  const fuzz::File file(fuzz::text_of(data, size));
  fuzz::tolerate([&] {
    std::unique_ptr<format::Container> container;
    {
      const fuzz::HeapLimit limit((1 << 16) + 16 * size);
      container = format::open_gguf(file.path());
    }
    for (const format::TensorEntry& t : container->tensors()) {
      if (!format::has_decoder(t.type) || t.elements() > 1 << 20) continue;
      std::vector<float> values(static_cast<std::size_t>(t.elements()));
      format::to_float(t.type, t.bytes, values);
    }
  });
  return fuzz::tolerate([&] {
    std::unique_ptr<format::Checkpoint> checkpoint;
    {
      const fuzz::HeapLimit limit((1 << 20) + 128 * size);
      checkpoint = format::Checkpoint::open(file.path());
    }
    const fuzz::HeapLimit limit((1 << 23) + 128 * size);
    fuzz::tolerate([&] { text::Tokenizer::from_json(checkpoint->tokenizer_json()); });
    for (const format::WeightInfo& w : checkpoint->weights()) {
      std::size_t count = 1;
      for (const int64_t n : w.shape) count *= static_cast<std::size_t>(n);
      if (count > 1 << 20) continue;
      std::vector<float> values(count);
      checkpoint->read(w.name, values);
    }
  });
}
