// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/added_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

AddedToken read(const Part& part, const Normalizer* normalizer) {
  part.known({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken t;
  t.content = t.decoded = part.text("content");
  t.single_word = part.flag("single_word", false);
  t.lstrip = part.flag("lstrip", false);
  t.rstrip = part.flag("rstrip", false);
  t.special = part.flag("special", false);
  t.normalized = part.flag("normalized", !t.special);
  if (t.normalized && normalizer) normalizer->apply(t.decoded);
  return t;
}

bool word_before(std::string_view text, std::size_t pos) {
  if (pos == 0) return false;
  pos = utf8_before(text, pos);
  return is_word(utf8_next(text, pos));
}

bool word_at(std::string_view text, std::size_t pos) {
  return pos < text.size() && is_word(utf8_next(text, pos));
}

std::size_t skip_space_left(std::string_view text, std::size_t pos, std::size_t limit) {
  while (pos > limit) {
    const std::size_t before = utf8_before(text, pos);
    std::size_t end = before;
    if (before < limit || !is_space(utf8_next(text, end))) break;
    pos = before;
  }
  return pos;
}

std::size_t skip_space_right(std::string_view text, std::size_t pos) {
  for (std::size_t next = pos; pos < text.size() && is_space(utf8_next(text, next));) pos = next;
  return pos;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<Part>& list, const Vocabulary& model,
                         const Normalizer* normalizer, FunctionRef<void(const std::string&)> warn) {
  int64_t next = model.entries();
  for (const Part& part : list) {
    AddedToken t = read(part, normalizer);
    if (t.content.empty()) continue;
    t.id = find(t.content);
    if (t.id < 0) t.id = model.find(t.content);
    if (t.id < 0) t.id = static_cast<Token>(next++);
    if (part.integer("id") != t.id)
      warn(cat("tokenizer: added token '", t.content, "' is declared as ", part.integer("id"),
               " but gets id ", t.id));
    ids_[t.content] = t.id;
    size_ = std::max<int64_t>(size_, t.id + 1);
    tokens_[t.id] = std::move(t);
  }
  Trie::Entries raw, normalized;
  for (const auto& [id, t] : tokens_)
    (t.normalized ? normalized : raw).emplace_back(t.normalized ? t.decoded : t.content, id);
  raw_ = Trie(std::move(raw));
  normalized_ = Trie(std::move(normalized));
}

bool AddedTokens::fits(const AddedToken& token, std::string_view text, Span span) const {
  return !token.single_word || (!word_before(text, span.start) && !word_at(text, span.end));
}

void AddedTokens::split(std::string_view text, bool normalized, bool special_too, Sink sink) const {
  const Trie& trie = normalized ? normalized_ : raw_;
  std::size_t done = 0;
  for (std::size_t at = 0; !trie.empty() && at < text.size();) {
    Span span{at, at};
    Token id = -1;
    if (trie.starts(text[at]))
      trie.each_prefix(text, at, [&](std::size_t end, Token found) {
        span.end = end;
        id = found;
      });
    if (id < 0) {
      ++at;
      continue;
    }
    at = span.end;  // a match that is turned down is passed over whole: shorter ones are not tried
    const AddedToken& token = *get(id);
    if ((token.special && !special_too) || !fits(token, text, span)) continue;
    if (token.lstrip) span.start = std::max(done, skip_space_left(text, span.start, done));
    if (token.rstrip) span.end = skip_space_right(text, span.end);
    if (done < span.start) sink(text.substr(done, span.start - done), done, -1);
    // Nothing is left of a token of white space that its neighbour has swallowed.
    if (span.start < span.end) sink(text.substr(span.start, span.end - span.start), span.start, id);
    done = std::max(done, span.end);
  }
  if (done < text.size()) sink(text.substr(done), done, -1);
}

Token AddedTokens::find(std::string_view content) const {
  const auto at = ids_.find(std::string(content));
  return at == ids_.end() ? -1 : at->second;
}

const AddedToken* AddedTokens::get(Token id) const {
  const auto at = tokens_.find(id);
  return at == tokens_.end() ? nullptr : &at->second;
}

}  // namespace cupel::text
