// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "tests/fuzz/fuzz.h"
#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace cupel;
  constexpr std::string_view kContext =
      R"({"messages": [{"role": "user", "content": "h\u00e9llo"}, {"role": "assistant", "content": null,
          "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.5}}}]}],
          "tools": [{"type": "function"}], "bos_token": "<s>", "add_generation_prompt": true})";
  const fuzz::HeapLimit limit(std::size_t{1} << 30);
  return fuzz::tolerate([&] { text::Template::parse(fuzz::text_of(data, size)).render(kContext); });
}
