"""Damaged and hostile inputs: the stated exit code, a message that names the thing, nothing half-written left behind."""
import json, os, pathlib, resource, shutil, signal, struct, subprocess, unittest
from support import CUPEL, ROOT, cupel, main, temporary

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 257, "hidden_size": 32,
          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
          "intermediate_size": 64, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
          "tie_word_embeddings": True, "hidden_act": "silu", "attention_bias": False, "mlp_bias": False}


def split(path):
    data = path.read_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + n]), data[8 + n:]


def join(path, header, body):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


class Damaged(unittest.TestCase):
    count = 0
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary()
        base = pathlib.Path(cls.folder.name)
        (base / "config.json").write_text(json.dumps(CONFIG))
        for out in ("hf", "m.cupel"):
            r = cupel("synth", base / "config.json", "--out", base / out)
            assert r.returncode == 0, r.stderr
        cls.base = base

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def fresh(self):
        Damaged.count += 1
        target = self.base / f"case{Damaged.count}"
        shutil.copytree(self.base / "hf", target)
        return target

    def refused(self, model, code, *wanted, command=("logits",), arguments=("--ids", "1,2,3")):
        r = cupel(*command, model, *arguments, timeout=60)
        self.assertEqual(r.returncode, code, f"{wanted}: exit {r.returncode}\n{r.stdout[-200:]}{r.stderr}")
        for w in wanted:
            self.assertIn(w, r.stderr)

    def test_the_undamaged_model_runs(self):
        for m in ("hf", "m.cupel"):
            r = cupel("logits", self.base / m, "--ids", "1,2,3", "--last")
            self.assertEqual(r.returncode, 0, r.stderr)

    def test_types_of_the_cache(self):
        seen = {}
        for kv in ("f32", "f16", "int8", "fp8", "int4"):
            r = cupel("logits", self.base / "m.cupel", "--ids", "1,2,3", "--last", "--kv", kv)
            self.assertEqual(r.returncode, 0, r.stderr)
            seen[kv] = r.stdout
        self.assertEqual(len(set(seen.values())), len(seen), "types that give the same logits")
        self.assertEqual(cupel("logits", self.base / "m.cupel", "--ids", "1,2,3", "--last").stdout, seen["f32"])
        for command, arguments in ((("logits",), ("--ids", "1")), (("generate",), ("--prompt", "A")), (("bench",), ("-n", "1")),
                                   (("eval",), ("--engine", "runtime", "--perplexity", str(ROOT / "data" / "heldout.txt")))):
            self.refused(self.base / "m.cupel", 2, "'int5'", "f16, f32, int8, int4 or fp8", command=command,
                         arguments=(*arguments, "--kv", "int5"))

    def test_nothing_there(self):
        self.refused(self.base / "no-such-model", 2, "no-such-model")
        empty = self.base / "empty-folder"
        empty.mkdir()
        self.refused(empty, 2, "empty-folder")
        (self.base / "empty.gguf").write_bytes(b"")
        self.refused(self.base / "empty.gguf", 3, "empty.gguf")
        (self.base / "text.cupel").write_text("this is no artifact\n" * 500)
        r = cupel("logits", self.base / "text.cupel", "--ids", "1")
        self.assertIn(r.returncode, (2, 3), r.stderr)

    def test_configs(self):
        def case(change, *wanted):
            folder = self.fresh()
            config = dict(CONFIG)
            change(config)
            (folder / "config.json").write_text(json.dumps(config))
            self.refused(folder, 3, *wanted)
        case(lambda c: c.update(model_type="mamba"), "mamba")
        case(lambda c: c.pop("hidden_size"), "hidden_size")
        case(lambda c: c.update(hidden_size="wide"), "hidden_size")
        case(lambda c: c.update(hidden_size=-32), "hidden_size")
        case(lambda c: c.update(num_attention_heads=0), "num_attention_heads")
        case(lambda c: c.update(num_key_value_heads=3), "key/value heads")
        case(lambda c: c.update(hidden_act="swish9"), "swish9")
        case(lambda c: c.update(rope_scaling={"rope_type": "spiral", "factor": 2.0}), "spiral")
        case(lambda c: c.update(hidden_size=64), "shape")
        case(lambda c: c.update(num_hidden_layers=3), "model.layers.2")
        case(lambda c: c.update(attention_bias=True), "bias")
        case(lambda c: c.update(vocab_size=300), "embed_tokens")
        case(lambda c: c.update(quantization_config={"quant_method": "gptq"}), "quant")
        folder = self.fresh()
        (folder / "config.json").write_text('{"model_type": "llama",')
        self.refused(folder, 3, "config.json")
        folder = self.fresh()
        (folder / "config.json").unlink()
        r = cupel("logits", folder, "--ids", "1")
        self.assertIn(r.returncode, (2, 3))
        self.assertIn("config.json", r.stderr)

    def test_tensors(self):
        def case(change, *wanted):
            folder = self.fresh()
            path = folder / "model.safetensors"
            header, body = split(path)
            body = bytearray(body)
            change(header, body)
            join(path, header, bytes(body))
            self.refused(folder, 3, *wanted)
        name = "model.layers.1.mlp.up_proj.weight"
        case(lambda h, b: h.pop("model.norm.weight"), "")  # a hole in the data
        case(lambda h, b: h.update({"model.layers.0.self_attn.q_proj.bias": h.pop(name)}), "q_proj.bias")
        case(lambda h, b: h[name].update(dtype="F77"), "F77")
        case(lambda h, b: h[name].update(shape=[64, 33]), name)
        case(lambda h, b: h[name]["data_offsets"].reverse(), name)

        def nan(h, b):
            at = h[name]["data_offsets"][0]
            b[at:at + 2] = b"\xc0\x7f"
        case(nan, name)

    def test_truncated(self):
        folder = self.fresh()
        path = folder / "model.safetensors"
        whole = path.read_bytes()
        for size in (0, 4, 8, 100, len(whole) - 1):
            path.write_bytes(whole[:size])
            self.refused(folder, 3, "model.safetensors")
        path.write_bytes(struct.pack("<Q", 1 << 62) + whole[8:])
        self.refused(folder, 3, "model.safetensors")

    def test_artifacts(self):
        whole = (self.base / "m.cupel").read_bytes()
        path = self.base / "bent.cupel"

        def case(data, code, *wanted):
            path.write_bytes(data)
            self.refused(path, code, *wanted)
        for size in (8, 100, 4096, len(whole) // 2, len(whole) - 1):
            case(whole[:size], 3, "bent.cupel")
        newer = bytearray(whole)
        newer[8:12] = struct.pack("<I", 99)
        case(bytes(newer), 3, "99")
        for at in (12, 16, 24, 40, 64):
            bent = bytearray(whole)
            bent[at] ^= 0xFF
            case(bytes(bent), 3, "bent.cupel")

    def test_gguf(self):
        path = self.base / "bad.gguf"

        def case(data, *wanted):
            path.write_bytes(data)
            self.refused(path, 3, "bad.gguf", *wanted)
            self.refused(path, 3, "bad.gguf", command=("inspect",), arguments=())
        case(b"GGUF" + struct.pack("<Iqq", 1, 0, 0))
        case(b"GGUF" + struct.pack("<Iqq", 3, 1 << 60, 0))
        case(b"GGUF" + struct.pack("<Iqq", 3, 0, 1) + struct.pack("<Q", 1 << 60))
        case(b"GGUF" + struct.pack("<I", 3))
        key = b"general.architecture"
        text = struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, 4)
        path.write_bytes(b"GGUF" + struct.pack("<Iqq", 3, 0, 1) + text + b"rwkv" + b"\0" * 64)
        self.refused(path, 3, "rwkv")

    def test_tokenizers(self):
        folder = self.fresh()
        (folder / "tokenizer.json").write_text("{")
        self.refused(folder, 3, "tokenizer", command=("tokenize",), arguments=("text",))
        tokenizer = json.loads((self.base / "hf/tokenizer.json").read_text())
        tokenizer["pre_tokenizer"] = {"type": "Clairvoyant"}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        self.refused(folder, 3, "Clairvoyant", command=("tokenize",), arguments=("text",))

    def test_arguments(self):
        m = self.base / "m.cupel"
        self.refused(m, 2, "999", arguments=("--ids", "1,999"))
        self.refused(m, 2, "'x'", arguments=("--ids", "1,x"))
        self.refused(m, 2, "avx9", arguments=("--ids", "1", "--isa", "avx9"))
        self.refused(m, 2, "context", command=("generate",), arguments=("--prompt", "x" * 300))
        self.refused(m, 2, "tokens", command=("eval",), arguments=("--perplexity", ROOT / "LICENSE", "--length", "100000"))
        r = cupel("eval", m, "--perplexity", self.base / "config.json", "--length", 64, "--blocks", 1000)
        self.assertEqual(r.returncode, 2, r.stderr)

    def run_recipe(self, model, out, limit=None):
        recipe = self.base / "r.yaml"
        recipe.write_text(f"version: 1\nmodel: {{path: {model}}}\nsteps:\n  - quant.rtn: {{layout: {{uniform: {{bits: 4, group: 32}}}}}}\n"
                          "export:\n  - artifact: {path: m.cupel}\nevaluate: {speed: false}\n")

        def limited():
            if limit is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.run([CUPEL, "run", str(recipe), "--out", str(out)], capture_output=True, text=True,
                              preexec_fn=limited, timeout=120)

    def assert_nothing_half_written(self, out):
        left = [p for p in pathlib.Path(out).rglob("*") if p.is_file() and ("tmp" in p.name or p.suffix == ".cupel")]
        self.assertEqual(left, [])

    def test_full_disk(self):
        for limit in (20_000, 60_000):
            out = self.base / f"full{limit}"
            r = self.run_recipe(self.base / "hf", out, limit)
            self.assertEqual(r.returncode, 4, r.stderr)
            self.assertIn(str(out), r.stderr)
            self.assert_nothing_half_written(out)

    def test_folder_that_cannot_be_written(self):
        r = self.run_recipe(self.base / "hf", "/proc/cupel-run")
        self.assertEqual(r.returncode, 4, r.stderr)
        self.assertIn("/proc/cupel-run", r.stderr)
        if os.geteuid() != 0:
            locked = self.base / "locked"
            locked.mkdir(mode=0o555)
            r = self.run_recipe(self.base / "hf", locked / "run")
            self.assertEqual(r.returncode, 4, r.stderr)
        (self.base / "a-file").write_text("x")
        r = self.run_recipe(self.base / "hf", self.base / "a-file" / "run")
        self.assertEqual(r.returncode, 4, r.stderr)

    def test_nan_weights_stop_a_run(self):
        folder = self.fresh()
        path = folder / "model.safetensors"
        header, body = split(path)
        body = bytearray(body)
        name = "model.layers.0.mlp.down_proj.weight"
        at = header[name]["data_offsets"][0]
        body[at:at + 2] = b"\xc0\x7f"
        join(path, header, bytes(body))
        out = self.base / "nan-run"
        r = self.run_recipe(folder, out)
        self.assertEqual(r.returncode, 3, r.stderr)
        self.assertIn(name, r.stderr)
        self.assert_nothing_half_written(out)


main()
