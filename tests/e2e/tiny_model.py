"""A seeded Llama of two layers with a byte-level BPE, as a Hugging Face folder; standard library only."""
import array, json, pathlib, random, struct

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64,
          "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
          "hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "torch_dtype": "float32"}
WORDS = ["\u0120t", "he", "\u0120the", "in", "er", "\u0120a", "on", "re", "\u0120w", "at", "\u0120s", "ing", "ou", "\u0120b"]
MERGES = [("\u0120", "t"), ("h", "e"), ("\u0120t", "he"), ("i", "n"), ("e", "r"), ("\u0120", "a"), ("o", "n"), ("r", "e"),
          ("\u0120", "w"), ("a", "t"), ("\u0120", "s"), ("in", "g"), ("o", "u"), ("\u0120", "b")]
BOS, END = "<|begin|>", "<|end|>"


def byte_letters():
    """Byte to the letter that stands for it (GPT-2's table)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def vocabulary():
    letters = byte_letters()
    pieces = [letters[b] for b in range(256)] + WORDS
    return {p: i for i, p in enumerate(pieces)} | {BOS: len(pieces), END: len(pieces) + 1}


def tokenizer_json(adds_bos):
    vocab = vocabulary()
    special = [{"id": vocab[t], "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                "special": True} for t in (BOS, END)]
    template = [{"SpecialToken": {"id": BOS, "type_id": 0}}] if adds_bos else []
    post = {"type": "TemplateProcessing", "single": template + [{"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {BOS: {"id": BOS, "ids": [vocab[BOS]], "tokens": [BOS]}} if adds_bos else {}}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": post, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "vocab": {p: i for p, i in vocab.items() if p not in (BOS, END)},
                      "merges": [" ".join(m) for m in MERGES]}}


def tensors(config, seed):
    rng = random.Random(seed)
    h, f, kv = config["hidden_size"], config["intermediate_size"], config["num_key_value_heads"] * config["head_dim"]

    def normal(rows, columns, scale):
        return [rows, columns], array.array("f", (rng.gauss(0, scale) for _ in range(rows * columns)))
    out = {"model.embed_tokens.weight": normal(config["vocab_size"], h, 0.5)}
    for i in range(config["num_hidden_layers"]):
        p = f"model.layers.{i}."
        out |= {p + "self_attn.q_proj.weight": normal(h, h, 0.3), p + "self_attn.k_proj.weight": normal(kv, h, 0.3),
                p + "self_attn.v_proj.weight": normal(kv, h, 0.3), p + "self_attn.o_proj.weight": normal(h, h, 0.3),
                p + "mlp.gate_proj.weight": normal(f, h, 0.3), p + "mlp.up_proj.weight": normal(f, h, 0.3),
                p + "mlp.down_proj.weight": normal(h, f, 0.2)}
        for norm in ("input_layernorm", "post_attention_layernorm"):
            out[f"{p}{norm}.weight"] = [h], array.array("f", [1.0] * h)
    out["model.norm.weight"] = [h], array.array("f", [1.0] * h)
    return out


def write(folder, adds_bos=False, seed=17):
    """Writes the model into `folder` and returns it."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    config = {**CONFIG, "vocab_size": len(vocabulary()), "bos_token_id": vocabulary()[BOS], "eos_token_id": vocabulary()[END]}
    header, body = {}, b""
    for name, (shape, values) in tensors(config, seed).items():
        data = values.tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(adds_bos)))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": BOS, "eos_token": END}))
    return folder
