// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Inputs that start with '{' are vocabularies, those that start with a line feed (the first field
// of the protobuf) are SentencePiece models; all others are text for a vocabulary of bytes, which
// must give them back.
#include "format/sentencepiece.h"
#include "format/standard_tokenizer.h"
#include "tests/fuzz/fuzz.h"
#include "text/byte_tokenizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

void encode_and_decode(std::string_view json) {
  using namespace cupel;
  const auto tokenizer = text::Tokenizer::from_json(json);
  const auto ids = tokenizer->encode("Hello, w\u00f6rld!  \n12345 <|end|> \U0001F600");
  tokenizer->decode(ids, false);
  tokenizer->decode(ids);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace cupel;
  static const auto bytes = text::Tokenizer::from_json(text::byte_tokenizer_json());
  const std::string_view input = fuzz::text_of(data, size);
  const fuzz::HeapLimit limit((1 << 25) + 512 * size);
  if (input.starts_with('\n'))
    return fuzz::tolerate([&] {
      const std::string json = format::read_sentencepiece(input).json;
      fuzz::tolerate([&] { encode_and_decode(json); });
      encode_and_decode(format::standard_tokenizer(json).json);
    });
  if (!input.starts_with('{'))
    return fuzz::tolerate([&] {
      if (bytes->decode(bytes->encode(input), false) != text::utf8_lossy(input)) std::abort();
    });
  return fuzz::tolerate([&] { encode_and_decode(input); });
}
