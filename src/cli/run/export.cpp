// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "cli/catalog.h"
#include "cli/run/state.h"
#include "cli/version.h"
#include "core/tensor_util.h"
#include "core/transform.h"
#include "export/artifact_writer.h"
#include "export/hf_tensors.h"
#include "export/hf_tokenizer.h"
#include "export/safetensors_writer.h"
#include "format/layouts/dense.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;
using format::ElementType;

ElementType dense_type(const std::string& name, const RunState& state) {
  const std::string& wanted = name == "auto" ? state.recipe.model.dtype : name;
  if (wanted == "bfloat16") return ElementType::bf16;
  if (wanted == "float16") return ElementType::f16;
  return ElementType::f32;
}

/// What the artifact says of its own making: no dates, paths or durations, so that equal runs give
/// equal bytes.
std::string manifest(const RunState& state) {
  const nlohmann::ordered_json json = {
      {"program", "cupel " + version()},
      {"model_key", state.key},
      {"source", state.source ? state.source->fingerprint() : "scratch"},
      {"seed", state.recipe.seed},
      {"recipe_sha256", Sha256().add(state.recipe.to_yaml()).hex()}};
  return json.dump();
}

std::string config_json(const RunState& state) {
  return format::config_to_json(state.model->config(),
                                state.source ? state.source->config_json() : "");
}

/// A weight as the artifact holds it: its codes from the run folder, or its values.
format::WeightCode code_of(RunState& state, const format::WeightId& id, ElementType dense) {
  const std::string name = canonical_name(state.model->config().architecture(), id);
  if (const auto code = state.codes.find(name); code != state.codes.end())
    return state.store->load_code(code->second);
  const bool matrix = format::is_matrix(id.role);
  // What an artifact says of a matrix's input stays, also where the matrix is written plainly.
  const auto input = matrix ? state.model->input_of(id) : nullptr;
  const at::Tensor value = state.model->peek(id);
  const at::Tensor host =
      core::host_float(input ? core::transform_weight(input->transform, value) : value);
  const int64_t rows = host.dim() > 1 ? host.size(0) : 1;
  format::WeightCode code = format::dense_code(matrix ? dense : ElementType::f32, rows,
                                               host.numel() / rows, core::floats(host));
  if (input) code.input = input->transform;
  if (input) code.rounding = input->rounding;
  return code;
}

void export_artifact(RunState& state, const ArtifactExport& params) {
  export_::ArtifactContent content{config_json(state), state.tokenizer_json, manifest(state), {}};
  const ElementType dense = dense_type(params.dense, state);
  for (const auto& id : format::weight_ids(state.model->config()))
    content.weights.push_back({canonical_name(state.model->config().architecture(), id),
                               [&state, id, dense] { return code_of(state, id, dense); }});
  state.artifact = state.path(params.path);
  make_folder(fs::path(state.artifact).parent_path().string());
  export_::write_artifact(state.artifact, content);
  state.report.files.emplace_back("artifact", state.artifact);
}

/// A plain checkpoint can't say that inputs are rounded.
void refuse_rounded_inputs(RunState& state) {
  for (const format::WeightId id : format::weight_ids(state.model->config())) {
    if (!format::is_matrix(id.role)) continue;
    const auto input = state.model->input_of(id);
    CUPEL_CHECK(!input, user, "safetensors can't say how inputs are rounded, but ",
                canonical_name(state.model->config().architecture(), id), " reads them as ",
                description(input->rounding), "; export an artifact, or choose activations: none");
  }
}

void export_safetensors(RunState& state, const SafetensorsExport& params) {
  refuse_rounded_inputs(state);
  std::vector<export_::OutputTensor> tensors = export_::hf_tensors(
      state.model->config(),
      [&](const format::WeightId&) { return dense_type(params.dtype, state); },
      [&](const format::WeightId& id, std::span<float> out) {
        const at::Tensor host = core::host_float(state.model->peek(id));
        const auto values = core::floats(host);
        std::copy(values.begin(), values.end(), out.begin());
      });
  if (state.source)
    for (auto& tensor : export_::passed_tensors(*state.source))
      tensors.push_back(std::move(tensor));
  const std::string folder = state.path(params.path);
  export_::write_hf_folder(folder, tensors, config_json(state), state.tokenizer_json);
  if (state.source && state.source->tokenizer_json() == state.tokenizer_json)
    export_::copy_tokenizer_model(state.source->path(), folder);
  state.report.files.emplace_back("safetensors", folder);
}

}  // namespace

void run_exports(RunState& state) {
  for (const RecipeEntry& entry : state.recipe.exports) {
    log::info("export", entry.key);
    in_frame("exporting " + entry.key, [&] {
      if (const auto* p = dynamic_cast<const ArtifactExport*>(entry.params.get()))
        export_artifact(state, *p);
      else if (const auto* q = dynamic_cast<const SafetensorsExport*>(entry.params.get()))
        export_safetensors(state, *q);
    });
  }
}

}  // namespace cupel::cli
