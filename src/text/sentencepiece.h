// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Parts of a tokenizer that work as SentencePiece does, for models that come as its protobuf alone:
// the JSON types "SentencePiece" (normalizer), "SentencePieceBPE" and "SentencePieceUnigram". The
// parts of tokenizer.json come close, but differ in ties, in the prefix before user-defined pieces
// and in single precision.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/model.h"
#include "text/normalizer.h"
#include "text/trie.h"

namespace cupel::text {

/// Keys: "charsmap" (base64, may be ""), "add_dummy_prefix", "remove_extra_whitespaces",
/// "escape_whitespaces", "whitespace_as_suffix" (flags), "user_defined" (texts that stay as they
/// are).
std::unique_ptr<Normalizer> make_sentencepiece_normalizer(const Part& part);

/// The part "Precompiled" of tokenizer.json. Key: "precompiled_charsmap" (base64).
std::unique_ptr<Normalizer> make_precompiled_normalizer(const Part& part);

/// Keys of both models: "vocab" (list of [piece, score]), "unk_id", "byte_fallback", and the ids of
/// pieces that differ from normal ones: "user_defined" (match first), "unused" (never a result),
/// "reserved" (control and byte pieces and the unknown one: never found in text).
std::unique_ptr<Model> make_sentencepiece_bpe(const Part& part, const ModelTables& tables);
std::unique_ptr<Model> make_sentencepiece_unigram(const Part& part, const ModelTables& tables);

/// What the keys say.
struct SentencePieces {
  enum class Kind : char { normal, user_defined, unused, reserved };
  SentencePieces(const Part& part, const ModelTables& tables);
  Kind kind(Token id) const { return kinds[static_cast<std::size_t>(id)]; }

  Vocabulary vocabulary;
  std::vector<float> scores;  ///< by id
  std::vector<Kind> kinds;    ///< by id
  Token unknown = -1;
  bool byte_fallback = false;
};

/// The tables of SentencePiece's normalization: a double-array trie of texts to replace, with what
/// replaces them. Every index is checked: the bytes come from a file.
class Charsmap {
 public:
  Charsmap() = default;
  /// Fault::data if the sizes do not agree.
  explicit Charsmap(std::string_view blob);
  /// Length of the longest entry at the front of `text`, 0 if there is none; `with` gets what
  /// replaces it.
  std::size_t match(std::string_view text, std::string_view& with) const;
  /// The same for the shortest entry, which may end inside a character.
  std::size_t shortest(std::string_view text, std::string_view& with) const;

 private:
  std::string_view replacement(std::size_t node) const;
  template <class Entry>
  void each_entry(std::string_view text, const Entry& entry) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // each ends with a zero byte
};

}  // namespace cupel::text
