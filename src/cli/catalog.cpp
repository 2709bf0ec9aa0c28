// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/catalog.h"

#include "distill/methods.h"
#include "prune/methods.h"
#include "quant/methods.h"

namespace cupel::cli {

namespace {

template <class Interface>
void append(const char* kind, const Registry<Interface>& registry, std::vector<Alternative>& out) {
  for (const auto& e : registry.entries()) out.push_back({cat(kind, ".", e.name), e.doc, e.params});
}

}  // namespace

void ArtifactExport::visit(ParamVisitor& v) {
  v.field("path", path, "file to write, inside the run folder unless absolute");
  v.field("dense", dense,
          "type of weights that were not quantized: auto (the model's dtype), float32, bfloat16, "
          "float16");
  v.check(dense == "auto" || dense == "float32" || dense == "bfloat16" || dense == "float16",
          "dense must be auto, float32, bfloat16 or float16");
}

void SafetensorsExport::visit(ParamVisitor& v) {
  v.field("path", path, "folder to write, inside the run folder unless absolute");
  v.field("dtype", dtype,
          "auto (the model's dtype), float32, bfloat16, float16; quantized matrices are written "
          "decoded");
  v.check(dtype == "auto" || dtype == "float32" || dtype == "bfloat16" || dtype == "float16",
          "dtype must be auto, float32, bfloat16 or float16");
}

Catalog::Catalog() {
  quant::register_methods(quant);
  prune::register_methods(prune);
  distill::register_train_methods(train);
  distill::register_distill_methods(distill);
  exports = {{"artifact", "one packed file for the bundled runtime",
              [] { return std::make_shared<ArtifactExport>(); }},
             {"safetensors", "a Hugging Face folder with plain weights",
              [] { return std::make_shared<SafetensorsExport>(); }}};
}

Vocabulary Catalog::vocabulary() const {
  Vocabulary v;
  append("quant", quant, v.steps);
  append("prune", prune, v.steps);
  append("train", train, v.steps);
  append("distill", distill, v.steps);
  v.exports = exports;
  return v;
}

const Catalog& catalog() {
  static const Catalog instance;
  return instance;
}

}  // namespace cupel::cli
