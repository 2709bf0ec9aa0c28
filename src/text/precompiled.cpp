// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// "Precompiled": the table of SentencePiece's normalization as the package `tokenizers` applies it.
// A grapheme of less than six bytes is replaced as a whole by what the shortest entry at its front
// stands for; where there is none, the same is tried with each of its characters.
#include <utf8proc.h>

#include "text/base64.h"
#include "text/sentencepiece.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

constexpr std::size_t kLongestGrapheme = 5;  // bytes

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(const Part& part) {
    part.known({"precompiled_charsmap"});
    const std::string blob = part.text("precompiled_charsmap");
    const auto bytes = base64_decoded(blob);
    if (!bytes) part.refuse("'precompiled_charsmap' is not base64");
    if (!blob.empty()) charsmap_ = Charsmap(*bytes);
  }

  void apply(std::string& text) const override {
    std::string out;
    out.reserve(text.size() + text.size() / 4);
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = grapheme_end(text, start);
      const std::string_view grapheme = std::string_view(text).substr(start, end - start);
      if (grapheme.size() > kLongestGrapheme || !replace(grapheme, out))
        for (std::size_t at = start, next = start; at < end; at = next) {
          utf8_next(text, next);
          const auto character = std::string_view(text).substr(at, next - at);
          if (!replace(character, out)) out += character;
        }
      start = end;
    }
    text = std::move(out);
  }

 private:
  bool replace(std::string_view part, std::string& out) const {
    std::string_view with;
    if (charsmap_.shortest(part, with) == 0) return false;
    out += with;
    return true;
  }

  static std::size_t grapheme_end(std::string_view text, std::size_t start) {
    utf8proc_int32_t state = 0;
    std::size_t end = start;
    auto before = static_cast<utf8proc_int32_t>(utf8_next(text, end));
    for (std::size_t next = end; next < text.size(); end = next) {
      const auto c = static_cast<utf8proc_int32_t>(utf8_next(text, next));
      if (utf8proc_grapheme_break_stateful(before, c, &state)) break;
      before = c;
    }
    return end;
  }

  Charsmap charsmap_;
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled_normalizer(const Part& part) {
  return std::make_unique<Precompiled>(part);
}

}  // namespace cupel::text
