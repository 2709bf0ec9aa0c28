// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/recipe.h"

#include "base/error.h"

namespace cupel::cli {

namespace {

struct FileSource : Params {
  void visit(ParamVisitor&) override {}
};

const std::vector<Alternative>& model_sources() {
  static const std::vector<Alternative> list = {
      {"file", "the checkpoint at `path`", [] { return std::make_shared<FileSource>(); }},
      {"scratch", "a new model with random weights",
       [] { return std::make_shared<ScratchParams>(); }}};
  return list;
}

std::vector<std::string> names_of(const std::vector<Alternative>& list) {
  std::vector<std::string> out;
  for (const Alternative& a : list) out.push_back(a.name);
  return out;
}

/// The top level of a recipe, key by key, in any order.
class RecipeReader {
 public:
  RecipeReader(const Document& document, const Vocabulary& vocabulary)
      : document_(document), vocabulary_(vocabulary) {}

  Recipe read() {
    const Node root = document_.root();
    if (!root || !root.is_map()) {
      fail(Fault::user, document_.name(),
           ": a recipe is a mapping with the keys version, model, steps, ...; this is ",
           root ? root.kind() : "empty");
    }
    for (const auto& [key, value] : root.entries()) top_level(key, value);
    if (!seen("version")) problem(root, "'version' is missing; this program reads version: 1");
    if (!seen("model")) problem(root, "'model' is missing: model: {path: FILE}");
    check_model(root);
    if (!problems_.empty()) throw Error(Fault::user, document_.format(problems_));
    return std::move(recipe_);
  }

 private:
  bool seen(std::string_view key) const {
    return std::find(seen_.begin(), seen_.end(), key) != seen_.end();
  }

  void problem(const Node& at, std::string message) {
    problems_.push_back({at.line(), at.column(),
                         at.is_scalar() ? static_cast<int>(at.text().size()) : 1,
                         std::move(message)});
  }

  void top_level(const Node& key, const Node& value) {
    const std::string& name = key.text();
    if (seen(name)) return problem(key, cat("'", name, "' is given twice"));
    seen_.push_back(name);
    if (name == "version")
      read_version(value);
    else if (name == "model")
      read_params(value, recipe_.model, problems_);
    else if (name == "seed")
      read_seed(value);
    else if (name == "data")
      read_params(value, recipe_.data, problems_);
    else if (name == "steps")
      read_list(value, vocabulary_.steps, "step", recipe_.steps);
    else if (name == "export")
      read_list(value, vocabulary_.exports, "export format", recipe_.exports);
    else if (name == "evaluate")
      read_params(value, recipe_.evaluate, problems_);
    else
      unknown(key, {"version", "model", "seed", "data", "steps", "export", "evaluate"}, "key");
  }

  void unknown(const Node& key, const std::vector<std::string>& known, const char* what) {
    const std::string near = nearest_name(key.text(), known);
    problem(key, cat("unknown ", what, " '", key.text(), "'",
                     near.empty() ? "" : cat("; did you mean '", near, "'?"),
                     " (known: ", list_text(known), ")"));
  }

  void read_version(const Node& value) {
    if (!value.is_scalar() || value.text() != "1")
      problem(value, cat("this program reads recipes of version 1, not ", value.kind()));
  }

  void read_seed(const Node& value) {
    struct Seed : Params {
      int64_t seed = 0;
      void visit(ParamVisitor& v) override {
        v.field("seed", seed, "seed of everything random").in(0, 9e15);
      }
    } seed;
    // Read through the same machinery as every parameter, as the mapping {seed: value}.
    const Document one = Document::from_text(cat("seed: ", value.is_scalar() ? value.text() : "[]"),
                                             document_.name());
    std::vector<Problem> problems;
    read_params(one.root(), seed, problems);
    for (const Problem& p : problems) problem(value, p.message);
    recipe_.seed = seed.seed;
  }

  void read_list(const Node& list, const std::vector<Alternative>& known, const char* what,
                 std::vector<RecipeEntry>& out) {
    if (!list || list.is_null()) return;
    if (!list.is_list())
      return problem(list, cat("expected a list of ", what, "s, not ", list.kind()));
    for (const Node& item : list.items()) {
      if (item.is_scalar()) {
        add_entry(item, Node(), known, what, out);
      } else if (item.is_map() && item.entries().size() == 1) {
        add_entry(item.entries()[0].first, item.entries()[0].second, known, what, out);
      } else {
        problem(item, cat("each ", what, " is one `name: {parameters}`, not ",
                          item.is_map() ? cat("a mapping of ", item.entries().size(), " keys")
                                        : item.kind()));
      }
    }
  }

  void add_entry(const Node& key, const Node& value, const std::vector<Alternative>& known,
                 const char* what, std::vector<RecipeEntry>& out) {
    for (const Alternative& a : known) {
      if (a.name != key.text()) continue;
      RecipeEntry entry{a.name, a.make()};
      if (value && !value.is_null()) read_params(value, *entry.params, problems_);
      return out.push_back(std::move(entry));
    }
    unknown(key, names_of(known), what);
  }

  void check_model(const Node& root) {
    const Node model = root.find("model");
    if (!model) return;
    if (!recipe_.model.scratch() && recipe_.model.path.empty())
      problem(model, "'model.path' is missing: the checkpoint to start from");
    if (recipe_.model.scratch() && !recipe_.model.path.empty())
      problem(model, "'model.path' and 'model.from: scratch' exclude each other");
  }

  const Document& document_;
  const Vocabulary& vocabulary_;
  Recipe recipe_;
  std::vector<Problem> problems_;
  std::vector<std::string> seen_;
};

std::string entries_yaml(const char* name, const std::vector<RecipeEntry>& entries) {
  std::string out = cat(name, ":", entries.empty() ? " []\n" : "\n");
  for (const RecipeEntry& e : entries)
    out += cat("  - ", e.key, ": ", params_yaml(*e.params), "\n");
  return out;
}

}  // namespace

void ScratchParams::visit(ParamVisitor& v) {
  v.field("hidden", hidden, "width of the residual stream").in(8, 65536);
  v.field("layers", layers, "decoder layers").in(1, 1024);
  v.field("heads", heads, "query heads").in(1, 1024);
  v.field("kv_heads", kv_heads, "key and value heads").in(1, 1024);
  v.field("intermediate", intermediate, "width of the MLP").in(8, 1 << 20);
  v.field("positions", positions, "longest sequence").in(8, 1 << 20);
  v.check(hidden % heads == 0 && (hidden / heads) % 2 == 0,
          "hidden / heads must be an even whole number");
  v.check(heads % kv_heads == 0, "heads must be a multiple of kv_heads");
}

ModelParams::ModelParams() : from(model_sources(), "file") {}

void ModelParams::visit(ParamVisitor& v) {
  v.field("path", path, "Hugging Face folder, .gguf or .cupel; ~ and $VARIABLES are expanded");
  v.field("dtype", dtype,
          "type that weights are rounded to after reading: float32, bfloat16 or float16");
  v.field("compute", compute, "type of the arithmetic: float32, bfloat16 or float16");
  v.field("from", from, "where the model comes from");
  const auto is_type = [](const std::string& s) {
    return s == "float32" || s == "bfloat16" || s == "float16";
  };
  v.check(is_type(dtype) && is_type(compute),
          "dtype and compute must be float32, bfloat16 or float16");
}

void DataParams::visit(ParamVisitor& v) {
  v.field("calibration", calibration, "text whose activations guide quantization and pruning");
  v.field("train", train, "text file for train.* and distill.* steps");
}

void EvaluateParams::visit(ParamVisitor& v) {
  v.field("against", against, "original (divergence from the model before the steps) or none");
  list_field(v, "perplexity", perplexity, "texts to score, GPTQ protocol");
  v.field("prompts", prompts, "continued greedily by both models in the report");
  v.field("prompt_tokens", prompt_tokens, "length of those continuations").in(1, 4096);
  v.field("tasks", tasks, "tasks to run on both models: names or .yaml files");
  v.field("data", data, "folder of the tasks' data files");
  v.field("limit", limit, "first rows of a task; below 1 a share; 0 is all").in(0, 1e9);
  v.field("speed", speed, "measure the artifact's speed");
  v.check(tasks.empty() || !data.empty(), "tasks need data, the folder with their files");
  v.check(against == "original" || against == "none", "against must be original or none");
}

std::string Recipe::to_yaml() const {
  return cat("version: 1\nmodel: ", params_yaml(model), "\nseed: ", seed,
             "\ndata: ", params_yaml(data), "\n", entries_yaml("steps", steps),
             entries_yaml("export", exports), "evaluate: ", params_yaml(evaluate), "\n");
}

Recipe read_recipe(const Document& document, const Vocabulary& vocabulary) {
  return RecipeReader(document, vocabulary).read();
}

}  // namespace cupel::cli
