// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "eval/reference.h"
#include "eval/top_tokens.h"

namespace cupel::eval {

/// A reference file keeps what a model predicted at every scored position of a text, so that a big
/// model runs once: the 256 most probable tokens, the probability of all others together, and that
/// of the token that followed. Little endian:
///   "CUPELREF", uint32 version 1, uint32 bytes of the header, the header (JSON), uint32 CRC-32C of
///   all before; then each block of the header's list: its rows, uint32 CRC-32C of them.
///   A row: float32 log-probability of the target, float32 log of the rest, float32 log-probability
///   of each kept token, best first, and their ids (uint16 up to 65536 tokens, else uint32).
/// Float32, because float16 makes the file a third smaller only, and its rounding shows in KL
/// (docs/evaluation.md).
inline constexpr int64_t kReferenceTokens = 256;

struct ReferenceHeader {
  std::string model;              ///< description of the model
  std::string text_file;          ///< name of the text
  std::string vocabulary_sha256;  ///< of the tokenizer's texts (token_class.h)
  int64_t vocab = 0;              ///< width of a row of logits
  int64_t top = 0;                ///< tokens kept of each position
  BlockList list;
};

/// True for a file that begins like a reference file; false also when it can't be read.
bool is_reference_file(const std::string& path);

/// Writes rows one by one, in the order of the header's blocks. Nothing but a buffer is held.
class ReferenceWriter {
 public:
  /// `file` is a temporary name (write_atomic_with), `path` the one for messages.
  ReferenceWriter(const std::string& file, const std::string& path, ReferenceHeader header);
  ~ReferenceWriter();
  ReferenceWriter(const ReferenceWriter&) = delete;
  ReferenceWriter& operator=(const ReferenceWriter&) = delete;
  /// Logits of the next position, and the token that followed. Fault::environment when the disk is
  /// full.
  void add(std::span<const float> logits, text::Token target);
  /// Closes the file; every row must have been added.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A reference file as a Reference. The file is mapped; a block's CRC is checked when it is loaded.
class SavedReference final : public Reference {
 public:
  /// Fault::data for a file that is damaged, truncated or of another kind.
  explicit SavedReference(const std::string& path);
  const ReferenceHeader& header() const { return header_; }

  std::string description() const override;
  int64_t vocab() const override { return header_.vocab; }
  /// Fault::user for another text, tokenizer or protocol, and for a block that the file lacks.
  void check(const TextBlocks& blocks, const text::Tokenizer& tokenizer) const override;
  void load(const Block& block, std::size_t index) override;
  void compare(std::size_t row, std::span<const float> model, const Place& place,
               DivergenceMeter& meter) override;

 private:
  std::size_t find(const BlockPlace& place) const;
  TopRow row(std::size_t index);
  MappedFile file_;
  ReferenceHeader header_;
  std::map<BlockPlace, std::size_t> offsets_;  // of blocks in the file
  std::size_t block_ = 0;                      // offset of the block that is loaded
  std::vector<text::Token> ids_;
  std::vector<float> log_p_;
};

}  // namespace cupel::eval
