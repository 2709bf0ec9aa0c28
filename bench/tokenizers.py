#!/usr/bin/env python3
"""Token ids and speed against the Python package `tokenizers`, on mixed text.

  bench/tokenizers.py TOKENIZER... --texts FOLDER... [--megabytes 52]

TOKENIZER is a folder with a tokenizer.json, or such a file; with --sentencepiece a folder with a tokenizer.model, which
is compared with the package `sentencepiece` (where special tokens in the text stay text). Documents are cut and joined from the files in the folders, with
a part of them changed (case, white space, other scripts, special tokens, rare characters), the same for every run;
--lines adds the "text" of each line of a JSON lines file as it is. Both sides encode one document at a time on one thread;
seconds are CPU time. Exit code 1 if any document differs.
Needs the target `encode_documents` (build/release, or CUPEL_ENCODE).
"""
import argparse, array, json, os, pathlib, random, struct, subprocess, sys, tempfile, time, unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROOT = pathlib.Path(__file__).resolve().parents[1]
# The folder of this file holds a file named like the package.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
ENCODE = os.environ.get("CUPEL_ENCODE", ROOT / "build/release/tests/unit/text/encode_documents")
TEXT = {".jsonl", ".json", ".txt", ".raw", ".tokens", ".csv", ".md", ".py", ".cpp"}
ODD = ["\u00a0", "\u3000", "\t", "\r\n", "\u200b", "\ufeff", "\u0301", "\u2028", "\x1d", "\x00", "\U0001F469\u200d\U0001F4BB",
       "\U0001F1E9\U0001F1EA", "\u2581", "\u017f", "'\u017f", "\u0130", "\u1E9E", "\uFB01", "\u00bd", "\u2167", "\u0967\u0968",
       "\U000105C1", "\U0001FAE9", "\uac00\u11a8", "\u0928\u093f", "<0x41>", "\ufffd", "\U000F0000"]
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "<unk>", "[INST]", "<|eot_id|>", "<bos>",
           "<start_of_turn>", "<think>", "<tool_call>", "<|begin_of_text|>", "\n\n\n", "    ", "<mask>", "<0x0A>"]


def strings_of(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from strings_of(v)
    elif isinstance(value, list):
        for v in value:
            yield from strings_of(v)


def sources(folders):
    out = []
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.suffix not in TEXT or not path.is_file():
                continue
            text = path.read_text("utf-8", errors="replace")
            out.append(text)
            if path.suffix == ".jsonl":
                out.append("\n".join(s for line in text.split("\n") if line for s in strings_of(json.loads(line))))
    return [t for t in out if len(t) > 1000]


def shifted(text, first):
    """ASCII letters as letters of another script."""
    return "".join(chr(first + (ord(c) | 32) - 97) if c.isascii() and c.isalpha() else c for c in text)


def sprinkle(text, random, extras):
    at = sorted(random.randrange(len(text) + 1) for _ in range(random.randrange(1, 12)))
    parts, last = [], 0
    for i in at:
        parts += [text[last:i], random.choice(extras)]
        last = i
    return "".join(parts) + text[last:]


CHANGES = [
    lambda t, r: t.upper(), lambda t, r: t.lower(), lambda t, r: t.title(), lambda t, r: t.swapcase(),
    lambda t, r: t.replace(" ", "  "), lambda t, r: t.replace(" ", "\n"), lambda t, r: t.replace(" ", r.choice(ODD)),
    lambda t, r: t.replace(" ", ""), lambda t, r: t.replace("\n", "\r\n"), lambda t, r: t.replace("\n", "\n    " * 3),
    lambda t, r: shifted(t, 0x430), lambda t, r: shifted(t, 0x3B1), lambda t, r: shifted(t, 0x4E00 + r.randrange(20000)),
    lambda t, r: shifted(t, 0xAC00 + r.randrange(11000)), lambda t, r: shifted(t, 0x3041), lambda t, r: shifted(t, 0x905),
    lambda t, r: shifted(t, 0x627), lambda t, r: shifted(t, 0xE0), lambda t, r: unicodedata.normalize("NFD", shifted(t, 0xE0)),
    lambda t, r: "".join(str(ord(c)) if r.random() < .2 else c for c in t), lambda t, r: t[::-1],
    lambda t, r: sprinkle(t, r, ODD), lambda t, r: sprinkle(t, r, SPECIAL), lambda t, r: t.encode().hex(),
    lambda t, r: "".join(chr(r.choice((0x80, 0x800, 0x10000, 0x20000)) + r.randrange(0x700)) for _ in t[:300]),
]


def documents(folders, megabytes, seed=7):
    texts, rng, total = sources(folders), random.Random(seed), 0
    if not texts:
        sys.exit("no text files in " + " ".join(map(str, folders)))
    weights = [len(t) ** 0.5 for t in texts]
    while total < megabytes * 1e6:
        parts = []
        for text in rng.choices(texts, weights, k=rng.randrange(1, 6)):
            at = rng.randrange(len(text))
            part = text[at : at + min(int(rng.lognormvariate(7, 1.3)), 60000)]
            if part and rng.random() < 0.15:
                part = rng.choice(CHANGES)(part, rng)
            parts.append(part)
        document = rng.choice(["", " ", "\n", "\n\n"]).join(parts).encode("utf-8", "replace")
        total += len(document)
        yield document


def reference(options, path, texts):
    """Ids of each text and the CPU seconds that they took."""
    if options.sentencepiece:
        import sentencepiece
        encode, ids_of = sentencepiece.SentencePieceProcessor(str(path / "tokenizer.model")).encode, lambda e: e
    else:
        import tokenizers
        model = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json" if path.is_dir() else path))
        model.no_truncation()
        encode = lambda t: model.encode_batch_fast([t], add_special_tokens=False)[0]
        ids_of = lambda e: e.ids
    out, seconds = [], 0.0
    for text in texts:
        start = time.process_time()
        encoded = encode(text)
        seconds += time.process_time() - start
        out.append(array.array("i", ids_of(encoded)))
    return out, seconds


def ours(options, path, documents_path, work):
    what = "plain" if options.sentencepiece else "all"
    seconds = float(subprocess.run([ENCODE, what, path, documents_path, work / "ids"], check=True, stdout=subprocess.PIPE).stdout)
    data, at, out = (work / "ids").read_bytes(), 0, []
    while at < len(data):
        (n,) = struct.unpack_from("<I", data, at)
        out.append(array.array("i", data[at + 4 : at + 4 + 4 * n]))
        at += 4 + 4 * n
    return out, seconds


def show(path, text, mine, theirs):
    at = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
    print(f"  {path}: differs at token {at}: {mine[at:at + 8].tolist()} instead of {theirs[at:at + 8].tolist()} in {text[:60]!r}", file=sys.stderr)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("tokenizers", nargs="+", type=pathlib.Path)
    a.add_argument("--texts", nargs="+", required=True, type=pathlib.Path)
    a.add_argument("--megabytes", type=float, default=52)
    a.add_argument("--sentencepiece", action="store_true")
    a.add_argument("--lines", type=pathlib.Path)
    options = a.parse_args()
    docs = list(documents(options.texts, options.megabytes))
    if options.lines:
        rows = options.lines.read_text("utf-8").split("\n")
        docs += [json.loads(r)["text"].encode("utf-8", "replace") for r in rows if r]
    texts = [d.decode() for d in docs]
    size, wrong = sum(map(len, docs)) / 1e6, 0
    print(f"{len(docs)} documents, {size:.1f} MB\n\n| tokenizer | differ | MB/s here | MB/s there | ratio |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "documents").write_bytes(b"".join(struct.pack("<I", len(d)) + d for d in docs))
        for path in options.tokenizers:
            mine, fast = ours(options, path, work / "documents", work)
            theirs, slow = reference(options, path, texts)
            bad = [i for i, (x, y) in enumerate(zip(mine, theirs)) if x != y]
            wrong += len(bad)
            print(f"| {path.name} | {len(bad)} | {size / fast:.1f} | {size / slow:.1f} | {slow / fast:.2f} |", flush=True)
            for i in bad[:5]:
                show(path.name, texts[i], mine[i], theirs[i])
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
