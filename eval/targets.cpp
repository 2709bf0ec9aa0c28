// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/targets.h"

#include "base/error.h"
#include "eval/tally.h"

namespace cupel::eval {

PerplexityResult measure_targets(TargetModel& model, const TextJob& job) {
  CUPEL_ASSERT(job.models.empty());
  CUPEL_CHECK(!job.reference && !job.saved, user,
              "divergence needs the logits of the whole vocabulary at every position; ",
              model.description(), " tells the probabilities of given tokens alone");
  CUPEL_CHECK(job.save_reference.empty(), user,
              "a reference file keeps the most probable tokens of every position; ",
              model.description(), " tells the probabilities of given tokens alone");
  const TextBlocks text = blocks_of(job, model.max_length());
  std::vector<std::vector<double>> log_probs(text.blocks.size());
  int64_t done = 0;
  model.score_blocks(text.blocks, [&](std::size_t block, std::span<const double> values) {
    log_probs[block].assign(values.begin(), values.end());
    if (job.advance) job.advance(++done, static_cast<int64_t>(text.blocks.size()));
  });
  Tally tally;  // in the order of the text, whatever the order of the answers
  for (std::size_t b = 0; b < text.blocks.size(); ++b) tally.add(text.blocks[b], log_probs[b]);
  return tally.result(job.corpus, text.list, *job.tokenizer);
}

}  // namespace cupel::eval
