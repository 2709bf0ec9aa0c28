// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "kernels/row_transform.h"

#include "base/error.h"
#include "format/hadamard.h"
#include "format/weight_code.h"

namespace cupel::kernels {

RowTransform row_transform(const format::InputTransform& transform) {
  RowTransform t;
  if (!transform.signs.empty()) t.signs = transform.signs.data();
  if (!transform.scale.empty()) t.scale = transform.scale.data();
  if (transform.hadamard == 0) return t;
  const auto order = format::hadamard_order(transform.hadamard);
  CUPEL_CHECK(order, data, "transform '", transform.id, "': no Hadamard matrix of order ",
              transform.hadamard, " is known");
  t.block = transform.hadamard;
  t.factor = order->factor;
  if (t.factor > 1) t.matrix = format::hadamard_factor(t.factor).data();
  return t;
}

}  // namespace cupel::kernels
