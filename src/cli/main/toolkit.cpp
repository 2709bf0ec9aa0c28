// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// The program `cupel-toolkit`: what needs LibTorch. `cupel run ...` starts it.

#include <c10/util/Exception.h>

#include "base/error.h"
#include "cli/commands/toolkit.h"
#include "cli/main/options.h"
#include "cli/run/check.h"
#include "cli/run/state.h"

namespace cupel::cli {

namespace {

/// A c10::Error without its backtrace; out-of-memory on a device is the environment's fault.
int guarded_torch(const CommonOptions& common, const std::function<int()>& command) {
  return guarded(common, [&] {
    try {
      return command();
    } catch (const c10::OutOfMemoryError& e) {
      fail(Fault::environment, "the device is out of memory: ", e.what_without_backtrace());
    } catch (const c10::Error& e) {
      fail(Fault::internal, common.verbose ? e.what() : e.what_without_backtrace());
    }
  });
}

struct Program {
  CLI::App app{"Cupel's toolkit: recipes, methods and conversion.", "cupel"};
  CommonOptions common;
  RunOptions run;
  std::vector<std::string> settings;
  EvalCommand eval;
  MethodsCommand methods;
  SynthCommand synth;
  ConvertCommand convert;
  SensitivityCommand sensitivity;
  std::string verify;
  std::function<int()> action;

  Program() {
    app.set_version_flag("--version", version_line("cupel-toolkit"));
    app.require_subcommand(1);
    add_recipes();
    add_measures();
    add_files();
  }

  CLI::App* command(const char* name, const char* help, std::function<int()> body) {
    CLI::App* c = app.add_subcommand(name, help);
    c->callback([this, body = std::move(body)] { action = body; });
    return c;
  }

  void apply_settings() {
    for (const std::string& s : settings) {
      const std::size_t equals = s.find('=');
      CUPEL_CHECK(equals != std::string::npos && equals > 0, user, "--set needs a.b.c=VALUE, not '",
                  s, "'");
      run.settings.emplace_back(s.substr(0, equals), s.substr(equals + 1));
    }
    run.common = common;
  }

  void add_recipe_options(CLI::App& c) {
    c.add_option("RECIPE", run.recipe, "recipe file (YAML)")->required();
    c.add_option("--model", run.model,
                 "checkpoint to start from, instead of the recipe's model.path");
    c.add_option("--set", settings, "change a value of the recipe: a.b.c=VALUE (repeatable)");
    add_verbosity(c, common);
  }

  void add_recipes() {
    CLI::App* r = command("run", "run a recipe", [this] {
      apply_settings();
      return run_recipe(run);
    });
    add_recipe_options(*r);
    add_compute(*r, common);
    add_deterministic(*r, common);
    r->add_option("--out", run.out, "folder for everything that the run writes")->required();
    r->add_flag("--resume", run.resume, "go on with the run in --out");
    r->add_flag("--strict", run.strict,
                "a matrix that fell back (to plain rounding, to no scaling) is an error");

    CLI::App* c = command("check", "read a recipe and print its plan", [this] {
      apply_settings();
      return check_recipe(run, common.json);
    });
    add_recipe_options(*c);
    add_json(*c, common);

    CLI::App* m = command("methods", "list methods, layouts and formats, or the parameters of one",
                          [this] { return methods_command(common, methods); });
    m->add_option("METHOD", methods.method, "kind.method");
    m->add_flag("--markdown", methods.markdown, "everything, as the page docs/methods.md");
    add_json(*m, common);
    add_verbosity(*m, common);
  }

  int run_eval() {
    common.json = eval.json_file == "-";
    if (common.json) eval.json_file.clear();
    set_up_torch(common);
    return eval_command(common, eval, [this](const std::string& path, const std::string& engine) {
      return open_toolkit_subject(common, eval, path, engine);
    });
  }

  void add_measures() {
    add_eval(*command("eval", "perplexity, and divergence from another model",
                      [this] { return run_eval(); }),
             common, eval, false);
    CLI::App* c = command("compare", "one table for several models; the first is the reference",
                          [this] { return run_eval(); });
    add_eval(*c, common, eval, true);
    add_sensitivity(*command("sensitivity",
                             "how fragile each matrix is, and what changes do together",
                             [this] { return sensitivity_command(common, sensitivity); }));
  }

  void add_sensitivity(CLI::App& c) {
    c.add_option("MODEL", sensitivity.model, "a model with its tokenizer")->required();
    c.add_option("--text", sensitivity.text, "calibration text")->required();
    c.add_option("--samples", sensitivity.samples, "of the text")->check(CLI::Range(1, 1 << 20));
    c.add_option("--length", sensitivity.length, "tokens a sample")->check(CLI::Range(2, 1 << 20));
    c.add_option("--sketch", sensitivity.sketch, "signed sums of tokens that are kept")
        ->check(CLI::Range(8, 1024));
    c.add_option("--seed", sensitivity.seed, "of labels and signs")->check(CLI::NonNegativeNumber);
    c.add_option("--changed", sensitivity.changed,
                 "a changed copy of the model: its divergence is predicted (repeatable)");
    c.add_flag("--sampled", sensitivity.sampled,
               "predict it from the gradients of single sequences as well");
    add_compute(c, common);
    add_json(c, common);
    add_verbosity(c, common);
  }

  void add_files() {
    CLI::App* s = command("synth", "a model of a given shape with random weights",
                          [this] { return synth_command(common, synth); });
    s->add_option("CONFIG", synth.config, "a Hugging Face config.json")->required();
    s->add_option("--out", synth.out, "NAME.cupel for a packed artifact, else a folder")
        ->required();
    s->add_option("--layout", synth.layout,
                  "layout of the matrices, as in a recipe: '{uniform: {bits: 4, group: 64}}'");
    s->add_option("--seed", synth.seed, "seed of the weights")->check(CLI::NonNegativeNumber);
    s->add_option("--blocks", synth.blocks, "decoder layers, instead of the config's")
        ->check(CLI::NonNegativeNumber);
    add_verbosity(*s, common);

    CLI::App* i = command("import", "a GGUF file to a Hugging Face folder", [this] {
      convert.format = "safetensors";
      return convert_command(common, convert);
    });
    i->add_option("FILE", convert.model, "the file")->required();
    CLI::App* e = command("export", "a model to another format",
                          [this] { return convert_command(common, convert); });
    e->add_option("MODEL", convert.model, "a model")->required();
    e->add_option("--format", convert.format, "artifact or safetensors")->required();
    for (CLI::App* c : {i, e}) {
      c->add_option("--out", convert.out, "file or folder to write")->required();
      c->add_option("--dtype", convert.dtype, "auto, float32, float16 or bfloat16");
      add_verbosity(*c, common);
    }

    CLI::App* v = command("verify", "the HDF5 half of inspect --verify",
                          [this] { return verify_command(common, verify); });
    v->add_option("FILE", verify, "an artifact")->required();
    v->group("");
  }
};

}  // namespace

}  // namespace cupel::cli

int main(int argc, char** argv) {
  using namespace cupel::cli;
  Program program;
  if (const int code = parse(program.app, argc, argv); code >= 0) return code;
  return guarded_torch(program.common, program.action);
}
