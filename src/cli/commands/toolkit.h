// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <vector>

#include "cli/commands/common.h"
#include "cli/commands/eval.h"

namespace cupel::cli {

/// LibTorch's threads and determinism, before it is used. It may use the processors that we may
/// really use, not all that it sees.
void set_up_torch(const CommonOptions& common);

/// A subject on LibTorch (or the runtime, where the command says so).
Subject open_toolkit_subject(const CommonOptions& common, const EvalCommand& command,
                             const std::string& path, const std::string& engine);

struct MethodsCommand {
  std::string method;  ///< "" lists all
  bool markdown = false;
};
int methods_command(const CommonOptions& common, const MethodsCommand& command);

struct SynthCommand {
  std::string config, out;
  std::string layout =
      "uniform";  ///< a layout as in a recipe: `uniform` or `{uniform: {bits: 3}}`; `dense` too
  int64_t seed = 0;
  int64_t blocks = 0;  ///< decoder layers instead of the config's; 0 keeps
};
/// A packed artifact (out ends in .cupel) or a Hugging Face folder of the config's shape with
/// random weights.
int synth_command(const CommonOptions& common, const SynthCommand& command);

struct ConvertCommand {
  std::string model, format, out, dtype = "auto";
};
/// `import` (GGUF to a folder) and `export` (any model to a format).
int convert_command(const CommonOptions& common, const ConvertCommand& command);

struct SensitivityCommand {
  std::string model, text;
  int64_t samples = 64, length = 256, sketch = 64, seed = 17;
  std::vector<std::string> changed;  ///< models whose damage is to be predicted
  bool sampled = false;              ///< also by gradients of single sequences
};
/// How fragile each matrix is, and what changes of several do together (core/cross_layer.h).
int sensitivity_command(const CommonOptions& common, const SensitivityCommand& command);

/// The HDF5 half of `inspect --verify`.
int verify_command(const CommonOptions& common, const std::string& path);

}  // namespace cupel::cli
