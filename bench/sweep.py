#!/usr/bin/env python3
"""Bits against divergence for the real model: one command writes the table into docs/results.md.

  bench/sweep.py [--bits 2,3,4,5,6,8] [--device cuda] [--out runs/sweep] [--no-docs]

Every cell is one `cupel run`: calibration on data/calibration.txt, artifact, evaluation of the artifact against the
original on data/heldout.txt (GPTQ protocol, blocks of 1024). Embedding and head stay bf16, so that the column "matrices"
is what the methods differ in. Finished cells are kept and not run again.
"""
import argparse, concurrent.futures, datetime, json, os, pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("CUPEL_BIN", ROOT / "build/release/bin"))
METHODS = {"rtn": ("quant.rtn", ""), "gptq, scale minmax": ("quant.gptq", ", scale: minmax"), "gptq": ("quant.gptq", ""),
           "gptq+hadamard": ("quant.gptq", ", transform: {hadamard: {block: 64}}")}


def recipe(model, method, bits, group, symmetric):
    key, extra = METHODS[method]
    layout = f"{{uniform: {{bits: {bits}, group: {group}, symmetric: {str(symmetric).lower()}}}}}"
    return (f"version: 1\nmodel: {{path: {model}, dtype: bfloat16}}\nseed: 17\n"
            f"data: {{calibration: {{file: {ROOT}/data/calibration.txt, samples: 64, length: 256}}}}\n"
            f"steps:\n  - {key}: {{layout: {layout}{extra}}}\nexport:\n  - artifact: {{path: model.cupel}}\n"
            f"evaluate: {{speed: false, perplexity: [{{file: {ROOT}/data/heldout.txt, length: 1024}}]}}\n")


def cell(options, method, bits, group):
    name = f"{method}-{bits}-g{group}".replace(", scale ", "-")
    out = options.out / name
    summary = out / "summary.json"
    if not summary.exists():
        out.mkdir(parents=True, exist_ok=True)
        path = options.out / f"{name}.yaml"
        path.write_text(recipe(options.model, method, bits, group, False))
        command = [str(BIN / "cupel"), "run", str(path), "--out", str(out), "--device", options.device, "--threads", str(options.threads), "-q"]
        if (out / "manifest.json").exists():
            command.append("--resume")
        print(" ".join(command), file=sys.stderr, flush=True)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (out / "model.cupel").unlink()  # 32 artifacts of 100 MB; the summary has the sizes
    return json.loads(summary.read_text())


def row(method, bits, group, s, rtn):
    a, d = s["after"], s["after"]["divergence"]
    ratio = d["kl_mean"] / rtn["after"]["divergence"]["kl_mean"]
    p = a["perplexity"][0]
    return (f"| {bits} | {group} | {method} | {a['bits_per_weight_matrices']:.3f} | {a['bits_per_weight']:.3f} | "
            f"{p['value']:.3f} +- {p['stderr']:.2f} | {d['kl_mean']:.5f} +- {d['kl_stderr']:.5f} | {ratio:.3f} | {100 * d['same_top1']:.1f} % |")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bits", default="2,3,4,5,6,8")
    a.add_argument("--device", default="auto")
    a.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/sweep")
    a.add_argument("--model", default=None)
    a.add_argument("--jobs", type=int, default=1, help="cells at a time")
    a.add_argument("--threads", type=int, default=0, help="threads a cell (0: all)")
    a.add_argument("--no-docs", action="store_true")
    options = a.parse_args()
    options.model = options.model or subprocess.run([ROOT / "scripts/fetch-model"], check=True, capture_output=True, text=True).stdout.strip()
    grid = [(bits, group) for bits in map(int, options.bits.split(",")) for group in ((64, 128) if bits in (3, 4) else (64,))]
    options.out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        cells = {(m, *g): pool.submit(cell, options, m, *g) for g in grid for m in METHODS}
        done = {key: future.result() for key, future in cells.items()}
    lines = [row(m, *g, done[(m, *g)], done[("rtn", *g)]) for g in grid for m in METHODS]
    before = done[("rtn", *grid[0])]["before"]
    manifest = json.loads((options.out / f"rtn-{grid[0][0]}-g{grid[0][1]}/manifest.json").read_text())
    p = before["perplexity"][0]
    text = (f"Command: `bench/sweep.py --bits {options.bits} --device {options.device}`, {datetime.date.today()}, {manifest.get('machine', '')}"
            f"{', calibration on a GPU' if options.device.startswith('cuda') else ''}. Model: SmolLM2-135M-Instruct, weights rounded to bf16; own "
            f"held-out text, {p['blocks']} blocks of {p['length']}, original perplexity {p['value']:.3f} +- {p['stderr']:.2f}. Asymmetric, "
            "embedding and head in bf16; calibration on 64 samples of 256 tokens; gptq clips its scales (mse) by default.\n\n"
            "| bits | group | method | bits/weight, matrices | bits/weight, all | perplexity | KL, nats/token | KL / RTN's | same top-1 |\n"
            "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n" + "\n".join(lines) + "\n")
    print(text)
    if options.no_docs:
        return
    page = ROOT / "docs/results.md"
    begin, end = "<!-- sweep -->\n", "<!-- /sweep -->"
    old = page.read_text()
    page.write_text(old[:old.index(begin) + len(begin)] + text + old[old.index(end):])


if __name__ == "__main__":
    main()
