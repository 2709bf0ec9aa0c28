// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "core/quantizer.h"

#include "base/error.h"
#include "core/activations.h"
#include "core/planner.h"
#include "core/transform.h"

namespace cupel::core {

QuantizerParams::QuantizerParams()
    : layout(format::layout_alternatives(), "uniform"),
      transform(transform_alternatives(), "none"),
      activations(activation_alternatives(), "none") {}

void QuantizerParams::visit(ParamVisitor& v) {
  v.field("layers", layers,
          "globs over names of decoder matrices, with commas between them; embedding and head only "
          "when "
          "named in full");
  v.field("layout", layout, "what the packed bits mean");
  v.field("transform", transform, "change of basis of the inputs before rounding");
  v.field("activations", activations,
          "how the inputs of the multiplication are rounded at run time, after the transform");
}

std::string group_id(const format::Architecture& arch, const format::WeightId& first) {
  std::string id = canonical_name(arch, first);
  const std::string suffix = ".weight";
  if (id.ends_with(suffix)) id.resize(id.size() - suffix.size());
  return id;
}

void add_note(MatrixResult& result, const std::string& note) {
  if (!note.empty()) result.note += cat(result.note.empty() ? "" : ", ", note);
}

std::string Quantizer::description() const {
  return layout()->description();
}

int64_t Quantizer::expected_bits(int64_t rows, int64_t cols) const {
  return layout()->bits(rows, cols);
}

std::unique_ptr<Planner> Quantizer::planner(const Rng&) const {
  return nullptr;
}

std::shared_ptr<const Quantizer> Quantizer::planned(const std::string&) const {
  fail(Fault::internal, "this method makes no plan");
}

}  // namespace cupel::core
