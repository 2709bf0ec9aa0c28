#!/usr/bin/env python3
"""Memory of `cupel run` on models of growing depth, with random weights: quantizing must need one block, not the model.

  bench/large_model.py [--method rtn|gptq] [--blocks 4,8,16,32] [--config bench/shapes/llama-8b.json] [--limit 6] [--out runs/large-model]

For each depth: `cupel synth` writes a bfloat16 checkpoint, a recipe quantizes its decoder and exports an artifact, and the process's
anonymous memory (RssAnon of /proc/PID/status) is read every 0.2 s. Pages of mapped files do not count: the kernel drops them
when memory is short. A checkpoint and the files made from it are removed before the next depth, unless --keep. Writes OUT/large_model.json,
prints a table; exit code 1 when a run takes more than --limit GiB, or when peaks grow with depth by more than --growth MiB a block.
"""
import argparse, json, os, pathlib, shutil, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CUPEL = pathlib.Path(os.environ.get("CUPEL_BIN", ROOT / "build/release/bin")) / "cupel"
GIB = 1 << 30
INTERVAL = 0.2  # seconds between two readings


def recipe(model, options):
    layout = f"{{uniform: {{bits: {options.bits}, group: {options.group}}}}}"
    data = f"data: {{calibration: {{file: {ROOT}/data/calibration.txt, samples: {options.samples}, length: {options.length}}}}}\n"
    return (f"version: 1\nmodel: {{path: {model}, dtype: bfloat16}}\nseed: 17\n{data}"
            f"steps:\n  - quant.{options.method}: {{layout: {layout}}}\nexport:\n  - artifact: {{path: model.cupel}}\nevaluate: {{speed: false}}\n")


def anonymous_bytes(pid):
    """0 for a process that is gone, or has not started to run yet."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return 1024 * int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def watched(command, log):
    """Runs it; peak of anonymous bytes, when that was, seconds, seconds of processor time."""
    peak, peak_at, begin, before = 0, 0, time.time(), os.times()
    with open(log, "w") as out:
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=subprocess.STDOUT)
        while process.poll() is None:
            if (now := anonymous_bytes(process.pid)) > peak:
                peak, peak_at = now, time.time() - begin
            time.sleep(INTERVAL)
    after = os.times()
    if process.returncode:
        sys.exit(f"large_model: {' '.join(map(str, command))} exited with {process.returncode}: {log.read_text()[-600:]}")
    return {"peak_anonymous_bytes": peak, "peak_after_seconds": round(peak_at, 1), "seconds": round(time.time() - begin, 1),
            "processor_seconds": round(after.children_user + after.children_system - before.children_user - before.children_system, 1)}


def measured(blocks, options):
    model, run, plan = (options.out / f"{kind}-{blocks}" for kind in ("model", options.method, "recipe"))
    shutil.rmtree(run, ignore_errors=True)
    if not (model / "config.json").exists():
        subprocess.run([CUPEL, "synth", options.config, "--out", model, "--blocks", str(blocks), "-q"], check=True)
    plan.with_suffix(".yaml").write_text(recipe(model, options))
    result = watched([CUPEL, "run", plan.with_suffix(".yaml"), "--out", run, "--threads", options.threads, "-q"], options.out / f"{run.name}.log")
    size = json.loads(subprocess.run([CUPEL, "inspect", run / "model.cupel", "--json"], check=True, capture_output=True, text=True).stdout)
    result = {"method": options.method, "blocks": blocks, "checkpoint_bytes": sum(f.stat().st_size for f in model.glob("*.safetensors")),
              "parameters": size["parameters"], "artifact_bytes": size["bytes"], "codes_bytes": sum(f.stat().st_size for f in run.glob("codes/*.h5")), **result}
    if not options.keep:
        shutil.rmtree(model)
        shutil.rmtree(run)
    return result


def table(results):
    rows = ["| blocks | parameters | checkpoint | artifact | peak anonymous memory | time | processor time |", "|---:|---:|---:|---:|---:|---:|---:|"]
    for r in results:
        rows.append(f"| {r['blocks']} | {r['parameters'] / 1e9:.2f} G | {r['checkpoint_bytes'] / GIB:.2f} GiB | {r['artifact_bytes'] / GIB:.2f} GiB | "
                    f"{r['peak_anonymous_bytes'] / GIB:.2f} GiB | {r['seconds']:.0f} s | {r['processor_seconds']:.0f} s |")
    return "\n".join(rows)


def complaints(results, options):
    out = [f"{r['blocks']} blocks took {r['peak_anonymous_bytes'] / GIB:.2f} GiB, at most {options.limit:g} expected"
           for r in results if r["peak_anonymous_bytes"] > options.limit * GIB]
    first, last = results[0], results[-1]
    if last["blocks"] > first["blocks"]:
        slope = (last["peak_anonymous_bytes"] - first["peak_anonymous_bytes"]) / (last["blocks"] - first["blocks"]) / (1 << 20)
        if slope > options.growth:
            out.append(f"the peak grows by {slope:.1f} MiB a block, at most {options.growth:g} expected: something keeps finished blocks")
    return out


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--config", type=pathlib.Path, default=ROOT / "bench/shapes/llama-8b.json")
    a.add_argument("--blocks", type=lambda text: sorted(map(int, text.split(","))), default=[4, 8, 16, 32])
    a.add_argument("--method", default="rtn", choices=("rtn", "gptq"))
    a.add_argument("--bits", type=int, default=4)
    a.add_argument("--group", type=int, default=128)
    a.add_argument("--samples", type=int, default=8)
    a.add_argument("--length", type=int, default=512)
    a.add_argument("--threads", type=int, default=0, help="0: all")
    a.add_argument("--limit", type=float, default=6, help="GiB")
    a.add_argument("--growth", type=float, default=4, help="MiB a block; float weights of one are 830 at this shape, its codes 210")
    a.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/large-model")
    a.add_argument("--keep", action="store_true")
    options = a.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    results = []
    for blocks in options.blocks:
        results.append(measured(blocks, options))
        (options.out / "large_model.json").write_text(json.dumps(results, indent=1) + "\n")
        print(table(results[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    print(table(results))
    found = complaints(results, options)
    for text in found:
        print(f"large_model: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
