#!/usr/bin/env python3
"""Tasks of `cupel eval` beside lm-eval (PyPI lm_eval, with torch and transformers) on the same model and rows.

Writes lm-eval's own prompts as task files over the local data, runs both, and compares every choice's log-likelihood,
every metric and its standard error, and the time. Prints a Markdown table; --results appends it to docs/results.md.

  bench/against_lm_eval.py --model FOLDER --data DIR --limit 300 [--device cuda] [--tasks piqa,arc_easy]
"""
import argparse, datetime, json, os, platform, subprocess, sys, tempfile, time

sys.path.pop(0)  # this folder: its tokenizers.py would hide the package

Q = "Question: {{question}}\nAnswer:"
MC = dict(output_type="multiple_choice")
BOTH = ["acc", "acc_norm"]


def one_of(text, choice, target, metrics=("acc",), **more):
    return dict(MC, doc_to_text=text, doc_to_choice=choice, doc_to_target=target, metrics=list(metrics), **more)


TASKS = {
    "piqa": ("eval/piqa_validation.jsonl", one_of("Question: {{goal}}\nAnswer:", "{{[sol1, sol2]}}", "label", BOTH)),
    "arc_easy": ("eval/arc_easy_test.jsonl", one_of(Q, "{{choices.text}}", "{{choices.label.index(answerKey)}}", BOTH)),
    "arc_challenge": ("eval/arc_challenge_test.jsonl",
                      one_of(Q, "{{choices.text}}", "{{choices.label.index(answerKey)}}", BOTH)),
    "hellaswag": ("eval/hellaswag_validation.jsonl.gz", one_of("query", "{{endings}}", "label", BOTH)),
    "winogrande": ("eval/winogrande_validation.jsonl", one_of("gold", "context_options", "continuation")),
    "wsc273": ("eval/winograd_wsc273.jsonl", one_of("gold", "context_options", "{{' ' + continuation}}")),
    "boolq": ("eval/boolq_validation.jsonl",
              one_of("{{passage}}\nQuestion: {{question}}?\nAnswer:", ["no", "yes"], "label")),
    "openbookqa": ("eval/openbookqa_test.jsonl",
                   one_of("question_stem", "{{choices.text}}", "{{choices.label.index(answerKey.lstrip())}}", BOTH)),
    "copa": ("eval/copa.jsonl", one_of("query", "{{[' ' + choices[0], ' ' + choices[1]]}}", "gold")),
    "siqa": ("eval/siqa.jsonl", one_of("query", "{{choices}}", "gold")),
    "commonsense_qa": ("eval/commonsense_qa.jsonl", one_of("query", "{{choices}}", "gold")),
    "lambada_openai": ("eval/lambada_openai_test.jsonl",
                       dict(output_type="loglikelihood", doc_to_text="{{text.split(' ')[:-1]|join(' ')}}",
                            doc_to_target="{{' '+text.split(' ')[-1]}}", metrics=["perplexity", "acc"])),
    "truthfulqa_mc1": ("eval/truthfulqa_mc.jsonl", one_of("TRUTH", "{{mc1_targets.choices}}", 0)),
    "truthfulqa_mc2": ("eval/truthfulqa_mc.jsonl", one_of("TRUTH", "{{mc2_targets.choices}}", 0, mc2=True)),
    "mmlu_high_school_geography": ("mmlu", one_of("MMLU", ["A", "B", "C", "D"], "answer")),
    "mmlu_philosophy:5": ("mmlu", one_of("MMLU", ["A", "B", "C", "D"], "answer")),
    "arc_easy:3": ("eval/arc_easy_test.jsonl",
                   one_of(Q, "{{choices.text}}", "{{choices.label.index(answerKey)}}", BOTH)),
    "gsm8k": ("eval/gsm8k_test.jsonl", dict(output_type="generate_until", doc_to_text=Q, doc_to_target="answer",
                                           metrics=["gsm8k"])),
    "triviaqa": ("eval/triviaqa_3000.jsonl", dict(output_type="generate_until", doc_to_text="{{context}}",
                                                 doc_to_target="{{aliases}}", metrics=["trivia"])),
}
MMLU = "{{question.strip()}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nC. {{choices[2]}}\nD. {{choices[3]}}\nAnswer:"


def truth_prompt():
    """lm-eval's prompt with its six fixed examples, from the installed package."""
    import lm_eval, yaml
    path = os.path.join(os.path.dirname(lm_eval.__file__), "tasks/truthfulqa/truthfulqa_mc1.yaml")
    return yaml.safe_load(open(path))["doc_to_text"]


def generation(kind):
    if kind == "gsm8k":
        steps = lambda **r: [dict(function="regex", **r), dict(function="take_first")]
        return dict(
            metric_list=[dict(metric="exact_match", aggregation="mean", higher_is_better=True, ignore_case=True,
                              ignore_punctuation=False,
                              regexes_to_ignore=[",", "\\$", "(?s).*#### ", "\\.$"])],
            generation_kwargs=dict(until=["Question:", "</s>", "<|im_end|>"], do_sample=False, temperature=0.0),
            filter_list=[dict(name="strict-match", filter=steps(regex_pattern="#### (\\-?[0-9\\.\\,]+)")),
                         dict(name="flexible-extract",
                              filter=steps(group_select=-1, regex_pattern="(-?[$0-9.,]{2,})|(-?[0-9]+)"))])
    return dict(
        metric_list=[dict(metric="exact_match", aggregation="mean", higher_is_better=True, ignore_case=True,
                          ignore_punctuation=True)],
        generation_kwargs=dict(until=["\n", ".", ","], do_sample=False, temperature=0.0),
        filter_list=[dict(name="remove_whitespace", filter=[dict(function="remove_whitespace"),
                                                            dict(function="take_first")])])


def lm_eval_task(folder, key, data):
    """A task file of lm-eval over the local rows; returns its name."""
    import yaml
    name, _, shots = key.partition(":")
    file, spec = TASKS[key]
    out = {k: v for k, v in spec.items() if k not in ("metrics", "mc2")}
    files = {}
    if file == "mmlu":
        subject = name[len("mmlu_"):]
        for split in ("test", "dev"):
            rows = [l for l in open(f"{data}/eval/mmlu_{split}.jsonl", encoding="utf-8") if json.loads(l)["subject"] == subject]
            files[split] = f"{folder}/{subject}.{split}.jsonl"
            open(files[split], "w", encoding="utf-8").writelines(rows)
        out.update(doc_to_text=MMLU, fewshot_split="dev", fewshot_config=dict(sampler="first_n"),
                   description="The following are multiple choice questions (with answers) about "
                               + " ".join(subject.split("_")) + ".\n\n")
    else:
        files["test"] = f"{data}/{file}"
    if out["doc_to_text"] == "TRUTH": out["doc_to_text"] = truth_prompt()
    if spec.get("mc2"):
        open(folder + "/utils.py", "w").write("from lm_eval.tasks.truthfulqa.utils import process_results_mc2\n")
    if name == "gsm8k":
        files["train"], shots = f"{data}/instruct/gsm8k_train.jsonl", "5"
        out.update(fewshot_split="train")
    if shots and "fewshot_split" not in out: out.update(fewshot_split="test")  # then a row is never its own shot
    own = "own_" + key.replace(":", "_")
    out.update(task=own, dataset_path="json", dataset_kwargs=dict(data_files=files), test_split="test",
               num_fewshot=int(shots or 0), metadata=dict(version=1))
    if spec["output_type"] == "generate_until":
        out.update(generation(spec["metrics"][0]))
    else:
        out["metric_list"] = [dict(metric=m, aggregation="perplexity" if m == "perplexity" else "mean",
                                   higher_is_better=m != "perplexity") for m in spec["metrics"]]
    text = yaml.safe_dump(out, sort_keys=False, allow_unicode=True)
    if spec.get("mc2"): text += "process_results: !function utils.process_results_mc2\n"
    open(f"{folder}/{own}.yaml", "w", encoding="utf-8").write(text)
    return own


def run_lm_eval(args, keys, folder):
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager
    names = {k: lm_eval_task(folder, k, args.data) for k in keys}
    manager = TaskManager(include_path=folder, include_defaults=False)
    model = HFLM(pretrained=args.model, dtype="float32", device=args.device, batch_size=args.batch)
    out = {}
    for key, name in names.items():
        start = time.time()
        limit = args.generations if TASKS[key][1]["output_type"] == "generate_until" else args.limit
        r = lm_eval.simple_evaluate(model=model, tasks=[name], limit=limit, log_samples=True, task_manager=manager,
                                    confirm_run_unsafe_code=False)
        out[key] = (r["results"][name], r["samples"][name], time.time() - start)
    return out


def run_cupel(args, key, folder):
    name, _, shots = key.partition(":")
    generated = TASKS[key][1]["output_type"] == "generate_until"
    samples, result = f"{folder}/samples.jsonl", f"{folder}/result.json"
    command = [args.cupel, "eval", args.model, "--tasks", name, "--data", args.data, "--limit",
               str(args.generations if generated else args.limit), "--samples", samples, "--json", result, "--engine",
               args.engine, "--dtype", "float32", "--device", args.device, "-q"] + (["--num-fewshot", shots] if shots else [])
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    task = next(iter(json.load(open(result))["tasks"].values()))
    return task, [json.loads(l) for l in open(samples, encoding="utf-8")]


def compare(key, theirs, ours):
    """Largest differences: log-likelihood a choice, metric, standard error; and rows whose greedy flags or replies differ."""
    result, samples, seconds = theirs
    task, rows = ours
    by_id = {r["doc_id"]: r for r in rows}
    worst, flips = 0.0, 0
    for s in samples:
        row = by_id[s["doc_id"]]
        if "reply" in row:
            flips += s["resps"][0][0] != row["reply"]
            continue
        pairs = [r[0] for r in s["resps"]]
        pairs = [tuple(p) if isinstance(p, (list, tuple)) else p for p in pairs]
        assert len(pairs) == len(row["ll"]), (key, s["doc_id"], len(pairs), len(row["ll"]))
        worst = max([worst] + [abs(float(p[0]) - l) for p, l in zip(pairs, row["ll"])])
        flips += [str(p[1]) == "True" for p in pairs] != row["greedy"]
    metric = error = 0.0
    shown = []
    for k, v in result.items():
        k, _, group = k.partition(",")
        if k.endswith("_stderr") or not isinstance(v, float): continue
        mine = k if group in ("none", "") else f"{k},{group}"
        if mine not in task and f"{k},{group}" in task: mine = f"{k},{group}"
        metric = max(metric, abs(v - task[mine]))
        e = result.get(f"{k}_stderr,{group}")
        if isinstance(e, float): error = max(error, abs(e - task[mine + "_stderr"]))
        shown.append(f"{mine} {task[mine]:.4f}")
    return dict(task=key, rows=len(rows), worst=worst, flips=flips, metric=metric, error=error, shown=", ".join(shown),
                their_s=seconds, our_s=task["seconds"])


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--cupel", default="build/release/bin/cupel")
    a.add_argument("--model", required=True, help="a Hugging Face folder")
    a.add_argument("--data", required=True)
    a.add_argument("--tasks", default="all")
    a.add_argument("--limit", type=int, default=300)
    a.add_argument("--generations", type=int, default=40, help="rows of generation tasks")
    a.add_argument("--device", default="cpu")
    a.add_argument("--engine", default="torch")
    a.add_argument("--batch", default=16, type=int, help="lm-eval's batch")
    a.add_argument("--results", help="append the table to this file")
    args = a.parse_args()
    keys = list(TASKS) if args.tasks == "all" else args.tasks.split(",")
    with tempfile.TemporaryDirectory() as folder:
        theirs = run_lm_eval(args, keys, folder)
        lines = ["| task | rows | largest difference of a log-likelihood | of a metric | of its error | flips | metrics | lm-eval s | Cupel s |",
                 "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |"]
        bad = 0
        for key in keys:
            r = compare(key, theirs[key], run_cupel(args, key, folder))
            bad += r["worst"] > 2e-3 or r["metric"] > 1e-3 or r["flips"] > 0
            lines.append("| {task} | {rows} | {worst:.1e} | {metric:.1e} | {error:.1e} | {flips} | {shown} | {their_s:.1f} | {our_s:.1f} |".format(**r))
            print(lines[-1], flush=True)
    print("\n".join(lines))
    if args.results:
        with open(args.results, "a", encoding="utf-8") as f:
            f.write(f"\n{datetime.date.today()}, {platform.processor() or platform.machine()}, {args.device}: "
                    f"`{' '.join(['bench/against_lm_eval.py'] + sys.argv[1:])}`\n\n" + "\n".join(lines) + "\n")
    print(f"{bad} of {len(keys)} tasks differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
