// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/normalizer.h"

#include <functional>
#include <vector>

#include "text/byte_level.h"
#include "text/pattern.h"
#include "text/sentencepiece.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

class Simple : public Normalizer {
 public:
  explicit Simple(std::function<void(std::string&)> body) : body_(std::move(body)) {}
  void apply(std::string& text) const override { body_(text); }

 private:
  std::function<void(std::string&)> body_;
};

std::unique_ptr<Normalizer> simple(std::function<void(std::string&)> body) {
  return std::make_unique<Simple>(std::move(body));
}

class Sequence : public Normalizer {
 public:
  explicit Sequence(const Part& part) {
    part.known({"normalizers"});
    for (const Part& step : part.list("normalizers")) steps_.push_back(make_normalizer(step));
  }
  void apply(std::string& text) const override {
    for (const auto& step : steps_) step->apply(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

class Replace : public Normalizer {
 public:
  explicit Replace(const Part& part) : pattern_(part), content_(part.text("content")) {
    part.known({"pattern", "content"});
  }
  void apply(std::string& text) const override { text = pattern_.replaced(text, content_); }

 private:
  Pattern pattern_;
  std::string content_;
};

std::unique_ptr<Normalizer> unicode_form(const Part& part, Form form) {
  part.known({});
  return simple([form](std::string& text) {
    if (!is_surely_normal(text, form)) text = normalize(text, form);
  });
}

void lowercase(std::string& text) {
  std::string out;
  for (std::size_t pos = 0; pos < text.size();) append_lower(out, utf8_next(text, pos));
  text = std::move(out);
}

void strip_accents(std::string& text) {
  std::string out;
  for (std::size_t pos = 0; pos < text.size();) {
    const char32_t c = utf8_next(text, pos);
    if (!is_combining_mark(c)) utf8_append(out, c);
  }
  text = std::move(out);
}

void strip(std::string& text, bool left, bool right) {
  std::size_t begin = 0, end = text.size();
  for (std::size_t pos = 0; left && pos < end && is_space(utf8_next(text, pos));) begin = pos;
  while (right && end > begin) {
    std::size_t pos = utf8_before(text, end);
    const std::size_t start = pos;
    if (!is_space(utf8_next(text, pos))) break;
    end = start;
  }
  text = text.substr(begin, end - begin);
}

std::unique_ptr<Normalizer> make_strip(const Part& part) {
  part.known({"strip_left", "strip_right"});
  return simple([left = part.flag("strip_left"), right = part.flag("strip_right")](
                    std::string& text) { strip(text, left, right); });
}

std::unique_ptr<Normalizer> make_prepend(const Part& part) {
  part.known({"prepend"});
  return simple([prefix = part.text("prepend")](std::string& text) {
    if (!text.empty()) text.insert(0, prefix);
  });
}

// Control characters go, what could be taken for white space becomes a space.
void nmt(std::string& text) {
  std::string out;
  for (std::size_t pos = 0; pos < text.size();) {
    const char32_t c = utf8_next(text, pos);
    const bool control = c < 0x20 || c == 0x7F || c == 0x8F || c == 0x9F;
    const bool space = c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    if (space)
      out += ' ';
    else if (!control || c == 0)
      utf8_append(out, c);
  }
  text = std::move(out);
}

void byte_level(std::string& text) {
  std::string out;
  append_byte_level(out, text);
  text = std::move(out);
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const Part& part) {
  const std::string type = part.type();
  if (type == "Sequence") return std::make_unique<Sequence>(part);
  if (type == "SentencePiece") return make_sentencepiece_normalizer(part);
  if (type == "Precompiled") return make_precompiled_normalizer(part);
  if (type == "Replace") return std::make_unique<Replace>(part);
  if (type == "NFC") return unicode_form(part, Form::nfc);
  if (type == "NFD") return unicode_form(part, Form::nfd);
  if (type == "NFKC") return unicode_form(part, Form::nfkc);
  if (type == "NFKD") return unicode_form(part, Form::nfkd);
  if (type == "Strip") return make_strip(part);
  if (type == "Prepend") return make_prepend(part);
  if (type == "Lowercase") return part.known({}), simple(lowercase);
  if (type == "StripAccents") return part.known({}), simple(strip_accents);
  if (type == "Nmt") return part.known({}), simple(nmt);
  if (type == "BertNormalizer") return make_bert_normalizer(part);
  if (type == "ByteLevel") return part.known({}), simple(byte_level);
  part.unknown_type();
}

}  // namespace cupel::text
