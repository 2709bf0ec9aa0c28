// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bits.h"
#include "cli/commands/commands.h"
#include "eval/table.h"
#include "format/artifact.h"
#include "format/checkpoint.h"
#include "format/container.h"

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct Row {
  std::string name, layout, shape;
  std::vector<int64_t> dims;
  int64_t elements = 0, bytes = 0;
};

struct Inspection {
  std::string kind;
  ModelSize size;
  std::vector<Row> rows;
  std::vector<std::string> notes;
};

int64_t product(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

/// A file whose architecture we do not need to know: validated and listed.
Inspection inspect_container(const std::string& path) {
  const auto container = format::open_container(path);
  Inspection out{container->kind(), {}, {}, container->notes()};
  out.size.file_bytes = static_cast<int64_t>(fs::file_size(path));
  for (const auto& t : container->tensors()) {
    out.rows.push_back({t.name, std::string(format::traits(t.type).name), list_text(t.shape),
                        t.shape, t.elements(), static_cast<int64_t>(t.bytes.size())});
    out.size.parameters += t.elements();
  }
  return out;
}

Inspection inspect_model(const std::string& path) {
  const auto checkpoint = format::Checkpoint::open(path);
  Inspection out{checkpoint->kind(), size_of(*checkpoint), {}, checkpoint->notes()};
  for (const auto& w : checkpoint->weights())
    out.rows.push_back(
        {w.name, w.stored_as, list_text(w.shape), w.shape, product(w.shape), w.bytes});
  return out;
}

/// Layouts of an artifact in words ("3-bit g64 asym") rather than by name.
void describe_layouts(const std::string& path, Inspection& inspection) {
  const auto artifact = format::Artifact::open(path);
  for (std::size_t i = 0; i < artifact->tensors().size() && i < inspection.rows.size(); ++i)
    for (auto& row : inspection.rows)
      if (const auto& tensor = artifact->tensors()[i]; row.name == tensor.name)
        row.layout = cat(tensor.layout->description(), tensor.rounding.none() ? "" : ", inputs ",
                         description(tensor.rounding));
}

double bits(const Row& row) {
  return row.elements ? 8.0 * static_cast<double>(row.bytes) / static_cast<double>(row.elements)
                      : 0;
}

void print_json(const Inspection& in) {
  ordered_json tensors = ordered_json::array();
  for (const Row& r : in.rows)
    tensors.push_back({{"name", r.name},
                       {"layout", r.layout},
                       {"shape", r.dims},
                       {"bits_per_weight", bits(r)},
                       {"bytes", r.bytes}});
  const ordered_json out = {{"kind", in.kind},
                            {"bytes", in.size.file_bytes},
                            {"parameters", in.size.parameters},
                            {"bits_per_weight", in.size.bits_per_weight()},
                            {"bits_per_weight_matrices", in.size.bits_per_weight_matrices()},
                            {"tensors", tensors},
                            {"notes", in.notes}};
  print_out(out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void print_text(const Inspection& in) {
  eval::Table table{{"tensor", "layout", "shape", "bits/weight", "bytes"}, {}};
  for (const Row& r : in.rows)
    table.rows.push_back({r.name, r.layout, r.shape, fixed(bits(r), 3), cat(r.bytes)});
  std::string text = table.text();
  text += cat(in.kind, ", ", human_bytes(static_cast<double>(in.size.file_bytes)), ", ",
              in.size.parameters, " parameters, ", fixed(in.size.bits_per_weight(), 3),
              " bits a weight, everything counted");
  if (in.size.matrix_parameters > 0)
    text += cat(" (quantized matrices alone ", fixed(in.size.bits_per_weight_matrices(), 3), ")");
  text += "\n";
  for (const std::string& n : in.notes) text += cat("note: ", n, "\n");
  print_out(text);
}

}  // namespace

int inspect_command(const CommonOptions& common, const InspectCommand& command) {
  const bool artifact = fs::is_regular_file(command.model) && format::is_artifact(command.model);
  const bool bare = fs::is_regular_file(command.model) && !artifact;
  CUPEL_CHECK(!command.verify || artifact, user, "--verify checks artifacts (.cupel); '",
              command.model, "' is none");
  Inspection inspection = bare ? inspect_container(command.model) : inspect_model(command.model);
  if (artifact) describe_layouts(command.model, inspection);
  if (command.verify) format::Artifact::open(command.model)->verify();
  common.json ? print_json(inspection) : print_text(inspection);
  return 0;
}

}  // namespace cupel::cli
