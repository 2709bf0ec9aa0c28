// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/pretokenizer.h"

#include <string>
#include <vector>

#include "text/byte_level.h"
#include "text/pattern.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

constexpr const char* kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
  void split(const Piece& piece, PieceSink sink) const override { from(0, piece, sink); }

 private:
  void from(std::size_t step, const Piece& piece, PieceSink sink) const {
    if (step == steps_.size()) return sink(piece);
    steps_[step]->split(piece, [&](const Piece& p) { from(step + 1, p, sink); });
  }
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

class Split : public PreTokenizer {
 public:
  explicit Split(const Part& part)
      : pattern_(part), behavior_(read_behavior(part)), invert_(part.flag("invert")) {
    part.known({"pattern", "behavior", "invert"});
  }
  void split(const Piece& piece, PieceSink sink) const override {
    Splitter splitter(piece, behavior_, invert_, sink);
    pattern_.each(piece.text,
                  [&](std::size_t start, std::size_t end) { splitter.match(start, end); });
    splitter.finish();
  }

 private:
  Pattern pattern_;
  Behavior behavior_;
  bool invert_;
};

class Gpt2Split : public PreTokenizer {
 public:
  void split(const Piece& piece, PieceSink sink) const override {
    Splitter splitter(piece, Behavior::isolated, false, sink);
    regex_.each(piece.text,
                [&](std::size_t start, std::size_t end) { splitter.match(start, end); });
    splitter.finish();
  }

 private:
  Regex regex_{kGpt2};
};

class PrefixSpace : public PreTokenizer {
 public:
  void split(const Piece& piece, PieceSink sink) const override {
    if (piece.text.front() == ' ') return sink(piece);
    const std::string longer = ' ' + std::string(piece.text);
    sink({longer, piece.at_start});
  }
};

class MapBytes : public PreTokenizer {
 public:
  void split(const Piece& piece, PieceSink sink) const override {
    std::string mapped;
    append_byte_level(mapped, piece.text);
    sink({mapped, piece.at_start});
  }
};

/// Characters of a kind are the matches.
class ByCharacter : public PreTokenizer {
 public:
  ByCharacter(bool (*is)(char32_t), Behavior behavior) : is_(is), behavior_(behavior) {}
  void split(const Piece& piece, PieceSink sink) const override {
    Splitter splitter(piece, behavior_, false, sink);
    for (std::size_t pos = 0; pos < piece.text.size();) {
      const std::size_t start = pos;
      if (is_(utf8_next(piece.text, pos))) splitter.match(start, pos);
    }
    splitter.finish();
  }

 private:
  bool (*is_)(char32_t);
  Behavior behavior_;
};

/// \w+|[^\w\s]+, the rest removed.
class Whitespace : public PreTokenizer {
 public:
  void split(const Piece& piece, PieceSink sink) const override {
    enum class Kind { space, word, other };
    Kind run = Kind::space;
    std::size_t run_start = 0;
    const auto hand_over = [&](std::size_t end) {
      if (run != Kind::space)
        sink({piece.text.substr(run_start, end - run_start), piece.at_start && run_start == 0});
    };
    for (std::size_t pos = 0; pos < piece.text.size();) {
      const std::size_t start = pos;
      const char32_t c = utf8_next(piece.text, pos);
      const Kind kind = is_space(c) ? Kind::space : is_word(c) ? Kind::word : Kind::other;
      if (kind == run) continue;
      hand_over(start);
      run = kind;
      run_start = start;
    }
    hand_over(piece.text.size());
  }
};

/// Pieces of so many characters.
class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(const Part& part) : length_(part.integer("length")) {
    part.known({"length"});
    if (length_ < 1) part.refuse("length must be at least 1");
  }
  void split(const Piece& piece, PieceSink sink) const override {
    for (std::size_t start = 0, pos = 0; start < piece.text.size(); start = pos) {
      for (int64_t i = 0; i < length_ && pos < piece.text.size(); ++i) utf8_next(piece.text, pos);
      sink({piece.text.substr(start, pos - start), piece.at_start && start == 0});
    }
  }

 private:
  int64_t length_;
};

/// Cuts at a character, which is removed.
class CharDelimiterSplit : public PreTokenizer {
 public:
  explicit CharDelimiterSplit(const Part& part) : delimiter_(part.text("delimiter")) {
    part.known({"delimiter"});
    std::size_t pos = 0;
    if (!delimiter_.empty()) utf8_next(delimiter_, pos);
    if (delimiter_.empty() || pos != delimiter_.size()) part.refuse("delimiter is not a character");
  }
  void split(const Piece& piece, PieceSink sink) const override {
    Splitter splitter(piece, Behavior::removed, false, sink);
    for (std::size_t at = piece.text.find(delimiter_); at != piece.text.npos;
         at = piece.text.find(delimiter_, at + delimiter_.size()))
      splitter.match(at, at + delimiter_.size());
    splitter.finish();
  }

 private:
  std::string delimiter_;
};

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const Part& part)
      : replacement_(part.text("replacement")), split_(part.flag("split", true)) {
    part.known({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
    scheme_ = part.has("prepend_scheme") ? part.text("prepend_scheme") : "always";
    if (!part.flag("add_prefix_space", true)) scheme_ = "never";
    if (scheme_ != "always" && scheme_ != "first" && scheme_ != "never")
      part.refuse("prepend_scheme '" + scheme_ + "' is not supported");
  }
  void split(const Piece& piece, PieceSink sink) const override {
    std::string text;
    text.reserve(piece.text.size() + replacement_.size());
    for (const char c : piece.text) {
      if (c == ' ')
        text += replacement_;
      else
        text += c;
    }
    const bool wanted = scheme_ == "always" || (scheme_ == "first" && piece.at_start);
    if (wanted && text.compare(0, replacement_.size(), replacement_) != 0)
      text.insert(0, replacement_);
    const Piece changed{text, piece.at_start};
    if (!split_) return sink(changed);
    Splitter splitter(changed, Behavior::merged_with_next, false, sink);
    for (std::size_t at = text.find(replacement_); at != text.npos;
         at = text.find(replacement_, at + replacement_.size()))
      splitter.match(at, at + replacement_.size());
    splitter.finish();
  }

 private:
  std::string replacement_, scheme_;
  bool split_;
};

using Steps = std::vector<std::unique_ptr<PreTokenizer>>;

void add_steps(const Part& part, Steps& steps);

void add_byte_level(const Part& part, Steps& steps) {
  part.known({"add_prefix_space", "trim_offsets", "use_regex"});
  if (part.flag("add_prefix_space")) steps.push_back(std::make_unique<PrefixSpace>());
  if (part.flag("use_regex", true)) steps.push_back(std::make_unique<Gpt2Split>());
  steps.push_back(std::make_unique<MapBytes>());
}

void add_steps(const Part& part, Steps& steps) {
  const std::string type = part.type();
  const auto by_character = [&](bool (*is)(char32_t), Behavior behavior) {
    steps.push_back(std::make_unique<ByCharacter>(is, behavior));
  };
  if (type == "Sequence") {
    part.known({"pretokenizers"});
    for (const Part& step : part.list("pretokenizers")) add_steps(step, steps);
  } else if (type == "ByteLevel") {
    add_byte_level(part, steps);
  } else if (type == "Split") {
    steps.push_back(std::make_unique<Split>(part));
  } else if (type == "Digits") {
    part.known({"individual_digits"});
    by_character(is_number,
                 part.flag("individual_digits") ? Behavior::isolated : Behavior::contiguous);
  } else if (type == "Metaspace") {
    steps.push_back(std::make_unique<Metaspace>(part));
  } else if (type == "Punctuation") {
    part.known({"behavior"});
    by_character(is_punctuation, part.has("behavior") ? read_behavior(part) : Behavior::isolated);
  } else if (type == "WhitespaceSplit") {
    part.known({});
    by_character(is_space, Behavior::removed);
  } else if (type == "BertPreTokenizer") {
    part.known({});
    by_character(is_space, Behavior::removed);
    by_character(is_punctuation, Behavior::isolated);
  } else if (type == "FixedLength") {
    steps.push_back(std::make_unique<FixedLength>(part));
  } else if (type == "CharDelimiterSplit") {
    steps.push_back(std::make_unique<CharDelimiterSplit>(part));
  } else if (type == "Whitespace") {
    part.known({});
    steps.push_back(std::make_unique<Whitespace>());
  } else {
    part.unknown_type();
  }
}

}  // namespace

PreTokenizers make_pretokenizers(const Part& part) {
  Steps steps;
  add_steps(part, steps);
  PreTokenizers out;
  if (!steps.empty() && dynamic_cast<MapBytes*>(steps.back().get())) {
    steps.pop_back();
    out.map_bytes = true;
  }
  if (steps.size() == 1)
    out.steps = std::move(steps.front());
  else if (!steps.empty())
    out.steps = std::make_unique<Sequence>(std::move(steps));
  return out;
}

}  // namespace cupel::text
