#!/usr/bin/env python3
"""Writes first inputs for a fuzz target: small models made here, and the shared fixtures where they are.

  seeds.py TARGET FOLDER
"""
import base64, json, os, pathlib, struct, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("CUPEL_SHARED", ROOT.parent / "shared")) / "fixtures"


def cases(name):
    path = SHARED / "formats" / name
    return [base64.b64decode(json.loads(l)["b64"]) for l in path.open() if l.strip()] if path.exists() else []


def texts(name, key):
    path = SHARED / name
    return [json.loads(l)[key].encode("utf-8", "surrogatepass") for l in path.open() if l.strip()] if path.exists() else []


def gguf_value(value):
    """Type and bytes of a metadata value."""
    text = lambda t: struct.pack("<Q", len(t.encode())) + t.encode()
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, text(value)
    parts = [gguf_value(v) for v in value]
    return 9, struct.pack("<IQ", parts[0][0], len(parts)) + b"".join(b for _, b in parts)


def gguf(keys, tensors):
    """A GGUF file of f32 zeros."""
    text = lambda t: struct.pack("<Q", len(t.encode())) + t.encode()
    out, at = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)), 0
    for key, value in keys.items():
        kind, data = gguf_value(value)
        out += text(key) + struct.pack("<I", kind) + data
    for name, shape in tensors.items():
        out += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, at)
        at += -(-4 * (shape[0] * (shape[1] if len(shape) > 1 else 1)) // 32) * 32
    return out + bytes(-len(out) % 32 + at)


def models():
    """One-layer models with a vocabulary, both kinds of it."""
    h, ff, kv = 8, 12, 4
    sentencepiece = {"model": "llama", "tokens": ["<unk>", "<s>", "</s>", "<0x41>", "\u2581", "a", "b", "ab", "\u2581ab", "aab"],
                     "scores": [0.0, 0.0, 0.0, 0.0, -9.0, -8.0, -7.0, -1.0, -2.0, -2.0], "token_type": [2, 3, 3, 6, 1, 1, 1, 1, 1, 1]}
    bytes_ = {"model": "gpt2", "pre": "llama-bpe", "tokens": ["<|end|>", "a", "b", "ab", "c", "abc", "\u0120", "\u0120a", "[x]", "d"],
              "merges": ["a b", "ab c", "\u0120 a"], "token_type": [3, 1, 1, 1, 1, 1, 1, 1, 4, 1], "chat_template": "{{ messages }}"}
    for arch, more, vocabulary in [("llama", {}, sentencepiece), ("qwen3", {"qk": 1}, bytes_), ("gemma3", {"qk": 1, "post": 1}, sentencepiece),
                                   ("qwen2", {"bias": 1}, bytes_)]:
        keys = {"general.architecture": arch}
        sizes = {"block_count": 1, "context_length": 64, "embedding_length": h, "feed_forward_length": ff, "attention.head_count": 2,
                 "attention.head_count_kv": 1, "attention.layer_norm_rms_epsilon": 1e-5, "attention.key_length": 4, "attention.value_length": 4,
                 "rope.dimension_count": 4, "rope.freq_base": 10000.0}
        if arch == "gemma3":
            sizes["attention.sliding_window"] = 16
        keys |= {f"{arch}.{k}": v for k, v in sizes.items()}
        keys |= {f"tokenizer.ggml.{k}" if k != "chat_template" else "tokenizer.chat_template": v for k, v in vocabulary.items()}
        keys |= {"tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.add_bos_token": True}
        tensors = {"token_embd.weight": [h, len(vocabulary["tokens"])], "output_norm.weight": [h]}
        block = {"attn_norm": [h], "attn_q": [h, 8], "attn_k": [h, kv], "attn_v": [h, kv], "attn_output": [8, h], "ffn_norm": [h],
                 "ffn_gate": [h, ff], "ffn_up": [h, ff], "ffn_down": [ff, h]}
        if "qk" in more:
            block |= {"attn_q_norm": [4], "attn_k_norm": [4]}
        if "post" in more:
            block |= {"post_attention_norm": [h], "post_ffw_norm": [h]}
        tensors |= {f"blk.0.{k}.weight": v for k, v in block.items()}
        if "bias" in more:
            tensors |= {"blk.0.attn_q.bias": [8], "blk.0.attn_k.bias": [kv], "blk.0.attn_v.bias": [kv]}
        yield gguf(keys, tensors)


def sentencepiece_models():
    """Protobufs: BPE and Unigram with all kinds of pieces."""
    field = lambda n, data: bytes([n << 3 | 2, len(data)]) + data
    number = lambda n, v: (bytes([n << 3]) if n < 16 else bytes([n << 3 & 127 | 128, n >> 4])) + bytes([v])
    piece = lambda t, score, kind: field(1, field(1, t.encode()) + b"\x15" + struct.pack("<f", score) + number(3, kind))
    for kind in (1, 2):
        pieces = [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3), ("\u2581", -9, 1), ("H", -9, 1), ("e", -9, 1), ("l", -9, 1), ("He", -1, 1),
                  ("ll", -2, 5), ("Hell", -3, 1), ("wor", 0, 4), ("<0xC3>", 0, 6), ("<0xB6>", 0, 6)]
        yield (b"".join(piece(*p) for p in pieces) + field(2, number(3, kind) + number(35, 1)) +
               field(3, field(1, b"identity") + number(3, 1) + number(4, 1) + number(5, 1)))


def rare_parts():
    """Tokenizers with parts that the fixtures lack, one with a table of SentencePiece: "A" to "x", "AB" to "y"."""
    leaf, units = lambda label, offset: label | 1 << 8 | offset << 10, [0] * 256
    units[65], units[64], units[2], units[1] = leaf(65, 1), 1 << 31, leaf(66, 3), 1 << 31 | 2
    table = base64.b64encode(struct.pack("<257I", 1024, *units) + b"x\0y\0").decode()
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["x", -1.5], ["He", -2.0]]}
    yield json.dumps({"added_tokens": [], "normalizer": {"type": "Precompiled", "precompiled_charsmap": table}, "model": model}).encode()
    yield json.dumps({"added_tokens": [], "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True},
                      "pre_tokenizer": {"type": "FixedLength", "length": 3}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
                      "model": model}).encode()
    yield json.dumps({"added_tokens": [], "normalizer": {"type": "Nmt"}, "pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": "l"},
                      "model": model}).encode()


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    seeds = {"safetensors_fuzz": lambda: cases("safetensors_cases.jsonl"),
             "gguf_fuzz": lambda: cases("gguf_cases.jsonl") + list(models()),
             "tokenizer_fuzz": lambda: texts("tokenizers/torture.jsonl", "text") +
                                       [p.read_bytes() for p in sorted((SHARED / "tokenizers/tiny").glob("*.json"))] +
                                       list(sentencepiece_models()) + list(rare_parts()),
             "template_fuzz": lambda: texts("chat/jinja_micro.jsonl", "t"),
             "recipe_fuzz": lambda: [p.read_bytes() for p in sorted((ROOT / "recipes").glob("*.yaml"))]}[target]()
    for i, seed in enumerate(seeds):
        (folder / f"seed{i:04}").write_bytes(seed)
    print(f"{target}: {len(seeds)} seeds")


if __name__ == "__main__":
    main()
