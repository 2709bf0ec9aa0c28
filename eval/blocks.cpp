// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/blocks.h"

#include <algorithm>

#include "base/error.h"

namespace cupel::eval {

namespace {

using Tokens = std::vector<text::Token>;

void check_count(std::size_t tokens, int64_t length, const std::string& name) {
  CUPEL_CHECK(static_cast<int64_t>(tokens) >= length, user, "'", name, "' has ", tokens, " tokens, less than one block of ",
              length, "; use a smaller --length or more text");
}

/// How many blocks to take of `there`.
int64_t block_count(int64_t there, int64_t wanted, const std::string& name) {
  CUPEL_CHECK(wanted <= there, user, "'", name, "' has ", there, " blocks, fewer than the ", wanted, " asked for");
  return wanted > 0 ? wanted : there;
}

std::vector<Block> cut(const Tokens& ids, int64_t length, int64_t count, int64_t from) {
  std::vector<Block> out;
  for (int64_t b = 0; b < count; ++b) {
    Block block{Tokens(ids.begin() + b * length, ids.begin() + (b + 1) * length), from, {}};
    // The last position predicts a token outside the block: it is not scored.
    block.targets.assign(block.ids.begin() + from + 1, block.ids.end());
    out.push_back(std::move(block));
  }
  return out;
}

/// Each token is scored once. Every window predicts the next `length` tokens and is given the one before them; the last
/// one is filled to the left with real context (lm-eval's rolling log-likelihood).
std::vector<Block> rolling(const Tokens& text, text::Token prefix, int64_t length) {
  Tokens all = {prefix};
  all.insert(all.end(), text.begin(), text.end());
  const auto n = static_cast<int64_t>(text.size());
  std::vector<Block> out;
  for (int64_t begin = 0; begin < n; begin += length) {
    const int64_t end = std::min(begin + length, n);
    const int64_t start = end == n ? std::max<int64_t>(0, n - length) : begin;
    Block block{Tokens(all.begin() + start, all.begin() + end), begin - start, {}};
    block.targets.assign(all.begin() + begin + 1, all.begin() + end + 1);
    out.push_back(std::move(block));
  }
  return out;
}

}  // namespace

std::vector<Block> blocks_of(const text::Tokenizer& tokenizer, std::string_view text, const std::string& name,
                             const PerplexityOptions& options, int64_t limit) {
  CUPEL_CHECK(options.length <= limit, user, "blocks of ", options.length, " tokens are longer than the model's ", limit,
              " positions");
  const Tokens ids = tokenizer.encode(text, {false, options.protocol == Protocol::gptq});
  const auto there = static_cast<int64_t>(ids.size()) / options.length;
  switch (options.protocol) {
    case Protocol::gptq:
      check_count(ids.size(), options.length, name);
      return cut(ids, options.length, block_count(there, options.blocks, name), 0);
    case Protocol::llamacpp: {
      check_count(ids.size(), options.length, name);
      const bool adds_bos = tokenizer.bos() >= 0 && !tokenizer.encode("a", {false, true}).empty() &&
                            tokenizer.encode("a", {false, true}).front() == tokenizer.bos();
      auto blocks = cut(ids, options.length, block_count(there, options.blocks, name), options.length / 2);
      if (adds_bos)
        for (Block& b : blocks) b.ids.front() = tokenizer.bos();
      return blocks;
    }
    case Protocol::words: {
      CUPEL_CHECK(!ids.empty(), user, "'", name, "' is empty");
      text::Token prefix = tokenizer.bos();
      if (prefix < 0 && !tokenizer.end_tokens().empty()) prefix = tokenizer.end_tokens().front();
      CUPEL_CHECK(prefix >= 0, data, "the tokenizer has neither BOS nor EOS to start a text with");
      auto blocks = rolling(ids, prefix, options.length);
      const auto count = block_count(static_cast<int64_t>(blocks.size()), options.blocks, name);
      blocks.resize(static_cast<std::size_t>(count));
      return blocks;
    }
  }
  fail(Fault::internal, "no such protocol");
}

}  // namespace cupel::eval
