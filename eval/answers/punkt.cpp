// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/punkt.h"

#include <optional>

#include "base/cat.h"
#include "eval/answers/python_regex.h"
#include "eval/answers/python_text.h"
#include "text/utf8.h"

namespace cupel::eval {
namespace {

constexpr unsigned kUpper =
    PunktModel::begin_upper | PunktModel::middle_upper | PunktModel::unknown_upper;
constexpr unsigned kLower =
    PunktModel::begin_lower | PunktModel::middle_lower | PunktModel::unknown_lower;

// Characters that end a word; quotation marks in the four typographic forms among them.
const std::string kNonWord = R"([)\";}\]\*:@\'\({\[\u2018\u2019\u201c\u201d\xab\xbb?!])";
const std::string kMultiChar = R"((?:\-{2,}|\.{2,}|(?:\.\s){2,}\.))";
const std::string kWordStart = R"([^\("`{\[:;&\#\*@\)}\]\-,])";

struct Token {
  std::string text, type;
  bool sentence_break = false, abbreviation = false, ellipsis = false;

  bool ends_in_period() const { return text.ends_with('.'); }
  std::string type_without_period() const {
    return type.size() > 1 && type.ends_with('.') ? type.substr(0, type.size() - 1) : type;
  }
  std::string type_without_break() const { return sentence_break ? type_without_period() : type; }
  char32_t first() const {
    std::size_t at = 0;
    return text::utf8_next(text, at);
  }
};

using Slice = std::pair<std::size_t, std::size_t>;

// One candidate end of a sentence: where the next token starts, and the words around.
struct Candidate {
  std::size_t end = 0;
  std::size_t next = std::string_view::npos;
  std::string context;
};

}  // namespace

struct SentenceSplitter::Impl {
  PunktModel model;
  PythonRegex word{cat("(?:", kMultiChar, "|(?=", kWordStart, R"()\S+?(?=\s|$|)", kNonWord, "|",
                       kMultiChar, R"(|,(?=$|\s|)", kNonWord, "|", kMultiChar, R"())|\S))")};
  PythonRegex candidate{cat(R"([.?!](?=()", kNonWord, R"(|\s+(\S+))))")};
  PythonRegex realign{R"(["')\]}\u2018\u2019\u201c\u201d\xab\xbb]+?(?:\s+|(?=--)|$))",
                      PythonRegex::multiline};
  PythonRegex number{R"(^-?[\.,]?\d[\d,\.-]*\.?$)"};
  PythonRegex ellipsis{R"(\.\.+$)"};
  PythonRegex initial{R"([^\W\d]\.$)"};

  std::vector<Token> words(const std::string& text) const {
    std::vector<Token> out;
    for (const auto line : split_at(text, "\n")) {
      if (strip(line).empty()) continue;
      word.each(line, [&](const PythonRegex::Match& match) {
        Token t;
        t.text = std::string(match[0].of(line));
        t.type = number.replace(lower_text(t.text), "##number##");
        out.push_back(std::move(t));
      });
    }
    return out;
  }

  bool is_abbreviation(const std::string& word_with_period) const {
    const std::string w =
        lower_text(std::string_view(word_with_period).substr(0, word_with_period.size() - 1));
    return model.abbreviations.contains(w) ||
           model.abbreviations.contains(w.substr(w.rfind('-') + 1));
  }

  // By the token alone.
  void annotate(Token& t) const {
    if (t.text == "." || t.text == "?" || t.text == "!")
      t.sentence_break = true;
    else if (!ellipsis.match_at(t.text, 0).empty())
      t.ellipsis = true;
    else if (t.ends_in_period() && !t.text.ends_with(".."))
      (is_abbreviation(t.text) ? t.abbreviation : t.sentence_break) = true;
  }

  unsigned seen(const std::string& type) const {
    const auto found = model.seen.find(type);
    return found == model.seen.end() ? 0 : found->second;
  }

  // Whether the token's case shows that a sentence starts with it; unset if it shows nothing.
  std::optional<bool> starts_sentence(const Token& t) const {
    if (t.text.size() == 1 && std::string_view(";:,.!?").find(t.text[0]) != std::string_view::npos)
      return false;
    const unsigned bits = seen(t.type_without_break());
    if (python_upper(t.first()) && (bits & kLower) && !(bits & PunktModel::middle_upper))
      return true;
    if (python_lower(t.first()) && ((bits & kUpper) || !(bits & PunktModel::begin_lower)))
      return false;
    return std::nullopt;
  }

  // By the token that follows.
  void annotate(Token& t, const Token& next) const {
    if (!t.ends_in_period()) return;
    const std::string type = t.type_without_period(), next_type = next.type_without_break();
    const bool is_initial = !initial.match_at(t.text, 0).empty();
    const auto not_a_break = [&] {
      t.sentence_break = false;
      t.abbreviation = true;
    };
    if (model.collocations.contains({type, next_type})) return not_a_break();
    const bool next_upper = python_upper(next.first());
    if ((t.abbreviation || t.ellipsis) && !is_initial &&
        (starts_sentence(next) == true || (next_upper && model.starters.contains(next_type)))) {
      t.sentence_break = true;
      return;
    }
    if (is_initial || type == "##number##") {
      const auto starts = starts_sentence(next);
      if (starts == false || (!starts && is_initial && next_upper && !(seen(next_type) & kLower)))
        not_a_break();
    }
  }

  // Whether a token before the last one ends a sentence.
  bool has_break(const std::string& context) const {
    std::vector<Token> tokens = words(context);
    for (auto& t : tokens) annotate(t);
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      annotate(tokens[i], tokens[i + 1]);
      if (tokens[i].sentence_break) return true;
    }
    return false;
  }

  // Candidates with the word before; a later one replaces an earlier one in the same word.
  std::vector<Candidate> candidates(std::string_view text) const {
    std::vector<Candidate> out;
    Slice word_before{0, 0};
    candidate.each(text, [&](const PythonRegex::Match& m) {
      const auto [start, end] = m[0];
      const auto before = text.substr(word_before.second, start - word_before.second);
      const auto space = before.find_last_of(" \t\n\r\x0b\x0c");
      const std::size_t word_start = space != std::string_view::npos && space > 0
                                         ? word_before.second + space + 1
                                         : word_before.first;
      if (!out.empty() && word_before.second > word_start) out.pop_back();
      word_before = {word_start, start};
      Candidate c{end, m[2].start, ""};
      c.context = cat(text.substr(word_start, end - word_start), m[1].of(text));
      out.push_back(std::move(c));
    });
    return out;
  }

  std::vector<Slice> slices(std::string_view text) const {
    std::vector<Slice> out;
    std::size_t start = 0;
    for (const auto& c : candidates(text)) {
      if (!has_break(c.context)) continue;
      out.emplace_back(start, c.end);
      start = c.next != std::string_view::npos ? c.next : c.end;
    }
    std::size_t end = text.size();
    if (const auto body = strip(text); !body.empty())
      end = static_cast<std::size_t>(body.data() - text.data()) + body.size();
    else
      end = 0;
    out.emplace_back(start, end);
    return out;
  }
};

SentenceSplitter::SentenceSplitter(PunktModel model) : impl_(std::make_unique<Impl>()) {
  impl_->model = std::move(model);
}

SentenceSplitter::SentenceSplitter(SentenceSplitter&&) noexcept = default;
SentenceSplitter::~SentenceSplitter() = default;

std::vector<std::string_view> SentenceSplitter::split(std::string_view text) const {
  std::vector<std::string_view> out;
  const auto put = [&](std::size_t start, std::size_t end) {
    out.push_back(start < end ? text.substr(start, end - start) : std::string_view());
  };
  const auto slices = impl_->slices(text);
  std::size_t moved = 0;  // closing marks that went to the sentence before
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto [start, end] = Slice{slices[i].first + moved, slices[i].second};
    moved = 0;
    if (i + 1 < slices.size()) {
      const auto [next, next_end] = slices[i + 1];
      const auto sentence =
          next < next_end ? text.substr(next, next_end - next) : std::string_view();
      if (const auto m = impl_->realign.match_at(sentence, 0); !m.empty()) {
        const auto marks = m[0].of(sentence);
        const auto kept = strip(marks);  // marks start with no space
        put(start, next + kept.size());
        moved = marks.size();
        continue;
      }
    }
    if (start < end) put(start, end);
  }
  return out;
}

}  // namespace cupel::eval
