// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/decoder.h"

#include <charconv>
#include <numeric>

#include "text/byte_level.h"
#include "text/pattern.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

std::string joined(const std::vector<std::string>& tokens) {
  return std::accumulate(tokens.begin(), tokens.end(), std::string());
}

class Sequence : public Decoder {
 public:
  explicit Sequence(const Part& part) {
    part.known({"decoders"});
    for (const Part& step : part.list("decoders")) steps_.push_back(make_decoder(step));
  }
  void apply(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) step->apply(tokens);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

/// Bytes are handed on as they are, also where they are not valid UTF-8: a later token may complete
/// them.
class ByteLevel : public Decoder {
 public:
  explicit ByteLevel(const Part& part) {
    part.known({"add_prefix_space", "trim_offsets", "use_regex"});
  }
  void apply(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& t : tokens) append_byte_level_decoded(all, t);
    tokens.assign(1, all);
  }
};

class Replace : public Decoder {
 public:
  explicit Replace(const Part& part) : pattern_(part), content_(part.text("content")) {
    part.known({"pattern", "content"});
  }
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& t : tokens) t = pattern_.replaced(t, content_);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Fuse : public Decoder {
 public:
  explicit Fuse(const Part& part) { part.known({}); }
  void apply(std::vector<std::string>& tokens) const override { tokens.assign(1, joined(tokens)); }
};

/// A run of byte tokens becomes its characters; a run that is not valid becomes one U+FFFD per
/// byte, except that the run at the end keeps its bytes while all that it lacks is the end of its
/// last character.
class ByteFallback : public Decoder {
 public:
  explicit ByteFallback(const Part& part) { part.known({}); }
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string run;
    for (std::string& t : tokens) {
      unsigned byte = 0;
      const char* hex = t.data() + 3;
      const bool is_byte = t.size() == 6 && t.starts_with("<0x") && t.back() == '>' &&
                           std::from_chars(hex, hex + 2, byte, 16).ptr == hex + 2;
      if (is_byte) {
        run += static_cast<char>(static_cast<unsigned char>(byte));
        continue;
      }
      flush(run, out, false);
      out.push_back(std::move(t));
    }
    flush(run, out, true);
    tokens = std::move(out);
  }

 private:
  static void flush(std::string& run, std::vector<std::string>& out, bool at_end) {
    if (run.empty()) return;
    const std::size_t valid = utf8_valid_prefix(run);
    if (valid == run.size() || (at_end && valid + utf8_cut_tail(run) == run.size()))
      out.push_back(run);
    else
      out.insert(out.end(), run.size(), "\xEF\xBF\xBD");
    run.clear();
  }
};

class Strip : public Decoder {
 public:
  explicit Strip(const Part& part)
      : content_(part.text("content")), start_(part.integer("start")), stop_(part.integer("stop")) {
    part.known({"content", "start", "stop"});
    if (content_.empty()) part.refuse("content is empty");
  }
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& t : tokens) {
      std::string_view s = t;
      for (int64_t i = 0; i < start_ && s.starts_with(content_); ++i)
        s.remove_prefix(content_.size());
      for (int64_t i = 0; i < stop_ && s.ends_with(content_); ++i) s.remove_suffix(content_.size());
      t = std::string(s);
    }
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

class Metaspace : public Decoder {
 public:
  explicit Metaspace(const Part& part) : replacement_(part.text("replacement")) {
    part.known({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
    prepended_ = part.flag("add_prefix_space", true) &&
                 !(part.has("prepend_scheme") && part.text("prepend_scheme") == "never");
    if (replacement_.empty()) part.refuse("replacement is empty");
  }
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool drop = i == 0 && prepended_;
      std::string out;
      std::string_view rest = tokens[i];
      for (std::size_t at; (at = rest.find(replacement_)) != rest.npos;
           rest.remove_prefix(at + replacement_.size())) {
        out += rest.substr(0, at);
        if (!drop) out += ' ';
      }
      tokens[i] = out.append(rest);
    }
  }

 private:
  std::string replacement_;
  bool prepended_;
};

/// Tokens that do not continue a word get a space before them; `cleanup` joins English punctuation.
class WordPiece : public Decoder {
 public:
  explicit WordPiece(const Part& part)
      : prefix_(part.text("prefix")), cleanup_(part.flag("cleanup")) {
    part.known({"prefix", "cleanup"});
  }
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& t = tokens[i];
      if (i > 0) t = t.starts_with(prefix_) ? t.substr(prefix_.size()) : " " + t;
      for (const auto& [from, to] : kJoined)
        if (cleanup_) t = replaced(t, from, to);
    }
  }

 private:
  static constexpr std::pair<std::string_view, std::string_view> kJoined[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  static std::string replaced(std::string_view rest, std::string_view from, std::string_view to) {
    std::string out;
    for (std::size_t at; (at = rest.find(from)) != rest.npos; rest.remove_prefix(at + from.size()))
      out.append(rest.substr(0, at)).append(to);
    return out.append(rest);
  }

  std::string prefix_;
  bool cleanup_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Part& part) {
  const std::string type = part.type();
  if (type == "Sequence") return std::make_unique<Sequence>(part);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(part);
  if (type == "ByteFallback") return std::make_unique<ByteFallback>(part);
  if (type == "Replace") return std::make_unique<Replace>(part);
  if (type == "Fuse") return std::make_unique<Fuse>(part);
  if (type == "Strip") return std::make_unique<Strip>(part);
  if (type == "WordPiece") return std::make_unique<WordPiece>(part);
  if (type == "Metaspace") return std::make_unique<Metaspace>(part);
  part.unknown_type();
}

}  // namespace cupel::text
