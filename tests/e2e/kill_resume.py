#!/usr/bin/env python3
"""Runs a recipe once without interruption and once killed (-9) at random moments and resumed; compares the artifacts.

  kill_resume.py RECIPE --kills 10 [--set a.b=VALUE ...]

Exit 0 when the bytes are equal. The evaluation is left out: it comes after the artifact is written.
"""
import argparse, hashlib, json, pathlib, random, signal, subprocess, sys, time
from support import CUPEL, ROOT, temporary


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def units(folder):
    """How often each unit was computed, by the events of all its runs."""
    counts = {}
    for line in (folder / "events.jsonl").read_text().splitlines():
        try:
            e = json.loads(line)
        except ValueError:  # the line that was being written when the process was killed
            continue
        if e.get("kind") == "unit" and not e["found"]:
            counts[e["name"]] = counts.get(e["name"], 0) + 1
    return counts


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("recipe")
    a.add_argument("--kills", type=int, default=10)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--set", action="append", default=[])
    o = a.parse_args()
    settings = [x for s in ["evaluate.perplexity=[]", "evaluate.prompts=[]", "evaluate.speed=false"] + o.set for x in ("--set", s)]
    with temporary() as folder:
        def start(out, *more):
            return subprocess.Popen([CUPEL, "run", o.recipe, "--out", str(out), "-q", *settings, *more], cwd=ROOT,
                                    stdout=subprocess.DEVNULL)
        whole, killed = pathlib.Path(folder) / "whole", pathlib.Path(folder) / "killed"
        begin = time.monotonic()
        if start(whole).wait() != 0:
            sys.exit(1)
        seconds = time.monotonic() - begin
        print(f"uninterrupted: {seconds:.0f} s", flush=True)
        moments, kills = random.Random(o.seed), 0
        while True:
            p = start(killed, *(["--resume"] if (killed / "manifest.json").exists() else []))
            try:
                code = p.wait(timeout=moments.uniform(0, 2 * seconds / o.kills) if kills < o.kills else None)
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
                p.wait()
                kills += 1
                print(f"kill {kills}", flush=True)
                continue
            if code != 0:
                sys.exit(1)
            break
        again = sum(n - 1 for n in units(killed).values())
        same = digest(whole / "model.cupel") == digest(killed / "model.cupel")
        print(f"killed {kills} times; matrices computed again: {again}; artifacts {'equal' if same else 'DIFFER'}")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
