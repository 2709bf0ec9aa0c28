// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "distill/methods.h"

#include "distill/opd.h"
#include "distill/train_lm.h"

namespace cupel::distill {

void register_train_methods(Registry<core::train::Trainable>& registry) {
  registry.add<TrainLm>("lm", "trains on text: cross entropy of the next token");
}

void register_distill_methods(Registry<core::train::Trainable>& registry) {
  registry.add<Opd>("opd",
                    "on-policy distillation: the student writes, the teacher corrects every token");
}

}  // namespace cupel::distill
