// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/blocks.h"

#include <algorithm>

#include "base/error.h"

namespace cupel::eval {

namespace {

using Tokens = std::vector<text::Token>;

void check_options(const PerplexityOptions& options, int64_t limit) {
  const int64_t shortest = options.protocol == Protocol::words  ? 1
                           : options.protocol == Protocol::gptq ? 2
                                                                : 3;
  CUPEL_CHECK(options.length >= shortest, user, "a block of ", options.length,
              " tokens leaves nothing to score; the protocol '", protocol_name(options.protocol),
              "' needs at least ", shortest);
  CUPEL_CHECK(options.length <= limit, user, "blocks of ", options.length,
              " tokens are longer than the model's ", limit, " positions");
  CUPEL_CHECK(options.blocks >= 0, user, "the number of blocks must be 0 (all) or more, not ",
              options.blocks);
}

/// How many blocks to take of `there`.
int64_t block_count(int64_t there, int64_t wanted, const std::string& name) {
  CUPEL_CHECK(wanted <= there, user, "'", name, "' has ", there, " blocks, fewer than the ", wanted,
              " asked for");
  return wanted > 0 ? wanted : there;
}

/// Blocks of `length`, the tail dropped; predictions from position `from` count.
std::vector<Block> cut(const Tokens& ids, const PerplexityOptions& options, int64_t from,
                       const std::string& name) {
  const int64_t length = options.length, there = static_cast<int64_t>(ids.size()) / length;
  CUPEL_CHECK(there > 0, user, "'", name, "' has ", ids.size(), " tokens, less than one block of ",
              length, "; use a smaller --length or more text");
  std::vector<Block> out;
  for (int64_t b = 0, count = block_count(there, options.blocks, name); b < count; ++b) {
    const auto begin = ids.begin() + b * length, end = begin + length;
    // The last token is only predicted: what follows it lies outside the block.
    out.push_back({Tokens(begin, end - 1), from, Tokens(begin + from + 1, end)});
  }
  return out;
}

/// Each token is scored once. Every window predicts the next `length` tokens and is given the one
/// before them; the last one is filled to the left with real context (lm-eval's rolling
/// log-likelihood).
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

/// The token that stands before a text: BOS, else EOS.
text::Token prefix_of(const text::Tokenizer& tokenizer) {
  if (tokenizer.bos() >= 0) return tokenizer.bos();
  CUPEL_CHECK(!tokenizer.end_tokens().empty(), data,
              "the tokenizer has neither BOS nor EOS to start a text with");
  return tokenizer.end_tokens().front();
}

bool adds_bos(const text::Tokenizer& tokenizer) {
  const Tokens ids = tokenizer.encode("a", {false, true});
  return tokenizer.bos() >= 0 && !ids.empty() && ids.front() == tokenizer.bos();
}

}  // namespace

std::vector<Block> blocks_of(const text::Tokenizer& tokenizer, std::string_view text,
                             const std::string& name, const PerplexityOptions& options,
                             int64_t limit) {
  check_options(options, limit);
  // A rolling window brings its own prefix.
  const Tokens ids = tokenizer.encode(text, {false, options.protocol != Protocol::words});
  switch (options.protocol) {
    case Protocol::gptq:
      return cut(ids, options, 0, name);
    case Protocol::llamacpp: {
      auto blocks = cut(ids, options, options.length / 2, name);
      if (adds_bos(tokenizer))
        for (Block& b : blocks) b.ids.front() = tokenizer.bos();
      return blocks;
    }
    case Protocol::words: {
      CUPEL_CHECK(!ids.empty(), user, "'", name, "' is empty");
      auto blocks = rolling(ids, prefix_of(tokenizer), options.length);
      const auto count = block_count(static_cast<int64_t>(blocks.size()), options.blocks, name);
      blocks.resize(static_cast<std::size_t>(count));
      return blocks;
    }
  }
  fail(Fault::internal, "no such protocol");
}

}  // namespace cupel::eval
