// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <utility>
#include <vector>

#include "text/unicode_delta.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

// White space to PCRE2, a format character since Unicode 6.3; and one that is that to both.
constexpr char32_t kMongolianVowelSeparator = 0x180E, kZeroWidthSpace = 0x200B;

using Pages = std::bitset<0x1100>;

const Pages& changed_pages() {
  static const Pages pages = [] {
    Pages p;
    for (const CategoryRange& r : kSinceUnicode14)
      for (char32_t page = r.first >> 8; page <= r.last >> 8; ++page) p.set(page);
    return p;
  }();
  return pages;
}

const CategoryRange* changed(char32_t c) {
  if (c < kSinceUnicode14[0].first || !changed_pages()[c >> 8]) return nullptr;
  const auto* end = std::end(kSinceUnicode14);
  const auto* at = std::lower_bound(std::begin(kSinceUnicode14), end, c,
                                    [](const CategoryRange& r, char32_t v) { return r.last < v; });
  return at != end && at->first <= c ? at : nullptr;
}

struct Stand {
  char category[3];
  char32_t three, four;  // a character of that category with three and with four bytes
};
constexpr Stand kStands[] = {
    {"Lo", 0xA000, 0x10280}, {"Lu", 0x2C2F, 0x118A0}, {"Ll", 0xAB70, 0x118C0},
    {"Lm", 0xA015, 0x16F93}, {"Mn", 0xA806, 0x11080}, {"Mc", 0xA823, 0x11082},
    {"Nd", 0xA8D0, 0x11066}, {"No", 0xA830, 0x11052}, {"Po", 0xA874, 0x11047},
    {"Pd", 0x2E1A, 0x10EAD}, {"So", 0xA490, 0x1D000}, {"Sm", 0x2A00, 0x1D6C1},
    {"Cf", 0x200B, 0x1D173},
};

// 0 if the character may stay.
char32_t stand_in(char32_t c) {
  if (c == kMongolianVowelSeparator) return kZeroWidthSpace;
  const CategoryRange* r = changed(c);
  if (!r) return 0;
  for (const Stand& s : kStands)
    if (std::strcmp(s.category, r->category) == 0) return c < 0x10000 ? s.three : s.four;
  return 0;
}

struct Decomposed {
  char32_t c;
  int combining_class;
};

template <std::size_t n>
bool is_in(const CharacterRange (&ranges)[n], char32_t c) {
  if (c < ranges[0].first) return false;
  const auto* end = std::end(ranges);
  const auto* at = std::lower_bound(std::begin(ranges), end, c,
                                    [](const CharacterRange& r, char32_t v) { return r.last < v; });
  return at != end && at->first <= c;
}

// True for a character that normalization leaves alone, though the library's tables know it.
bool is_inert(char32_t c) {
  return is_in(kNormalizedSinceUnicode9, c);
}

void append_decomposed(std::vector<Decomposed>& out, char32_t c, utf8proc_option_t options) {
  if (is_inert(c)) return void(out.push_back({c, 0}));
  std::array<utf8proc_int32_t, 32> parts;
  int boundary = 0;
  const auto n =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                              static_cast<utf8proc_ssize_t>(parts.size()), options, &boundary);
  if (n <= 0 || n > static_cast<utf8proc_ssize_t>(parts.size())) {
    out.push_back({c, 0});
    return;
  }
  for (utf8proc_ssize_t i = 0; i < n; ++i)
    out.push_back(
        {static_cast<char32_t>(parts[i]), utf8proc_get_property(parts[i])->combining_class});
}

// Canonical order: a stable sort of each run of combining marks.
void order_marks(std::vector<Decomposed>& text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i].combining_class == 0) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && text[end].combining_class != 0) ++end;
    std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(i),
                     text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Decomposed& a, const Decomposed& b) {
                       return a.combining_class < b.combining_class;
                     });
    i = end;
  }
}

// Composes what stands behind `start`.
void compose(std::vector<utf8proc_int32_t>& text, std::size_t start) {
  const auto n = utf8proc_normalize_utf32(
      text.data() + start, static_cast<utf8proc_ssize_t>(text.size() - start),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (n >= 0) text.resize(start + static_cast<std::size_t>(n));
}

}  // namespace

Category category(char32_t c) {
  static const auto ascii = [] {
    std::array<Category, 0x80> out;
    for (utf8proc_int32_t i = 0; i < 0x80; ++i) {
      const char* s = utf8proc_category_string(i);
      out[static_cast<std::size_t>(i)] = {s[0], s[1]};
    }
    return out;
  }();
  if (c < ascii.size()) return ascii[c];
  if (const CategoryRange* r = changed(c)) return {r->category[0], r->category[1]};
  const char* s = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
  return {s[0], s[1]};
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  if (c == 0x166D || c == 0x111C9) return true;  // were Po
  return category(c).major == 'P' && !is_in(kPunctuationSinceUnicode8, c);
}

bool is_word(char32_t c) {
  const Category k = category(c);
  const bool circled_letter = (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
                              (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  return k.major == 'L' || k.major == 'M' || (k.major == 'N' && k.minor != 'o') ||
         (k.major == 'P' && k.minor == 'c') || c == 0x200C || c == 0x200D || circled_letter;
}

bool is_combining_mark(char32_t c) {
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // were Mc
  return category(c).major == 'M' && !is_in(kMarksSinceUnicode9, c);
}

char32_t upper(char32_t c) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

char32_t lower(char32_t c) {
  switch (c) {  // capitals that Unicode 16 added
    case 0x1C89:
      return 0x1C8A;
    case 0xA7CB:
      return 0x264;
    case 0xA7CC:
      return 0xA7CD;
    case 0xA7DA:
      return 0xA7DB;
    case 0xA7DC:
      return 0x19B;
    default:
      break;
  }
  if (c >= 0x10D50 && c <= 0x10D65) return c + 0x20;
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

void append_lower(std::string& out, char32_t c) {
  if (c == 0x130)
    out += "i\xCC\x87";
  else
    utf8_append(out, lower(c));
}

bool is_surely_normal(std::string_view text, Form form) {
  // Below U+0300 every character is its own NFC; below U+0080 its own everything.
  const auto limit = form == Form::nfc ? 0xCC : 0x80;
  return std::all_of(text.begin(), text.end(),
                     [&](char b) { return static_cast<unsigned char>(b) < limit; });
}

std::string normalize(std::string_view text, Form form) {
  int options = UTF8PROC_DECOMPOSE;
  if (form == Form::nfkc || form == Form::nfkd) options |= UTF8PROC_COMPAT;
  std::vector<Decomposed> marks;
  marks.reserve(text.size());
  for (std::size_t pos = 0; pos < text.size();)
    append_decomposed(marks, utf8_next(text, pos), static_cast<utf8proc_option_t>(options));
  order_marks(marks);
  std::vector<utf8proc_int32_t> buffer;
  buffer.reserve(marks.size());
  const bool composes = form == Form::nfc || form == Form::nfkc;
  std::size_t start = 0;  // of the stretch since the last inert character
  for (const Decomposed& d : marks) {
    const bool inert = is_inert(d.c);
    if (inert && composes) compose(buffer, start);
    buffer.push_back(static_cast<utf8proc_int32_t>(d.c));
    if (inert) start = buffer.size();
  }
  if (composes) compose(buffer, start);
  std::string out;
  out.reserve(text.size());
  for (const auto c : buffer) utf8_append(out, static_cast<char32_t>(c));
  return out;
}

std::string_view with_known_characters(std::string_view text, std::string& buffer) {
  bool replaced = false;
  for (std::size_t pos = 0; pos < text.size();) {
    if (static_cast<unsigned char>(text[pos]) < 0xE0) {  // nothing below U+0800 has changed
      ++pos;
      continue;
    }
    const std::size_t start = pos;
    const char32_t other = stand_in(utf8_next(text, pos));
    if (!other) continue;
    if (!replaced) buffer.assign(text);
    replaced = true;
    std::string bytes;
    utf8_append(bytes, other);
    buffer.replace(start, bytes.size(), bytes);
  }
  return replaced ? std::string_view(buffer) : text;
}

}  // namespace cupel::text
