// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <vector>

#include "distill/rollout.h"

namespace cupel::distill {

/// How much each position counts. Logits of position t predict token t + 1, so the positions of a
/// sequence that count lie in [prompt - 1, length - 1). Weights carry no gradient; several
/// weightings multiply.
class TokenWeighting {
 public:
  virtual ~TokenWeighting() = default;
  /// [n, t] float32 on the CPU, not negative.
  virtual at::Tensor weights_nt(const Rollout& rollout) const = 0;
};

/// 1 where a generated token is predicted, 0 on prompt and padding.
class GeneratedTokens : public TokenWeighting {
 public:
  at::Tensor weights_nt(const Rollout& rollout) const override;
};

/// How much each part of the data counts.
class DomainWeighting {
 public:
  virtual ~DomainWeighting() = default;
  virtual double weight(int64_t domain) const = 0;
};

/// All parts alike.
class EqualDomains : public DomainWeighting {
 public:
  double weight(int64_t) const override { return 1; }
};

}  // namespace cupel::distill
