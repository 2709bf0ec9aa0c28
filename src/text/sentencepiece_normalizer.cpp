// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cstring>

#include "base/error.h"
#include "text/base64.h"
#include "text/sentencepiece.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

// A unit of the double array: the lower 8 bits are the label (with the top bit set where the unit
// is a value), bit 8 says that a value hangs below, bits 9.. are the offset to the children.
bool has_value(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t value_of(uint32_t unit) {
  return unit & 0x7FFFFFFFu;
}
uint32_t label_of(uint32_t unit) {
  return unit & 0x800000FFu;
}
uint32_t offset_of(uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200u) >> 6);
}

class SentencePieceNormalizer : public Normalizer {
 public:
  explicit SentencePieceNormalizer(const Part& part);
  void apply(std::string& text) const override;

 private:
  std::string_view next(std::string_view text, std::size_t& at) const;
  void append(std::string& out, std::string_view part) const;
  std::string_view space() const { return escape_ ? kSpaceSymbol : " "; }

  Charsmap charsmap_;
  Trie user_defined_;
  bool prefix_, remove_extra_, escape_, suffix_;
};

SentencePieceNormalizer::SentencePieceNormalizer(const Part& part)
    : prefix_(part.flag("add_dummy_prefix")),
      remove_extra_(part.flag("remove_extra_whitespaces")),
      escape_(part.flag("escape_whitespaces")),
      suffix_(part.flag("whitespace_as_suffix")) {
  part.known({"charsmap", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces",
              "whitespace_as_suffix", "user_defined"});
  if (const std::string blob = part.text("charsmap"); !blob.empty()) {
    const auto bytes = base64_decoded(blob);
    if (!bytes) part.refuse("'charsmap' is not base64");
    charsmap_ = Charsmap(*bytes);
  }
  std::vector<std::string> symbols;
  for (const Part& symbol : part.list("user_defined")) symbols.push_back(symbol.as_text());
  Trie::Entries entries;
  for (const std::string& symbol : symbols) entries.emplace_back(symbol, 0);
  user_defined_ = Trie(std::move(entries));
}

// What stands for the next stretch of the text; `at` moves behind it.
std::string_view SentencePieceNormalizer::next(std::string_view text, std::size_t& at) const {
  const std::size_t start = at;
  std::size_t longest = start;
  if (user_defined_.starts(text[start]))
    user_defined_.each_prefix(text, start, [&](std::size_t end, Token) { longest = end; });
  std::string_view with;
  if (longest == start) {
    const std::size_t mapped = charsmap_.match(text.substr(start), with);
    at += mapped;
    if (mapped > 0) return with;
    longest += utf8_length(text[start]);
  }
  at = longest;
  return text.substr(start, longest - start);
}

void SentencePieceNormalizer::append(std::string& out, std::string_view part) const {
  for (const char c : part) {
    if (c == ' ')
      out += space();
    else
      out += c;
  }
}

void SentencePieceNormalizer::apply(std::string& text) const {
  std::size_t at = 0;
  for (std::size_t after = 0; remove_extra_ && at < text.size(); at = after)
    if (next(text, after) != " ") break;
  if (at == text.size()) return text.clear();
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  if (prefix_ && !suffix_) out += space();
  bool after_space = remove_extra_;
  while (at < text.size()) {
    std::string_view part = next(text, at);
    while (after_space && part.starts_with(' ')) part.remove_prefix(1);
    append(out, part);
    if (!part.empty()) after_space = remove_extra_ && part.ends_with(' ');
  }
  while (remove_extra_ && out.ends_with(space())) out.resize(out.size() - space().size());
  if (prefix_ && suffix_) out += space();
  text = std::move(out);
}

}  // namespace

Charsmap::Charsmap(std::string_view blob) {
  uint32_t bytes = 0;
  const bool fits = blob.size() > sizeof bytes &&
                    (std::memcpy(&bytes, blob.data(), sizeof bytes), bytes % 4 == 0) &&
                    bytes < blob.size() - sizeof bytes && bytes > 0;
  CUPEL_CHECK(fits && blob.back() == '\0', data,
              "tokenizer: the table of the SentencePiece normalizer is damaged");
  units_.resize(bytes / 4);
  std::memcpy(units_.data(), blob.data() + sizeof bytes, bytes);
  replacements_ = blob.substr(sizeof bytes + bytes);
}

std::string_view Charsmap::replacement(std::size_t node) const {
  const uint32_t start = node < units_.size() ? value_of(units_[node]) : UINT32_MAX;
  CUPEL_CHECK(start < replacements_.size(), data,
              "tokenizer: the table of the SentencePiece normalizer is damaged");
  const std::string_view with = replacements_.data() + start;  // up to its zero byte
  CUPEL_CHECK(utf8_valid_prefix(with) == with.size(), data,
              "tokenizer: the table of the SentencePiece normalizer is damaged");
  return with;
}

/// entry(length, node of the value) for those at the front of the text, short ones first, until it
/// returns false.
template <class Entry>
void Charsmap::each_entry(std::string_view text, const Entry& entry) const {
  if (units_.empty()) return;
  std::size_t node = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (has_value(unit) && !entry(i + 1, node)) return;
  }
}

std::size_t Charsmap::match(std::string_view text, std::string_view& with) const {
  std::size_t longest = 0;
  each_entry(text, [&](std::size_t length, std::size_t node) {
    const bool whole_characters =
        length == text.size() || (static_cast<unsigned char>(text[length]) & 0xC0) != 0x80;
    if (whole_characters) {
      with = replacement(node);
      longest = length;
    }
    return true;
  });
  return longest;
}

std::size_t Charsmap::shortest(std::string_view text, std::string_view& with) const {
  std::size_t found = 0;
  each_entry(text.substr(0, text.find('\0')), [&](std::size_t length, std::size_t node) {
    with = replacement(node);
    found = length;
    return false;
  });
  return found;
}

std::unique_ptr<Normalizer> make_sentencepiece_normalizer(const Part& part) {
  return std::make_unique<SentencePieceNormalizer>(part);
}

}  // namespace cupel::text
