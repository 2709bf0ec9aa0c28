// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/yaml.h"
#include "cli/bits.h"
#include "cli/commands/toolkit.h"
#include "export/artifact_writer.h"
#include "export/safetensors_writer.h"
#include "format/layouts/dense.h"
#include "format/layouts/uniform.h"
#include "text/byte_tokenizer.h"

namespace cupel::cli {

namespace {

using format::Array;
using format::ElementType;

Choice layout_choice(const std::string& text) {
  Choice choice(format::layout_alternatives(), "uniform");
  const Document document = Document::from_text(text, "--layout");
  std::vector<Problem> problems;
  read_choice(document.root(), choice, problems);
  CUPEL_CHECK(problems.empty(), user, document.format(problems));
  return choice;
}

/// Random codes with scales that make weights of about N(0, 0.02^2) size.
format::WeightCode random_uniform(std::shared_ptr<const format::Layout> layout, int64_t rows,
                                  int64_t cols, Rng rng) {
  const auto& uniform = dynamic_cast<const format::UniformLayout&>(*layout);
  const int bits = uniform.bits_per_code();
  std::vector<uint8_t> codes(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i + 4 <= codes.size(); i += 4) {
    const uint32_t word = rng.next_u32();
    std::memcpy(&codes[i], &word, 4);
  }
  for (uint8_t& c : codes) c = static_cast<uint8_t>(c & ((1 << bits) - 1));
  const auto groups = static_cast<std::size_t>(rows * uniform.groups(cols));
  const double spread = std::ldexp(1.0, bits) / std::sqrt(12.0);
  const std::vector<uint16_t> scales(groups, format::f32_to_f16(static_cast<float>(0.02 / spread)));
  format::WeightCode code{std::move(layout), rows, cols, {}, {}};
  code.arrays["codes"] = Array::of<uint8_t>(ElementType::u8, {rows, cols}, codes);
  code.arrays["scales"] =
      Array::of<uint16_t>(ElementType::f16, {rows, uniform.groups(cols)}, scales);
  if (!uniform.symmetric()) {
    const std::vector<uint8_t> zeros(groups, static_cast<uint8_t>(1 << (bits - 1)));
    code.arrays["zeros"] = Array::of<uint8_t>(ElementType::u8, {rows, uniform.groups(cols)}, zeros);
  }
  return code;
}

std::vector<float> random_values(int64_t n, bool norm, Rng rng) {
  std::vector<float> out(static_cast<std::size_t>(n), 1.0f);
  if (!norm)
    for (float& x : out) x = static_cast<float>(0.02 * rng.normal());
  return out;
}

struct Shape {
  std::string name;
  bool matrix;
  int64_t rows, cols;
};

std::vector<Shape> shapes_of(const format::ModelConfig& config) {
  std::vector<Shape> out;
  for (const auto& id : format::weight_ids(config)) {
    const auto shape = config.shape_of(id.role);
    out.push_back({canonical_name(config.architecture(), id), shape.size() > 1,
                   shape.size() > 1 ? shape.front() : 1, shape.back()});
  }
  return out;
}

void write_packed(const SynthCommand& command, const format::ModelConfig& config,
                  const std::string& config_json) {
  const Choice choice = layout_choice(command.layout);
  const auto layout = format::make_layout(choice);
  export_::ArtifactContent content{
      config_json,
      config.vocab >= text::kByteVocabulary ? text::byte_tokenizer_json() : "",
      R"({"program":"cupel synth"})",
      {}};
  for (const Shape& s : shapes_of(config)) {
    const Rng rng(static_cast<uint64_t>(command.seed), s.name);
    const bool coded = s.matrix && layout->name() == "uniform";
    const auto* dense = dynamic_cast<const format::DenseLayout*>(layout.get());
    content.weights.push_back(
        {s.name,
         coded ? random_uniform(layout, s.rows, s.cols, rng)
               : format::dense_code(s.matrix && dense ? dense->type() : ElementType::f32, s.rows,
                                    s.cols, random_values(s.rows * s.cols, !s.matrix, rng))});
  }
  export_::write_artifact(command.out, content);
}

void write_folder(const SynthCommand& command, const format::ModelConfig& config,
                  const std::string& config_json) {
  std::vector<export_::OutputTensor> tensors;
  for (const Shape& s : shapes_of(config)) {
    const std::vector<int64_t> shape =
        s.matrix ? std::vector<int64_t>{s.rows, s.cols} : std::vector<int64_t>{s.cols};
    tensors.push_back(
        {s.name, shape, ElementType::bf16, [s, seed = command.seed](std::span<float> out) {
           const auto values =
               random_values(s.rows * s.cols, !s.matrix, Rng(static_cast<uint64_t>(seed), s.name));
           std::copy(values.begin(), values.end(), out.begin());
         }});
  }
  export_::write_hf_folder(
      command.out, tensors, config_json,
      config.vocab >= text::kByteVocabulary ? text::byte_tokenizer_json() : "");
}

}  // namespace

int synth_command(const CommonOptions&, const SynthCommand& command) {
  const std::string original = read_text(command.config);
  format::ModelConfig config =
      in_frame("reading " + command.config, [&] { return format::config_from_json(original); });
  if (command.blocks > 0) config.layers = command.blocks;
  const std::string config_json = format::config_to_json(config, original);
  command.out.ends_with(".cupel") ? write_packed(command, config, config_json)
                                  : write_folder(command, config, config_json);
  log::info("synth", cat("wrote ", command.out));
  return 0;
}

}  // namespace cupel::cli
