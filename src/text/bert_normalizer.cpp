// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// "BertNormalizer": control characters go, white space becomes spaces, ideographs stand alone,
// accents and capitals go.
#include <algorithm>
#include <iterator>

#include "text/normalizer.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

struct Range {
  char32_t first, last;
};
constexpr Range kIdeographs[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                 {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
                                 {0x2F800, 0x2FA1F}};
// The package's tables of marks and format characters are older than ours: those in these ranges
// stay.
constexpr Range kNewMarks[] = {
    {0x7FD, 0x7FD},     {0x897, 0x8E1},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
    {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
    {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFB},   {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},
    {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
    {0x1133B, 0x1133B}, {0x113BB, 0x1145E}, {0x1182F, 0x1612F}, {0x16F4F, 0x16F4F},
    {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E5EF}, {0x1E944, 0x1E94A}};
constexpr Range kNewFormats[] = {
    {0x890, 0x891}, {0x8E2, 0x8E2}, {0x110CD, 0x110CD}, {0x13430, 0x1345F}};

template <std::size_t n>
bool is_in(const Range (&ranges)[n], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& r) { return c >= r.first && c <= r.last; });
}

bool is_removed(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c == 0 || c == 0xFFFD) return true;
  const Category k = category(c);
  return k.major == 'C' &&
         (k.minor == 'c' || k.minor == 'o' || (k.minor == 'f' && !is_in(kNewFormats, c)));
}

bool is_accent(char32_t c) {
  if (c == 0x1734 || c == 0x1171E) return true;  // were Mn
  const Category k = category(c);
  return k.major == 'M' && k.minor == 'n' && !is_in(kNewMarks, c);
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const Part& part)
      : clean_(part.flag("clean_text", true)),
        ideographs_(part.flag("handle_chinese_chars", true)),
        lowercase_(part.flag("lowercase", true)) {
    part.known({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    accents_ = part.flag("strip_accents", lowercase_);
  }

  void apply(std::string& text) const override {
    std::string out;
    for (std::size_t pos = 0; pos < text.size();) {
      char32_t c = utf8_next(text, pos);
      if (clean_ && is_removed(c)) continue;
      if (clean_ && is_space(c)) c = ' ';
      const bool alone = ideographs_ && is_in(kIdeographs, c);
      if (alone) out += ' ';
      utf8_append(out, c);
      if (alone) out += ' ';
    }
    if (accents_) out = without_accents(normalize(out, Form::nfd));
    text = lowercase_ ? in_lower_case(out) : std::move(out);
  }

 private:
  static std::string without_accents(const std::string& text) {
    std::string out;
    for (std::size_t pos = 0; pos < text.size();) {
      const char32_t c = utf8_next(text, pos);
      if (!is_accent(c)) utf8_append(out, c);
    }
    return out;
  }
  static std::string in_lower_case(const std::string& text) {
    std::string out;
    for (std::size_t pos = 0; pos < text.size();) append_lower(out, utf8_next(text, pos));
    return out;
  }

  bool clean_, ideographs_, lowercase_, accents_ = false;
};

}  // namespace

std::unique_ptr<Normalizer> make_bert_normalizer(const Part& part) {
  return std::make_unique<BertNormalizer>(part);
}

}  // namespace cupel::text
