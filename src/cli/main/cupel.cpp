// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// The program `cupel`: the runtime's commands here, everything that needs LibTorch in
// `cupel-toolkit`.

#include <algorithm>

#include "base/error.h"
#include "cli/commands/commands.h"
#include "cli/main/options.h"
#include "format/artifact.h"

namespace cupel::cli {

namespace {

void add_sampling(CLI::App& c, text::GenerateOptions& o) {
  c.add_option("--max-tokens", o.max_tokens, "tokens to write at most (-1: what fits)");
  c.add_option("--temperature", o.sampling.temperature, "0 always takes the best token")
      ->check(CLI::NonNegativeNumber);
  c.add_option("--top-k", o.sampling.top_k, "0 is off")->check(CLI::NonNegativeNumber);
  c.add_option("--top-p", o.sampling.top_p, "1 is off")->check(CLI::Range(0.0, 1.0));
  c.add_option("--min-p", o.sampling.min_p, "0 is off")->check(CLI::Range(0.0, 1.0));
  c.add_option("--repeat-penalty", o.sampling.repeat_penalty, "1 is off")
      ->check(CLI::PositiveNumber);
  c.add_option("--seed", o.sampling.seed, "seed of the draws");
  c.add_option("--stop", o.stop, "stop before this text (repeatable)");
  c.footer("Order of the sampler: penalties, top-k, top-p, min-p, temperature, draw.");
}

void add_draft(CLI::App& c, DraftOptions& o) {
  c.add_option("--draft", o.model,
               "a smaller model with the same tokenizer that guesses ahead: the same text, sooner");
  c.add_flag("--lookup", o.lookup,
             "guess what followed the latest words before: the same text, sooner where it repeats");
  c.add_option("--draft-tokens", o.tokens, "guessed at a time")->check(CLI::Range(1, 64));
}

/// Commands that the toolkit runs, with the line that --help shows.
const std::vector<std::pair<const char*, const char*>> kToolkit = {
    {"run", "run a recipe: compress a model, export it, prove what was kept"},
    {"check", "read a recipe and print its plan"},
    {"methods", "list methods, layouts and formats, or the parameters of one"},
    {"compare", "one table for several models"},
    {"sensitivity", "how fragile each matrix is, and what changes do together"},
    {"synth", "a model of a given shape with random weights"},
    {"import", "a GGUF file to a Hugging Face folder"},
    {"export", "a model to another format"}};

bool belongs_to_toolkit(int argc, char** argv) {
  if (argc < 2) return false;
  const std::string name = argv[1];
  for (const auto& [command, help] : kToolkit)
    if (name == command) return true;
  if (name != "eval" || !toolkit_is_there()) return false;
  // eval stays here for artifacts and servers, and where the runtime is asked for.
  const std::vector<std::string> args(argv + 2, argv + argc);
  const auto option = [&](const std::string& key) -> std::string {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (args[i] == key && i + 1 < args.size()) return args[i + 1];
      if (args[i].starts_with(key + "=")) return args[i].substr(key.size() + 1);
    }
    return "";
  };
  if (option("--engine") == "torch" || option("--against-engine") == "torch") return true;
  if (option("--engine") == "runtime") return false;
  const bool ours = std::any_of(args.begin(), args.end(), [](const std::string& a) {
    return a.ends_with(".cupel") || a.starts_with("http://") || a.starts_with("https://");
  });
  return !ours || !option("--against").empty();
}

Subject open_here(const CommonOptions& common, const EvalCommand& command, const std::string& path,
                  const std::string& engine) {
  CUPEL_CHECK(engine != "torch", environment,
              "--engine torch needs cupel-toolkit, which is not installed beside cupel");
  return open_runtime_subject(common, command, path);
}

struct Program {
  CLI::App app{"Cupel refines language models: smaller, faster, and proves what was kept.",
               "cupel"};
  CommonOptions common;
  GenerateCommand generate;
  ChatCommand chat;
  BenchCommand bench;
  LogitsCommand logits;
  InspectCommand inspect;
  TokenizeCommand tokenize;
  RenderCommand render;
  EvalCommand eval;
  std::function<int()> action;

  Program() {
    app.set_version_flag("--version", version_line("cupel"));
    app.require_subcommand(1);
    add_models();
    add_files();
    for (const auto& [name, help] : kToolkit) app.add_subcommand(name, help);
  }

  CLI::App* command(const char* name, const char* help, std::function<int()> run) {
    CLI::App* c = app.add_subcommand(name, help);
    c->callback([this, run = std::move(run)] { action = run; });
    return c;
  }

  void add_models() {
    CLI::App* g = command("generate", "continue a prompt",
                          [this] { return generate_command(common, generate); });
    add_runtime(*g, generate.runtime);
    g->add_option("--prompt", generate.prompt, "text, @FILE, or - for standard input")->required();
    g->add_flag("--special", generate.special,
                "special-token text in the prompt becomes special tokens");
    g->add_flag("--chat", generate.chat, "the prompt is a user's message: apply the chat template");
    g->add_option("--chat-template", generate.chat_template,
                  "a Jinja file to use instead of the model's template");
    add_sampling(*g, generate.options);
    add_draft(*g, generate.draft);
    add_compute(*g, common);
    add_json(*g, common);
    add_verbosity(*g, common);

    CLI::App* c = command("chat", "talk to a model", [this] { return chat_command(common, chat); });
    add_runtime(*c, chat.runtime);
    c->add_option("--system", chat.system, "system message");
    c->add_option("--chat-template", chat.chat_template,
                  "a Jinja file to use instead of the model's template");
    add_sampling(*c, chat.options);
    add_draft(*c, chat.draft);
    add_compute(*c, common);
    add_verbosity(*c, common);

    CLI::App* b = command("bench", "prompt and generation speed",
                          [this] { return bench_command(common, bench); });
    add_runtime(*b, bench.runtime);
    b->add_option("-p", bench.prompt, "prompt tokens (0: no prompt test)");
    b->add_option("-n", bench.generate, "generated tokens (0: no generation test)");
    b->add_option("-d", bench.depth, "tokens in the cache before");
    b->add_option("-r", bench.repeats, "repeats")->check(CLI::Range(1, 1000));
    add_compute(*b, common);
    add_json(*b, common);
    add_verbosity(*b, common);

    CLI::App* l = command("logits", "raw logits of each position",
                          [this] { return logits_command(common, logits); });
    logits.runtime.kv = "f32";
    add_runtime(*l, logits.runtime);
    l->add_option("--ids", logits.ids, "token ids: 1,2,3")->required();
    l->add_flag("--last", logits.last, "of the last position only");
    add_compute(*l, common);
    add_json(*l, common);
    add_verbosity(*l, common);

    CLI::App* e = command("eval", "perplexity, and divergence from another model", [this] {
      common.json = eval.json_file == "-";
      if (common.json) eval.json_file.clear();
      return eval_command(common, eval, [this](const std::string& path, const std::string& engine) {
        return open_here(common, eval, path, engine);
      });
    });
    add_eval(*e, common, eval, false);
  }

  void add_files() {
    CLI::App* i = command("inspect", "tensors, layouts and bits of a model or file",
                          [this] { return inspect_command(common, inspect); });
    i->add_option("MODEL", inspect.model, "a model, or a bare .safetensors or .gguf file")
        ->required();
    i->add_flag("--verify", inspect.verify,
                "check all checksums, and the index against the HDF5 view");
    add_json(*i, common);
    add_verbosity(*i, common);

    CLI::App* t = command("tokenize", "text to token ids and back",
                          [this] { return tokenize_command(common, tokenize); });
    t->add_option("MODEL", tokenize.model, "a model or a tokenizer file")->required();
    CLI::Option* text = t->add_option("TEXT", tokenize.text, "the text, @FILE, or -");
    t->add_option("--file", tokenize.file, "the bytes of this file are the text");
    t->add_option("--ids", tokenize.ids, "decode these ids: 1,2,3");
    t->add_flag("--special", tokenize.special, "special-token text becomes special tokens");
    t->add_flag("--bos", tokenize.bos, "add what the post-processor adds");
    t->parse_complete_callback([this, text] { tokenize.has_text = text->count() > 0; });
    add_json(*t, common);
    add_verbosity(*t, common);

    CLI::App* r = command("render", "a chat template rendered",
                          [this] { return render_command(common, render); });
    r->add_option("TEMPLATE", render.source, "a model or a template file (.jinja)")->required();
    r->add_option("--context", render.context, "JSON file with the variables")->required();
    add_verbosity(*r, common);
  }
};

int verified(const Program& program, char** argv) {
  const int code = guarded(program.common, program.action);
  if (code == 0 && program.inspect.verify && toolkit_is_there()) {
    char* args[] = {argv[0], const_cast<char*>("verify"),
                    const_cast<char*>(program.inspect.model.c_str()), nullptr};
    return guarded(program.common, [&]() -> int { exec_toolkit(args); });
  }
  return code;
}

}  // namespace

}  // namespace cupel::cli

int main(int argc, char** argv) {
  using namespace cupel::cli;
  if (belongs_to_toolkit(argc, argv)) return guarded({}, [&]() -> int { exec_toolkit(argv); });
  Program program;
  if (const int code = parse(program.app, argc, argv); code >= 0) return code;
  return verified(program, argv);
}
