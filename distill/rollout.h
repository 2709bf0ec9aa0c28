// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/params.h"
#include "base/rng.h"
#include "core/model.h"

namespace cupel::distill {

/// Sequences whose states a step learns from. Lengths, never ids, say what counts: sequence r has
/// prompt[r] given tokens and length[r] tokens in all; what lies behind is padding.
struct Rollout {
  at::Tensor ids_nt;  ///< int64
  std::vector<int64_t> prompt, length;
  std::vector<int64_t> domain;  ///< which part of the data a sequence is from
  int64_t sequences() const { return ids_nt.size(0); }
};

/// Where states come from: the student, a teacher, text, or mixtures. The answer depends on the
/// step, the stream and the student's weights alone.
class RolloutSource {
 public:
  virtual ~RolloutSource() = default;
  virtual Rollout roll(core::Model& student, int64_t step, const Rng& rng) const = 0;
};

enum class RolloutWriter { student, text };

struct RolloutParams : Params {
  RolloutWriter writer = RolloutWriter::student;
  int64_t prompt = 32, tokens = 128;
  double temperature = 1;
  int64_t updates = 1;
  void visit(ParamVisitor& v) override;
};

/// Prompts are windows of `text` at random places; the student goes on from there.
class StudentRollout : public RolloutSource {
 public:
  StudentRollout(const std::vector<int64_t>& text, const RolloutParams& params, int64_t batch)
      : text_(text), params_(params), batch_(batch) {}
  Rollout roll(core::Model& student, int64_t step, const Rng& rng) const override;

 private:
  const std::vector<int64_t>& text_;
  RolloutParams params_;
  int64_t batch_;
};

/// The same windows with the text's own continuation: off-policy, no generation.
class TextRollout : public RolloutSource {
 public:
  TextRollout(const std::vector<int64_t>& text, const RolloutParams& params, int64_t batch)
      : text_(text), params_(params), batch_(batch) {}
  Rollout roll(core::Model& student, int64_t step, const Rng& rng) const override;

 private:
  const std::vector<int64_t>& text_;
  RolloutParams params_;
  int64_t batch_;
};

std::unique_ptr<RolloutSource> make_rollout_source(const std::vector<int64_t>& text,
                                                   const RolloutParams& params, int64_t batch);

/// `batch` windows of `length` tokens at places that depend on (rng, step, sequence) alone.
/// Fault::user if the text is shorter than a window.
at::Tensor random_windows(const std::vector<int64_t>& text, int64_t batch, int64_t length,
                          int64_t step, const Rng& rng);

}  // namespace cupel::distill
