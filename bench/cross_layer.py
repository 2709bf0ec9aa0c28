#!/usr/bin/env python3
"""Predicted and measured damage of changes in one matrix and in two, and mixes that scores choose at equal bytes.

  bench/cross_layer.py noise --model FOLDER [--matrices 10 | --in-layers 14,15] [--damage 0.01]   # Gaussian noise, alone and in pairs
  bench/cross_layer.py rounding --model FOLDER [--matrices 12] [--bits 2,3,4] # round to nearest, one matrix at a time
  bench/cross_layer.py mixes --model FOLDER [--bits 2.8] [--layers "*"]       # quant.auto by each score

FOLDER is a Hugging Face folder in bfloat16 (bench/off_grid.py makes one). `noise` gives every decoder matrix noise whose damage alone
is predicted to be --damage nats a token; the chosen ones (spread over types and layers) are then changed alone and in all pairs. The
excess of a pair over the sum of both alone is what only a cross term can predict. Predictions are those of `cupel sensitivity`, measurements
those of `cupel compare` (mean divergence from FOLDER) on the same text, so that they differ by the theory alone. Prints tables.
"""
import argparse, itertools, json, os, pathlib, shutil, subprocess, sys

import numpy as np

import off_grid

ROOT = pathlib.Path(__file__).resolve().parents[1]
CUPEL = pathlib.Path(os.environ.get("CUPEL_BIN", ROOT / "build/release/bin")) / "cupel"
TYPES = ("q", "k", "v", "o", "gate", "up", "down")
SCORES = ("cross-layer", "two-sided", "fisher", "first-order", "output", "measured")


def cupel(*args):
    done = subprocess.run([str(CUPEL), *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cupel {' '.join(map(str, args))} exited with {done.returncode}:\n{done.stderr}")
    return done.stdout


def sensitivity(o, *more):
    return json.loads(cupel("sensitivity", o.model, "--text", o.text, "--samples", o.samples, "--length", o.length, "--sketch", o.sketch,
                            "--threads", o.threads, "--json", *more))


def kept(o, name, make):
    """What a file of --out holds, made where it is not there."""
    path = o.out / name
    if not path.exists():
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def is_matrix(name, value):
    return ".layers." in name and value.ndim == 2


def divergences(o, weights, changes):
    """Measured divergence of the model under each set of changes: a list of {name: changed weight}."""
    out = []
    for start in range(0, len(changes), o.batch):
        folders = [off_grid.variant(o.model, o.out / f"changed-{i}", {**weights, **c}, "bfloat16") for i, c in enumerate(changes[start:start + o.batch])]
        results = json.loads(cupel("compare", o.model, *folders, "--engine", "torch", "--perplexity", o.text, "--length", o.length, "--blocks", o.blocks,
                                   "--no-speed", "--threads", o.threads, "--json", "-"))
        out += [r["divergence"]["kl_mean"] for r in results[1:]]
        print(f"{len(out)} of {len(changes)} measured", file=sys.stderr, flush=True)
    return np.array(out)


def chosen(o, names):
    """All matrices of --in-layers, or --matrices of all types in turn, in layers far from each other."""
    if o.in_layers:
        return sorted(n for n in names if n.split(".")[2] in o.in_layers.split(","))
    layers = 1 + max(int(n.split(".")[2]) for n in names)
    out = []
    for k in range(o.matrices):
        layer = (k * layers // o.matrices + k) % layers
        out.append(next(n for n in names if n.split(".")[2] == str(layer) and n.split(".")[-2] == f"{TYPES[k % 7]}_proj"))
    return sorted(out)


def ranks(x):
    order = np.argsort(x)
    out = np.empty(len(x))
    out[order] = np.arange(len(x))
    return out


def spearman(x, y):
    return np.corrcoef(ranks(x), ranks(y))[0, 1]


def damage_of(prediction, how):
    k = prediction["changes"][0][how]
    return {n: i for i, n in enumerate(k["matrices"])}, np.array(k["pairs"])


def noise(o):
    weights = off_grid.read(o.model)
    names = [n for n, w in weights.items() if is_matrix(n, w)]
    own = {m["name"]: m["own"] for m in kept(o, "sensitivity.json", lambda: sensitivity(o))["matrices"]}
    rng = np.random.default_rng(o.seed)
    noisy = {n: weights[n] + (np.sqrt(2 * o.damage / (own[n] * weights[n].size)) * rng.standard_normal(weights[n].shape)).astype(np.float32) for n in names}
    picked = chosen(o, names)
    changed = off_grid.variant(o.model, o.out / "noisy", {**weights, **{n: noisy[n] for n in picked}}, "bfloat16")
    prediction = sensitivity(o, "--changed", changed, "--sampled")
    pairs = list(itertools.combinations(picked, 2))
    measured = divergences(o, weights, [{n: noisy[n]} for n in picked] + [{a: noisy[a], b: noisy[b]} for a, b in pairs])
    alone = dict(zip(picked, measured))
    excess = measured[len(picked):] - [alone[a] + alone[b] for a, b in pairs]
    size = np.array([2 * np.sqrt(alone[a] * alone[b]) for a, b in pairs])
    print(f"{len(picked)} matrices, {len(pairs)} pairs; divergence alone {min(alone.values()):.5f} to {max(alone.values()):.5f}; excess / 2 sqrt(J J'): "
          f"{(excess / size).min():.3f} to {(excess / size).max():.3f}, mean {(excess / size).mean():.3f}\n")
    print("| prediction | Spearman, alone | Spearman, sum of pairs | Spearman, excess | correlation, excess | predicted / measured, sum of alone |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for how in ("predicted", "sampled"):
        at, k = damage_of(prediction, how)
        own_k = np.array([k[at[n], at[n]] / 2 for n in picked])
        cross = np.array([k[at[a], at[b]] for a, b in pairs])
        total = np.array([k[at[a], at[a]] / 2 + k[at[b], at[b]] / 2 for a, b in pairs]) + cross
        print(f"| {how} | {spearman(own_k, measured[:len(picked)]):.3f} | {spearman(total, measured[len(picked):]):.3f} | {spearman(cross, excess):.3f} | "
              f"{np.corrcoef(cross, excess)[0, 1]:.3f} | {own_k.sum() / measured[:len(picked)].sum():.3f} |")
    (o.out / "noise.json").write_text(json.dumps({"picked": picked, "measured": measured.tolist(), "prediction": prediction}))


def rounding(o):
    weights = off_grid.read(o.model)
    names = [n for n, w in weights.items() if is_matrix(n, w)]
    picked = chosen(o, names)
    print("| bits | Spearman, predicted | Spearman, sampled | Spearman, weight error | Spearman, all widths so far | predicted / measured |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
    every = np.zeros((2, 0))
    for bits in map(int, o.bits.split(",")):
        recipe = o.out / f"rtn-{bits}.yaml"
        recipe.write_text(f"version: 1\nmodel: {{path: {o.model}, dtype: bfloat16}}\nsteps:\n  - quant.rtn: {{layout: {{uniform: {{bits: {bits}, group: 64}}}}}}\n"
                          f"export:\n  - safetensors: {{path: model, dtype: bfloat16}}\nevaluate: {{speed: false}}\n")
        shutil.rmtree(o.out / f"rtn-{bits}", ignore_errors=True)
        cupel("run", recipe, "--out", o.out / f"rtn-{bits}", "--threads", o.threads, "-q")
        rounded = off_grid.read(o.out / f"rtn-{bits}" / "model")
        changed = off_grid.variant(o.model, o.out / "rounded", {**weights, **{n: rounded[n] for n in picked}}, "bfloat16")
        prediction = sensitivity(o, "--changed", changed, "--sampled")
        measured = divergences(o, weights, [{n: rounded[n]} for n in picked])
        own = {}
        for how in ("predicted", "sampled"):
            at, k = damage_of(prediction, how)
            own[how] = np.array([k[at[n], at[n]] / 2 for n in picked])
        error = np.array([((rounded[n] - weights[n]) ** 2).sum() / (weights[n] ** 2).sum() for n in picked])
        every = np.concatenate([every, [own["predicted"], measured]], 1)
        print(f"| {bits} | {spearman(own['predicted'], measured):.3f} | {spearman(own['sampled'], measured):.3f} | {spearman(error, measured):.3f} | "
              f"{spearman(*every):.3f} | {own['predicted'].sum() / measured.sum():.3f} |", flush=True)


def mixes(o):
    print("| score | bits/weight, matrices | KL, nats/token | same top-1, % | perplexity | seconds |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for score in o.scores.split(","):
        out = o.out / f"mix-{score}-{o.bits}"
        recipe = out.with_suffix(".yaml")
        recipe.write_text(
            f"version: 1\nmodel: {{path: {o.model}, dtype: bfloat16}}\nseed: 17\ndata: {{calibration: {{file: {o.text}, samples: {o.samples}, length: {o.length}}}}}\n"
            f"steps:\n  - quant.auto: {{layers: \"{o.layers}\", bits: {o.bits}, score: {score}, sketch: {o.sketch}, rounds: 0, guard: false}}\n"
            f"export:\n  - artifact: {{path: model.cupel}}\nevaluate: {{speed: false, perplexity: [{{file: {o.test}, length: 1024, samples: {o.test_blocks}}}]}}\n")
        if not (out / "summary.json").exists():
            cupel("run", recipe, "--out", out, "--threads", o.threads, "-q", *(["--resume"] if out.exists() else []))
        s, plan = json.loads((out / "summary.json").read_text()), json.loads(next((out / "plans").glob("*.json")).read_text())
        d = s["after"]["divergence"]
        print(f"| {score} | {plan['bits']:.3f} | {d['kl_mean']:.5f} +- {d['kl_stderr']:.5f} | {100 * d['same_top1']:.1f} | "
              f"{s['after']['perplexity'][0]['value']:.3f} | {s['seconds']:.0f} |", flush=True)
        if "sensitivity_by_type" in plan:
            print(f"<!-- by type: {plan['sensitivity_by_type']}, predicted {plan['predicted']:.4f}, alone {plan['predicted_alone']:.4f}, "
                  f"measured on calibration text {plan['divergence']:.4f} -->", flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("what", choices=("noise", "rounding", "mixes"))
    a.add_argument("--model", type=pathlib.Path, required=True)
    a.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/cross-layer")
    a.add_argument("--text", default=ROOT / "data/calibration.txt")
    a.add_argument("--samples", type=int, default=32)
    a.add_argument("--length", type=int, default=256)
    a.add_argument("--sketch", type=int, default=64)
    a.add_argument("--blocks", type=int, default=4, help="of --length tokens that divergence is measured on")
    a.add_argument("--batch", type=int, default=6, help="changed models on the disk at a time")
    a.add_argument("--threads", type=int, default=0)
    a.add_argument("--matrices", type=int, default=10)
    a.add_argument("--in-layers", help="10,11: all matrices of these layers instead of --matrices")
    a.add_argument("--damage", type=float, default=0.01)
    a.add_argument("--seed", type=int, default=17)
    a.add_argument("--bits", default=None)
    a.add_argument("--layers", default="*")
    a.add_argument("--scores", default=",".join(SCORES))
    a.add_argument("--test", default=ROOT / "data/heldout.txt")
    a.add_argument("--test-blocks", type=int, default=4)
    o = a.parse_args()
    o.bits = o.bits or {"rounding": "4,3,2", "mixes": "2.8"}.get(o.what)
    o.out.mkdir(parents=True, exist_ok=True)
    {"noise": noise, "rounding": rounding, "mixes": mixes}[o.what](o)


if __name__ == "__main__":
    main()
