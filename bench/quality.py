#!/usr/bin/env python3
"""Divergence and perplexity against true bits per weight of the whole file: this program's methods and other quantizers, one model,
one text, one evaluation. Writes OUT/quality.json and the table of docs/results.md.

  bench/quality.py [--model DIR] --text wiki.test.hf-joined.txt [--blocks N] [--only PATTERN,...] [--device cuda] [--no-docs]
  bench/quality.py --list

MODEL is a Hugging Face folder (bench/off_grid.py's when left out). Everybody calibrates on the same token ids: the first --samples
blocks of --length-calibration tokens of --calibration. A peer is installed at its pinned version (bench/peers/table.py), makes its
own files, and `cupel eval --engine torch` reads those, decodes them to float32 and compares them with the original, position by position.

Bits per weight are 8 * bytes of all tensors in the files (codes, scales, zeros, indices, embedding, head, norms) over the original's
parameters. Tokenizer and metadata are left out for everybody. A finished point is kept in OUT/points and is not measured again
while tool, version, setting, model, texts and sizes are the same; a point that failed is tried again.
"""
import argparse, concurrent.futures, datetime, fnmatch, hashlib, json, os, pathlib, re, shutil, subprocess, sys, time

import quality_ours, quality_table, tensors
from peers import table

ROOT = pathlib.Path(__file__).resolve().parents[1]
CUPEL = pathlib.Path(os.environ.get("CUPEL_BIN", ROOT / "build/release/bin")) / "cupel"
OURS = "cupel"


def cupel(*args):
    done = subprocess.run([str(CUPEL), *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"cupel {' '.join(map(str, args))} exited with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


def digest(path):
    h = hashlib.sha256()
    for file in tensors.files(path) if path.is_dir() else [path]:
        with open(file, "rb") as f:
            while chunk := f.read(1 << 22):
                h.update(chunk)
    return h.hexdigest()


def every_point():
    """(tool, name of the setting) in the order of the run."""
    return [(OURS, name) for name in quality_ours.points()] + [(tool, name) for tool, peer in table.PEERS.items() for name in peer["settings"]]


def wanted(options):
    patterns = options.only.split(",")
    found = [p for p in every_point() if any(fnmatch.fnmatch(" ".join(p), q) or p[0] == q for q in patterns)]
    if not found:
        sys.exit(f"quality: nothing is called {options.only}; --list shows all points")
    return found


def tensor_bytes(path):
    """Name to bytes, for any kind of model file."""
    if path.is_dir():
        return tensors.sizes(path)
    return {t["name"]: t["bytes"] for t in json.loads(cupel("inspect", path, "--json"))["tensors"]}


def in_layers(name):
    return re.search(r"(^|\.)(layers|blk)\.\d", name) is not None


def sizes(path, original):
    """Bits per weight of the whole and of the decoder layers alone (their norms included)."""
    parts = tensor_bytes(path)
    files = [f for f in path.rglob("*") if f.is_file()] if path.is_dir() else [path]
    layers = sum(b for n, b in parts.items() if in_layers(n))
    count = tensors.parameters(original)
    of_layers = sum(c for n, c in count.items() if in_layers(n))
    if not layers:
        raise RuntimeError(f"{path}: no tensor of a decoder layer is recognised by its name")
    return {"bytes": sum(parts.values()), "bytes_of_files": sum(f.stat().st_size for f in files), "parameters": sum(count.values()),
            "bits_per_weight": 8 * sum(parts.values()) / sum(count.values()), "bits_per_weight_layers": 8 * layers / of_layers}


def evaluate(path, options):
    e = json.loads(cupel("eval", path, "--engine", "torch", "--against", options.model, "--perplexity", options.text, "--length", options.length,
                         *(["--blocks", options.blocks] if options.blocks else []), "--device", options.device, "--threads", options.threads, "--json", "-"))
    p, d = e["perplexity"][0], e["divergence"]
    keep = ("kl_mean", "kl_stderr", "kl_median", "kl_p99", "same_top1", "same_top1_stderr")
    return {**{k: d[k] for k in keep}, "perplexity": p["value"], "perplexity_stderr": p["stderr"], "blocks": p["blocks"],
            "perplexity_original": d["perplexity"]["reference"], "ids_sha256": p["text"]["ids_sha256"]}


def make(tool, name, job, options):
    if tool == OURS:
        return quality_ours.quantize(cupel, job, quality_ours.points()[name])
    return table.quantize(tool, job, options.peers)


def setting_of(tool, name, options):
    if tool == OURS:
        return quality_ours.points()[name]
    more = {"iters": options.iters} if tool == "AutoRound" else {}
    return {**table.PEERS[tool]["settings"][name], **more}


def point(tool, name, common, options):
    version = common["cupel"] if tool == OURS else table.version(tool)
    setting = setting_of(tool, name, options)
    key = {"tool": tool, "version": version, "setting": setting, **common["key"]}
    slug = re.sub(r"[^a-z0-9+.]+", "-", f"{tool} {name}".lower())
    kept = options.out / "points" / f"{slug}.json"
    if kept.exists() and (old := json.loads(kept.read_text()))["key"] == key:
        return old
    print(f"quality: {tool}, {name}", file=sys.stderr, flush=True)
    out = options.out / "work" / slug
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    job = {**common["job"], "out": out, "setting": setting}
    if tool != OURS:
        table.prepare(tool, job, options.peers)
    begin = time.time()
    path = make(tool, name, job, options)
    seconds = time.time() - begin
    result = {"tool": tool, "name": name, "key": key, "seconds": round(seconds, 1), "date": str(datetime.date.today()), "machine": common["machine"],
              **sizes(path, options.model), **evaluate(path, options)}
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(result, indent=1) + "\n")
    if not options.keep:
        shutil.rmtree(out, ignore_errors=True)
        out.with_name(out.name + ".gguf").unlink(missing_ok=True)
    return result


def shared_facts(options):
    """What all points have in common: token ids, hashes, the machine."""
    ids = json.loads(cupel("tokenize", options.model, "--file", options.calibration, "--json"))["tokens"]
    n, samples = options.length_calibration, options.samples
    if len(ids) < n * samples:
        sys.exit(f"quality: {options.calibration} has {len(ids)} tokens, {samples} samples of {n} need {n * samples}")
    key = {"model": digest(options.model), "calibration": digest(options.calibration), "samples": samples, "length": n,
           "text": digest(options.text), "blocks": options.blocks, "block_length": options.length}
    same = hashlib.sha256(json.dumps([key["model"], key["calibration"], samples, n]).encode()).hexdigest()
    shared = options.out / "shared" / same[:12]
    shared.mkdir(parents=True, exist_ok=True)
    job = {"model": options.model, "text": options.calibration, "samples": samples, "length": n, "device": options.device, "threads": options.threads, "shared": shared,
           "calibration": [ids[i * n:(i + 1) * n] for i in range(samples)]}
    version = subprocess.run([str(CUPEL), "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return {"job": job, "key": key, "cupel": version, "machine": quality_table.machine(options.device)}


def arguments():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--model", type=pathlib.Path, default=ROOT / "runs/off-grid/model")
    a.add_argument("--text", type=pathlib.Path, help="WikiText-2 test, all rows joined by two newlines")
    a.add_argument("--calibration", type=pathlib.Path, default=ROOT / "data/calibration.txt")
    a.add_argument("--samples", type=int, default=64)
    a.add_argument("--length-calibration", type=int, default=256)
    a.add_argument("--iters", type=int, default=200, help="steps of AutoRound for each block")
    a.add_argument("--length", type=int, default=2048, help="tokens of a block of the text")
    a.add_argument("--blocks", type=int, default=0, help="blocks of the text, 0: all")
    a.add_argument("--only", default="*", help="patterns of 'TOOL NAME', or tools, separated by commas")
    a.add_argument("--device", default="cpu")
    a.add_argument("--jobs", type=int, default=1, help="points at a time (on a GPU: several fit)")
    a.add_argument("--threads", type=int, default=0, help="threads of each point of ours, 0: all")
    a.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/quality")
    a.add_argument("--peers", type=pathlib.Path, default=ROOT / "runs/peers", help="where the peers are installed")
    a.add_argument("--keep", action="store_true", help="keep the quantized files")
    a.add_argument("--list", action="store_true")
    a.add_argument("--no-docs", action="store_true")
    options = a.parse_args()
    for name in ("model", "text", "calibration", "out", "peers"):
        if (path := getattr(options, name)) is not None:
            setattr(options, name, path.resolve())
    return options


def main():
    options = arguments()
    if options.list:
        return print("\n".join(" ".join(p) for p in every_point()))
    if options.text is None:
        sys.exit("quality: --text names the file to evaluate on")
    if not (options.model / "config.json").exists():
        sys.exit(f"quality: {options.model} is no Hugging Face folder; bench/off_grid.py makes the test model")
    common, failed = shared_facts(options), []

    def one(at):
        try:
            point(*at, common, options)
        except (RuntimeError, OSError) as e:
            failed.append(f"{at[0]}, {at[1]}: {e}")
            print(f"quality: FAILED {failed[-1]}", file=sys.stderr, flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, wanted(options)))
    points = quality_table.read(options.out / "points", common["key"])
    (options.out / "quality.json").write_text(json.dumps({"points": points, "failed": failed}, indent=1) + "\n")
    text = quality_table.markdown(points, options, common)
    print(text)
    if not options.no_docs:
        quality_table.into(ROOT / "docs/results.md", text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
