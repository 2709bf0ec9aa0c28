// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <c10/core/GradMode.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/pipeline/quantize.h"
#include "core/tensor_util.h"
#include "export/artifact_writer.h"
#include "format/layouts/dense.h"
#include "tests/unit/core/tiny_model.h"
#include "tests/unit/quant/methods_for_test.h"

namespace cupel::quant::testing {

/// Quantizes with one step, or several, and keeps what an exporter needs.
struct PipelineRun {
  core::TemporaryFolder folder;
  core::UnitStore store;
  core::Model model;
  std::map<std::string, core::FinishedMatrix> done;

  PipelineRun(core::Model start, const std::vector<std::pair<std::string, std::string>>& steps)
      : store(folder / "run"), model(std::move(start)) {
    const c10::NoGradGuard no_grad;
    // Waking threads for matrices this small costs more than it saves.
    at::set_num_threads(1);
    std::vector<core::QuantStep> list;
    for (const auto& [method, yaml] : steps)
      list.push_back(
          {"quant." + method, testing::make(method, yaml),
           std::dynamic_pointer_cast<const core::QuantizerParams>(params_of(method, yaml))});
    std::vector<std::vector<int32_t>> samples;
    for (uint64_t n = 0; n < 8; ++n) samples.push_back(sample(n));
    core::QuantizeJob job{model, list, samples, "start", 3, store, done, {}};
    core::quantize_model(job);
  }

  /// Calibration sample n of 8.
  static std::vector<int32_t> sample(uint64_t n) { return tokens(48, 70 + n); }

  static std::vector<int32_t> tokens(int64_t count, uint64_t seed) {
    const at::Tensor ids = core::random_ids(1, count, 37, seed).to(at::kInt);
    const int32_t* first = ids.const_data_ptr<int32_t>();
    return {first, first + count};
  }

  /// `edit` sees each code before it is written.
  std::string write(
      const std::function<void(const std::string& name, format::WeightCode&)>& edit = {}) {
    export_::ArtifactContent content{format::config_to_json(model.config()), "", "{}", {}};
    for (const auto& [name, value] : model.named_weights()) {
      if (const auto found = done.find(name); found != done.end()) {
        content.weights.push_back({name, [this, &matrix = found->second, &edit] {
                                     format::WeightCode code = store.load_code(matrix);
                                     if (edit) edit(matrix.name, code);
                                     return code;
                                   }});
        continue;
      }
      const at::Tensor host = core::host_float(value);
      const int64_t rows = host.dim() > 1 ? host.size(0) : 1;
      content.weights.push_back({name, [host, rows] {
                                   return format::dense_code(format::ElementType::f32, rows,
                                                             host.numel() / rows,
                                                             core::floats(host));
                                 }});
    }
    const std::string path = folder / "model.cupel";
    export_::write_artifact(path, content);
    return path;
  }
};

}  // namespace cupel::quant::testing
