// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Inputs that start with '{' are vocabularies; all others are text for a vocabulary of bytes, which
// must give them back.
#include "tests/fuzz/fuzz.h"
#include "text/byte_tokenizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace cupel;
  static const auto bytes = text::Tokenizer::from_json(text::byte_tokenizer_json());
  const std::string_view input = fuzz::text_of(data, size);
  if (!input.starts_with('{'))
    return fuzz::tolerate([&] {
      if (bytes->decode(bytes->encode(input), false) != text::utf8_lossy(input)) std::abort();
    });
  return fuzz::tolerate([&] {
    const auto tokenizer = text::Tokenizer::from_json(input);
    const auto ids = tokenizer->encode("Hello, wörld!  \n12345 <|end|> \xF0\x9F\x98\x80");
    tokenizer->decode(ids, false);
    tokenizer->decode(ids);
  });
}
