#!/usr/bin/env python3
"""The test model of quality.py: a model whose weights came on a 4-bit grid, moved off that grid without changing what it computes.

  bench/off_grid.py --out DIR [--model FILE.gguf] [--sigma 0.2] [--seed 17] [--blocks 4]
  bench/off_grid.py --check

A checkpoint that is at hand only as Q4_1 flatters every quantizer with a 4-bit grid of groups of 32. Each channel between two
neighbours gets a factor s (log-normal, exp(sigma * normal), float64): norm gains / s with the columns of the matrices behind the
norm * s; rows of up / s with columns of down * s; rows of v / s with columns of o * s, the same s for all query heads that share
a head of v. So the columns inside a group no longer share a step. The embedding stays as it is: scaling the residual stream is
not exact under RMSNorm, and a tied head rules out the final norm.

DIR/base is the import in float32, DIR/float32 the scaled one, DIR/model the scaled one in bfloat16: the original of all
measurements. DIR/off_grid.json says what was measured: that float32 computes the same (KL < 1e-6), what bfloat16 costs, and the
KL of rounding to nearest as Q4_1 does (4 bits, groups of 32) before and after. --check folds a tiny random model and compares its logits.
"""
import argparse, json, os, pathlib, shutil, struct, subprocess, sys

import numpy as np

import tensors

ROOT = pathlib.Path(__file__).resolve().parents[1]
CUPEL = pathlib.Path(os.environ.get("CUPEL_BIN", ROOT / "build/release/bin")) / "cupel"

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


def read(folder):
    out = {}
    for path in tensors.files(folder):
        entries, start = tensors.header(path)
        data = np.memmap(path, np.uint8, "r", start)
        for name, e in entries.items():
            raw = data[slice(*e["data_offsets"])]
            if e["dtype"] == "BF16":
                value = (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
            else:
                value = raw.view({"F32": np.float32, "F16": np.float16}[e["dtype"]])
            out[name] = value.reshape(e["shape"])
    return out


def bfloat16(x):
    """Bits of the nearest bfloat16, ties to even; `x` must be finite."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def write(path, arrays, dtype):
    """Writes float tensors as `dtype`, float32 or bfloat16, into one file."""
    entries, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, value in arrays.items():
        size = value.size * (4 if dtype == "float32" else 2)
        entries[name] = {"dtype": "F32" if dtype == "float32" else "BF16", "shape": list(value.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for value in arrays.values():
            f.write(np.ascontiguousarray(value, np.float32).tobytes() if dtype == "float32" else bfloat16(value).tobytes())


def scaled(weights, config, sigma, seed):
    """The same function with other weights; float64 arithmetic, `weights` is not changed."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    rng = np.random.default_rng(seed)
    heads, kv_heads = config["num_attention_heads"], config.get("num_key_value_heads") or config["num_attention_heads"]

    def into_columns(names, factor):
        for name in names:
            w[name] *= factor

    for i in range(config["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for norm, behind in (("input_layernorm", ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")),
                             ("post_attention_layernorm", ("mlp.gate_proj", "mlp.up_proj"))):
            s = np.exp(sigma * rng.standard_normal(w[f"{p}{norm}.weight"].size))
            w[f"{p}{norm}.weight"] /= s
            into_columns([f"{p}{name}.weight" for name in behind], s)
        # A row of v serves every query head of its group: the groups of o's columns lie beside each other, one per query head.
        for rows, columns, groups, repeats in (("mlp.up_proj", "mlp.down_proj", 1, 1),
                                               ("self_attn.v_proj", "self_attn.o_proj", kv_heads, heads // kv_heads)):
            s = np.exp(sigma * rng.standard_normal(w[f"{p}{rows}.weight"].shape[0]))
            w[f"{p}{rows}.weight"] /= s[:, None]
            if f"{p}{rows}.bias" in w:
                w[f"{p}{rows}.bias"] /= s
            into_columns([f"{p}{columns}.weight"], np.repeat(s.reshape(groups, 1, -1), repeats, 1).ravel())
    return w


def tiny_logits(w, config, ids):
    """A Llama without rotary positions (they act on q and k alone) in float64."""
    heads, kv, d = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]

    def norm(x, gain):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain

    def mm(x, name):
        return x @ w[name + ".weight"].T
    x, t = w["model.embed_tokens.weight"][ids], len(ids)
    for i in range(config["num_hidden_layers"]):
        p = f"model.layers.{i}."
        h = norm(x, w[p + "input_layernorm.weight"])
        q, k, v = (mm(h, f"{p}self_attn.{n}_proj").reshape(t, -1, d).transpose(1, 0, 2) for n in "qkv")
        k, v = np.repeat(k, heads // kv, 0), np.repeat(v, heads // kv, 0)
        a = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(d)) * np.tri(t)
        x = x + mm((a / a.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(t, -1), p + "self_attn.o_proj")
        h = norm(x, w[p + "post_attention_layernorm.weight"])
        g = mm(h, p + "mlp.gate_proj")
        x = x + mm(g / (1 + np.exp(-g)) * mm(h, p + "mlp.up_proj"), p + "mlp.down_proj")
    return norm(x, w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T


def check():
    config = {"num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 4}
    rng, h, f, vocabulary = np.random.default_rng(5), 24, 40, 30
    shapes = {"model.embed_tokens": (vocabulary, h), "model.norm": (h,)}
    for i in range(2):
        p = f"model.layers.{i}."
        shapes |= {p + "input_layernorm": (h,), p + "post_attention_layernorm": (h,), p + "self_attn.q_proj": (24, h), p + "self_attn.k_proj": (8, h),
                   p + "self_attn.v_proj": (8, h), p + "self_attn.o_proj": (h, 24), p + "mlp.gate_proj": (f, h), p + "mlp.up_proj": (f, h), p + "mlp.down_proj": (h, f)}
    w = {name + ".weight": rng.standard_normal(shape) * 0.3 + (len(shape) == 1) for name, shape in shapes.items()}
    ids = rng.integers(vocabulary, size=16)
    folded, before = scaled(w, config, 0.3, 1), tiny_logits(w, config, ids)
    difference = np.abs(tiny_logits(folded, config, ids) - before).max() / np.abs(before).max()
    moved = [n for n in w if "layers" in n and np.array_equal(w[n], folded[n])]
    assert difference < 1e-12, f"the folded model's logits differ by {difference:.1e}"
    assert not moved, f"not scaled: {moved}"
    folded["model.layers.1.self_attn.o_proj.weight"][:, 5] *= 1.01  # the comparison must see one wrong column
    assert np.abs(tiny_logits(folded, config, ids) - before).max() / np.abs(before).max() > 1e-6
    print(f"folding: logits equal to {difference:.1e}")


def cupel(*args):
    done = subprocess.run([str(CUPEL), *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cupel {' '.join(map(str, args))} exited with {done.returncode}:\n{done.stderr}")
    return done.stdout


def divergence(model, against, text, blocks):
    d = json.loads(cupel("eval", model, "--engine", "torch", "--against", against, "--perplexity", text, "--length", 512, "--blocks", blocks, "--json", "-"))
    return {"kl_mean": d["divergence"]["kl_mean"], "kl_max": d["divergence"]["kl_max"], "perplexity": d["perplexity"][0]["value"],
            "perplexity_against": d["divergence"]["perplexity"]["reference"]}


def q4_1(w):
    """Rounded to nearest on the grid that the weights came on: groups of 32, 16 steps from the least to the largest, both float16."""
    group = w.reshape(-1, 32).astype(np.float32)
    low = group.min(1, keepdims=True)
    step = ((group.max(1, keepdims=True) - low) / 15).astype(np.float16).astype(np.float32)
    code = np.rint((group - low) / np.where(step == 0, 1, step)).clip(0, 15)
    return (code * step + low.astype(np.float16).astype(np.float32)).reshape(w.shape)


def rounded(source, out, weights, text, blocks):
    """KL of rounding the decoder matrices of `source`."""
    rough = {n: q4_1(v) if ".layers." in n and v.ndim == 2 else v for n, v in weights.items()}
    return divergence(variant(source, out, rough, "float32"), source, text, blocks)


def variant(source, target, weights, dtype):
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.suffix != ".safetensors" and not path.name.endswith(".index.json"):
            shutil.copy(path, target / path.name)
    config = json.loads((source / "config.json").read_text())
    config.pop("dtype", None)
    (target / "config.json").write_text(json.dumps({**config, "torch_dtype": dtype}, indent=2) + "\n")
    write(target / "model.safetensors", weights, dtype)
    return target


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/off-grid")
    a.add_argument("--model", help="GGUF file (scripts/fetch-model's when left out)")
    a.add_argument("--sigma", type=float, default=0.2)
    a.add_argument("--seed", type=int, default=17)
    a.add_argument("--blocks", type=int, default=4, help="blocks of 512 tokens of the text")
    a.add_argument("--text", default=ROOT / "data/heldout.txt")
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if o.check:
        return check()
    o.out.mkdir(parents=True, exist_ok=True)
    o.model = o.model or subprocess.run([ROOT / "scripts/fetch-model"], check=True, capture_output=True, text=True).stdout.strip()
    base = o.out / "base"
    if not (base / "config.json").exists():
        cupel("import", o.model, "--out", base, "--dtype", "float32")
    config = json.loads((base / "config.json").read_text())
    if config["model_type"] not in FAMILIES:
        sys.exit(f"off_grid: {config['model_type']} may have other neighbours than {', '.join(FAMILIES)}")
    weights = scaled(read(base), config, o.sigma, o.seed)
    same = variant(base, o.out / "float32", weights, "float32")
    model = variant(base, o.out / "model", weights, "bfloat16")
    ids = ",".join(map(str, range(100, 164)))
    logits = [np.array(json.loads(cupel("logits", m, "--ids", ids, "--last", "--json"))["logits"], np.float64).ravel() for m in (base, same)]
    report = {"model": str(o.model), "sigma": o.sigma, "seed": o.seed, "largest_logit": float(np.abs(logits[0]).max()),
              "largest_difference_of_logits": float(np.abs(logits[0] - logits[1]).max()),
              "float32": divergence(same, base, o.text, o.blocks), "bfloat16": divergence(model, base, o.text, o.blocks),
              "q4_1_before": rounded(base, o.out / "rounded", read(base), o.text, o.blocks),
              "q4_1_after": rounded(same, o.out / "rounded", weights, o.text, o.blocks)}
    shutil.rmtree(o.out / "rounded")
    (o.out / "off_grid.json").write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2))
    if report["float32"]["kl_mean"] > 1e-6 or report["largest_difference_of_logits"] > 1e-3:
        sys.exit("the scaled model does not compute what the original does")


if __name__ == "__main__":
    main()
