// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/language.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>
#include <vector>

#include "eval/answers/language_words.h"
#include "eval/answers/python_text.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

constexpr double kWordWeight = 1, kLetterWeight = 0.5;

struct Block {
  char32_t first, last;
  Script script;
};

constexpr Block kBlocks[] = {{0x41, 0x24F, Script::latin},      {0x1E00, 0x1EFF, Script::latin},
                             {0x370, 0x3FF, Script::greek},     {0x400, 0x52F, Script::cyrillic},
                             {0x590, 0x5FF, Script::hebrew},    {0x600, 0x6FF, Script::arabic},
                             {0x750, 0x77F, Script::arabic},    {0xFB50, 0xFDFF, Script::arabic},
                             {0xFE70, 0xFEFE, Script::arabic},  {0x900, 0x97F, Script::devanagari},
                             {0x980, 0x9FF, Script::bengali},   {0xA00, 0xA7F, Script::gurmukhi},
                             {0xA80, 0xAFF, Script::gujarati},  {0xB80, 0xBFF, Script::tamil},
                             {0xC00, 0xC7F, Script::telugu},    {0xC80, 0xCFF, Script::kannada},
                             {0xD00, 0xD7F, Script::malayalam}, {0xE00, 0xE7F, Script::thai},
                             {0x1100, 0x11FF, Script::hangul},  {0xAC00, 0xD7AF, Script::hangul},
                             {0x3040, 0x30FF, Script::kana},    {0x3400, 0x9FFF, Script::han},
                             {0x20000, 0x2FFFF, Script::han}};

// Scripts of one language here.
constexpr std::pair<Script, const char*> kOnly[] = {
    {Script::greek, "el"},    {Script::hebrew, "he"},   {Script::bengali, "bn"},
    {Script::gurmukhi, "pa"}, {Script::gujarati, "gu"}, {Script::tamil, "ta"},
    {Script::telugu, "te"},   {Script::kannada, "kn"},  {Script::malayalam, "ml"},
    {Script::thai, "th"},     {Script::hangul, "ko"},   {Script::kana, "ja"},
    {Script::han, "zh-cn"}};

Script script_of(char32_t c) {
  if (!text::is_letter(c) && !text::is_combining_mark(c)) return Script::none;
  for (const auto& b : kBlocks)
    if (b.first <= c && c <= b.last) return b.script;
  return Script::none;
}

// The script of most letters; Latin ones count only when they are half as many as the others (names
// and code words in a text of another script).
Script main_script(std::string_view s) {
  std::array<std::size_t, static_cast<std::size_t>(Script::none) + 1> count = {};
  for (std::size_t at = 0; at < s.size();)
    ++count[static_cast<std::size_t>(script_of(text::utf8_next(s, at)))];
  const auto of = [&](Script x) -> std::size_t& { return count[static_cast<std::size_t>(x)]; };
  of(Script::none) = 0;
  std::size_t all = 0;
  for (const std::size_t n : count) all += n;
  if (all == 0) return Script::none;
  if (of(Script::latin) * 2 >= all - of(Script::latin)) return Script::latin;
  of(Script::latin) = 0;
  if (of(Script::kana) * 4 >= of(Script::han))
    of(Script::kana) += std::exchange(of(Script::han), 0);
  return static_cast<Script>(std::max_element(count.begin(), count.end()) - count.begin());
}

// Runs of letters and marks.
std::vector<std::string_view> words_of(std::string_view s) {
  std::vector<std::string_view> out;
  std::size_t start = std::string_view::npos;
  for (std::size_t at = 0; at <= s.size();) {
    const std::size_t here = at;
    const bool word = at < s.size() && text::is_word(text::utf8_next(s, at));
    if (word && start == std::string_view::npos) start = here;
    if (!word && start != std::string_view::npos) {
      out.push_back(s.substr(start, here - start));
      start = std::string_view::npos;
    }
    if (here == s.size()) break;
  }
  return out;
}

struct Profile {
  std::string code;
  Script script;
  std::unordered_set<std::string_view> words;
  std::unordered_set<char32_t> letters;
};

std::vector<Profile> profiles() {
  std::vector<Profile> out;
  for (const auto& l : language_words()) {
    Profile p{l.code, l.script, {}, {}};
    for (const auto word : split_spaces(l.words)) p.words.insert(word);
    const std::string_view letters = l.letters;
    for (std::size_t at = 0; at < letters.size();) p.letters.insert(text::utf8_next(letters, at));
    out.push_back(std::move(p));
  }
  return out;
}

class ScriptDetector : public LanguageDetector {
 public:
  std::string name() const override { return "built-in scripts and frequent words"; }

  std::string detect(std::string_view raw) const override {
    const std::string text = without_addresses(raw);
    const Script script = main_script(text);
    if (script == Script::none) return "";
    for (const auto& [only, code] : kOnly)
      if (only == script) return code;
    const std::string lower = text::normalize(lower_text(text), text::Form::nfc);
    const auto words = words_of(lower);
    std::string best;
    double most = -1;
    for (const auto& p : profiles_) {
      if (p.script != script) continue;
      double score = 0;
      for (const auto word : words) score += kWordWeight * static_cast<double>(p.words.count(word));
      for (std::size_t at = 0; at < lower.size();)
        score += kLetterWeight * static_cast<double>(p.letters.count(text::utf8_next(lower, at)));
      if (score > most) {
        most = score;
        best = p.code;
      }
    }
    return best;
  }

 private:
  std::vector<Profile> profiles_ = profiles();
};

}  // namespace

std::unique_ptr<LanguageDetector> script_language_detector() {
  return std::make_unique<ScriptDetector>();
}

}  // namespace cupel::eval
