// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>

#include "core/model.h"

namespace cupel::distill {

/// When new rollouts are drawn, and how the teacher changes.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// True if `step` (from 0) draws new rollouts. Only before such a step can training resume: the
  /// student that wrote older ones is gone.
  virtual bool refresh(int64_t step) const = 0;
  /// After the update of `step`: a teacher that follows the student does it here.
  virtual void evolve(int64_t step, core::Model& student, core::Model& teacher) const = 0;
};

/// New rollouts every `updates` steps, a teacher that stays.
class FixedTeacher : public Schedule {
 public:
  explicit FixedTeacher(int64_t updates) : updates_(updates) {}
  bool refresh(int64_t step) const override { return step % updates_ == 0; }
  void evolve(int64_t, core::Model&, core::Model&) const override {}

 private:
  int64_t updates_;
};

}  // namespace cupel::distill
