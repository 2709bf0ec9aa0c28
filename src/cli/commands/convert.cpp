// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "cli/commands/toolkit.h"
#include "export/artifact_writer.h"
#include "export/hf_tensors.h"
#include "export/hf_tokenizer.h"
#include "export/safetensors_writer.h"
#include "format/artifact.h"
#include "format/checkpoint.h"
#include "format/layouts/dense.h"

namespace cupel::cli {

namespace {

using format::ElementType;

int64_t product(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

/// "auto" keeps what is stored where that is a plain type, and takes bf16 for what was quantized.
ElementType wanted_type(const std::string& dtype, const format::WeightInfo& w) {
  if (dtype == "float32") return ElementType::f32;
  if (dtype == "float16") return ElementType::f16;
  if (dtype == "bfloat16") return ElementType::bf16;
  CUPEL_CHECK(dtype == "auto", user, "--dtype must be auto, float32, float16 or bfloat16, not '",
              dtype, "'");
  if (w.stored_as == "f32" || !format::is_matrix(w.id.role)) return ElementType::f32;
  return w.stored_as == "f16" ? ElementType::f16 : ElementType::bf16;
}

std::vector<float> read_weight(const format::Checkpoint& checkpoint, const format::WeightInfo& w) {
  std::vector<float> values(static_cast<std::size_t>(product(w.shape)));
  checkpoint.read(w.name, values);
  return values;
}

void to_folder(const format::Checkpoint& checkpoint, const ConvertCommand& command) {
  const format::ModelConfig& config = checkpoint.config();
  const auto name_of = [&](const format::WeightId& id) {
    return format::canonical_name(config.architecture(), id);
  };
  std::vector<export_::OutputTensor> tensors = export_::hf_tensors(
      config,
      [&](const format::WeightId& id) {
        return wanted_type(command.dtype, *checkpoint.find(name_of(id)));
      },
      [&](const format::WeightId& id, std::span<float> out) { checkpoint.read(name_of(id), out); });
  for (auto& tensor : export_::passed_tensors(checkpoint)) tensors.push_back(std::move(tensor));
  export_::write_hf_folder(command.out, tensors, checkpoint.config_json(),
                           checkpoint.tokenizer_json());
  export_::copy_tokenizer_model(checkpoint.path(), command.out);
}

void to_artifact(const format::Checkpoint& checkpoint, const ConvertCommand& command) {
  CUPEL_CHECK(!format::is_artifact(checkpoint.path()), user, "'", checkpoint.path(),
              "' is an artifact already");
  export_::ArtifactContent content{
      checkpoint.config_json(), checkpoint.tokenizer_json(), R"({"program":"cupel export"})", {}};
  for (const auto& w : checkpoint.weights())
    content.weights.push_back({w.name, [&checkpoint, &command, &w] {
                                 const bool matrix = format::is_matrix(w.id.role);
                                 const auto values = read_weight(checkpoint, w);
                                 const int64_t rows = w.shape.size() > 1 ? w.shape.front() : 1;
                                 return format::dense_code(
                                     matrix ? wanted_type(command.dtype, w) : ElementType::f32,
                                     rows, static_cast<int64_t>(values.size()) / rows, values);
                               }});
  export_::write_artifact(command.out, content);
}

}  // namespace

int convert_command(const CommonOptions&, const ConvertCommand& command) {
  const auto checkpoint = format::Checkpoint::open(command.model);
  for (const std::string& note : checkpoint->notes()) log::info("model", note);
  if (command.format == "safetensors")
    to_folder(*checkpoint, command);
  else if (command.format == "artifact")
    to_artifact(*checkpoint, command);
  else
    fail(Fault::user, "unknown export format '", command.format,
         "' (known: artifact, safetensors)");
  log::info("export", cat("wrote ", command.out));
  return 0;
}

int verify_command(const CommonOptions&, const std::string& path) {
  export_::verify_artifact(path);
  log::info("inspect", "index, HDF5 view and all checksums agree");
  return 0;
}

}  // namespace cupel::cli
