// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/yaml.h"
#include "cli/bits.h"
#include "cli/commands/toolkit.h"
#include "core/parallel.h"
#include "export/artifact_writer.h"
#include "export/safetensors_writer.h"
#include "format/layouts/dense.h"
#include "text/byte_tokenizer.h"

namespace cupel::cli {

namespace {

using format::Array;
using format::ElementType;

constexpr double kDeviation = 0.02;  // of random weights
constexpr int64_t kPiece = 1 << 16;  // weights of one stream of random numbers

Choice layout_choice(const std::string& text) {
  Choice choice(format::layout_alternatives(), "uniform");
  const Document document = Document::from_text(text, "--layout");
  std::vector<Problem> problems;
  read_choice(document.root(), choice, problems);
  CUPEL_CHECK(problems.empty(), user, document.format(problems));
  return choice;
}

/// Normal numbers to choose from with 16 bits. Computing each of the billions of weights of a large
/// model (Box and Muller, 55 ns) would take minutes.
std::vector<float> normal_table() {
  constexpr std::size_t kSize = 1 << 16;
  std::vector<float> table(kSize);
  Rng rng(0, "normal table");
  for (float& x : table) x = static_cast<float>(kDeviation * rng.normal());
  return table;
}

void fill_random(std::span<float> out, bool norm, const Rng& rng) {
  if (norm) {
    std::ranges::fill(out, 1.0f);
    return;
  }
  static const std::vector<float> table = normal_table();
  const auto n = static_cast<int64_t>(out.size());
  core::parallel_for(0, (n + kPiece - 1) / kPiece, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      Rng own = rng.child(static_cast<uint64_t>(piece));
      uint32_t draw = 0;
      for (int64_t i = piece * kPiece; i < std::min(n, (piece + 1) * kPiece); ++i) {
        draw = i % 2 == 0 ? own.next_u32() : draw >> 16;
        out[static_cast<std::size_t>(i)] = table[draw & 0xffff];
      }
    }
  });
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

format::WeightCode random_code(const Shape& s, std::shared_ptr<const format::Layout> layout,
                               Rng& rng) {
  if (!s.matrix)
    return format::dense_code(ElementType::f32, s.rows, s.cols,
                              std::vector<float>(static_cast<std::size_t>(s.cols), 1.0f));
  format::WeightCode code{.layout = std::move(layout), .rows = s.rows, .cols = s.cols};
  code.arrays = code.layout->random_arrays(s.rows, s.cols, kDeviation, rng);
  return code;
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
  for (const Shape& s : shapes_of(config))
    content.weights.push_back({s.name, [s, layout, seed = command.seed] {
                                 Rng rng(static_cast<uint64_t>(seed), s.name);
                                 return random_code(s, layout, rng);
                               }});
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
           fill_random(out, !s.matrix, Rng(static_cast<uint64_t>(seed), s.name));
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
