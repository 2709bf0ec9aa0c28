#!/usr/bin/env python3
"""Writes first inputs for a fuzz target: the shared fixtures where they are, else nothing. seeds.py TARGET FOLDER"""
import base64, json, os, pathlib, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("CUPEL_SHARED", ROOT.parent / "shared")) / "fixtures"


def cases(name):
    path = SHARED / "formats" / name
    return [base64.b64decode(json.loads(l)["b64"]) for l in path.open() if l.strip()] if path.exists() else []


def texts(name, key):
    path = SHARED / name
    return [json.loads(l)[key].encode("utf-8", "surrogatepass") for l in path.open() if l.strip()] if path.exists() else []


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    seeds = {"safetensors_fuzz": lambda: cases("safetensors_cases.jsonl"),
             "gguf_fuzz": lambda: cases("gguf_cases.jsonl"),
             "tokenizer_fuzz": lambda: texts("tokenizers/torture.jsonl", "text") +
                                       [p.read_bytes() for p in sorted((SHARED / "tokenizers/tiny").glob("*.json"))],
             "template_fuzz": lambda: texts("chat/jinja_micro.jsonl", "t"),
             "recipe_fuzz": lambda: [p.read_bytes() for p in sorted((ROOT / "recipes").glob("*.yaml"))]}[target]()
    for i, seed in enumerate(seeds):
        (folder / f"seed{i:04}").write_bytes(seed)
    print(f"{target}: {len(seeds)} seeds")


if __name__ == "__main__":
    main()
