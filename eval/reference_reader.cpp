// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "eval/reference_header.h"

namespace cupel::eval {

namespace {

std::size_t block_bytes(const ReferenceHeader& header, const BlockPlace& place) {
  return checked_mul(static_cast<std::size_t>(place.count), row_bytes(header), "a block's rows");
}

}  // namespace

SavedReference::SavedReference(const std::string& path) : file_(path) {
  in_frame(cat("opening the reference file '", path, "'"), [&] {
    auto head = read_reference_head(file_.bytes());
    header_ = std::move(head.header);
    std::size_t at = head.size;
    for (const BlockPlace& place : header_.list.blocks) {
      CUPEL_CHECK(offsets_.emplace(place, at).second, data, "its header lists a block twice");
      at = checked_add(checked_add(at, block_bytes(header_, place), "the blocks"), 4, "the blocks");
    }
    CUPEL_CHECK(file_.bytes().size() == at, data, "it has ", file_.bytes().size(), " bytes, but ",
                at, " belong to its ", header_.list.blocks.size(), " blocks: it is ",
                file_.bytes().size() < at ? "truncated" : "damaged");
  });
}

std::string SavedReference::description() const {
  return cat(header_.model, ", saved in '", file_.path(), "'");
}

std::size_t SavedReference::find(const BlockPlace& place) const {
  const auto found = offsets_.find(place);
  CUPEL_CHECK(found != offsets_.end(), user, "'", file_.path(), "' has ",
              header_.list.blocks.size(), " blocks, and none of ", place.count,
              " scored tokens that starts at token ", place.first, " of document ", place.document,
              "; use --blocks or --blocks-file");
  return found->second;
}

void SavedReference::check(const TextBlocks& blocks, const text::Tokenizer& tokenizer) const {
  check_same_text(blocks.list, header_.list, file_.path());
  CUPEL_CHECK(header_.vocabulary_sha256 == vocabulary_sha256(tokenizer), user, "'", file_.path(),
              "' was made with another tokenizer: the texts of its tokens differ");
  for (const Block& b : blocks.blocks) find(b.place);
}

void SavedReference::load(const Block& block, std::size_t index) {
  block_ = find(block.place);
  const std::size_t size = block_bytes(header_, block.place);
  uint32_t crc = 0;
  std::memcpy(&crc, file_.bytes().data() + block_ + size, sizeof crc);
  CUPEL_CHECK(crc32c(file_.bytes().subspan(block_, size)) == crc, data, "'", file_.path(),
              "' is damaged: the checksum of block ", index, " differs");
}

TopRow SavedReference::row(std::size_t index) {
  const auto top = static_cast<std::size_t>(header_.top);
  const std::byte* at = file_.bytes().data() + block_ + index * row_bytes(header_);
  float log_target = 0, log_rest = 0;
  std::memcpy(&log_target, at, 4);
  std::memcpy(&log_rest, at + 4, 4);
  CUPEL_CHECK(std::isfinite(log_target) && !std::isnan(log_rest), data, "'", file_.path(),
              "' holds numbers that are no probabilities");
  log_p_.resize(top);
  std::memcpy(log_p_.data(), at + 8, 4 * top);
  ids_.resize(top);
  const std::size_t width = id_bytes(header_);
  for (std::size_t i = 0; i < top; ++i) {
    uint32_t id = 0;
    std::memcpy(&id, at + 8 + 4 * top + i * width, width);
    ids_[i] = static_cast<text::Token>(std::min<uint32_t>(id, 0x7FFFFFFF));
  }
  return {ids_, log_p_, log_rest, log_target};
}

void SavedReference::compare(std::size_t index, std::span<const float> model, const Place& place,
                             DivergenceMeter& meter) {
  meter.add(row(index), model, place);
}

}  // namespace cupel::eval
