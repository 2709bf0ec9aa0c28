"""Perplexity and divergence from the command line: what is unknown, blocks of an earlier run, saved references, mistakes."""
import json, pathlib, shutil, unittest
from support import ROOT, cupel, cupel_json, main, temporary

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 300, "hidden_size": 32,
          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
          "intermediate_size": 64, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
          "tie_word_embeddings": True, "hidden_act": "silu", "attention_bias": False, "mlp_bias": False}
TEXT = ROOT / "data/heldout.txt"


class EvalTexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary()
        cls.base = pathlib.Path(cls.folder.name)
        (cls.base / "config.json").write_text(json.dumps(CONFIG))
        for name, more in (("a", ("--seed", 1)), ("b", ("--seed", 2)), ("b.cupel", ("--seed", 2))):
            r = cupel("synth", cls.base / "config.json", "--out", cls.base / name, *more)
            assert r.returncode == 0, r.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def measure(self, model, *more):
        return cupel_json("eval", self.base / model, "--engine", "runtime", "--perplexity", TEXT, "--length", 64, *more, "--json", "-")

    def refused(self, code, message, *arguments):
        r = cupel(*arguments)
        self.assertEqual(r.returncode, code, r.stderr)
        self.assertIn(message, r.stderr)

    def test_one_block_has_no_error(self):
        r = self.measure("a", "--blocks", 1)
        self.assertIsNone(r["perplexity"][0]["stderr"])
        self.assertGreater(self.measure("a", "--blocks", 3)["perplexity"][0]["stderr"], 0)
        table = cupel("eval", self.base / "a", "--engine", "runtime", "--perplexity", TEXT, "--length", 64, "--blocks", 1).stdout
        self.assertRegex(table.splitlines()[1], r"\d+\.\d{4}  +- ")

    def test_the_same_blocks_again(self):
        first = self.base / "first.json"
        r = cupel("eval", self.base / "a", "--engine", "runtime", "--perplexity", TEXT, "--length", 64, "--blocks", 4, "--json", first)
        self.assertEqual(r.returncode, 0, r.stderr)
        result = json.loads(first.read_text())
        del result["perplexity"][0]["block_list"][0:3]
        first.write_text(json.dumps(result))
        again = self.measure("a", "--blocks-file", first)["perplexity"][0]
        self.assertEqual(again["block_list"], result["perplexity"][0]["block_list"])
        self.refused(2, "the length of a block is 32, but 64", "eval", self.base / "a", "--engine", "runtime", "--perplexity", TEXT,
                     "--length", 32, "--blocks-file", first)

    def test_saved_reference(self):
        saved = self.base / "a.cref"
        self.measure("a", "--blocks", 3, "--save-reference", saved)
        live = self.measure("b", "--blocks", 2, "--against", self.base / "a", "--against-engine", "runtime")["divergence"]
        kept = self.measure("b", "--blocks", 2, "--against", saved)["divergence"]
        self.assertTrue(kept["kl_is_lower_bound"])
        self.assertFalse(live["kl_is_lower_bound"])
        self.assertLessEqual(kept["kl_mean"], live["kl_mean"] + 1e-7)
        self.assertGreater(kept["kl_mean"], 0.5 * live["kl_mean"])
        self.assertEqual(kept["same_top1"], live["same_top1"])
        self.assertAlmostEqual(kept["delta_p_rms"], live["delta_p_rms"], delta=1e-7)
        self.assertLess(self.measure("a", "--blocks", 2, "--against", saved)["divergence"]["kl_mean"], 1e-7)

        arguments = ("eval", self.base / "b", "--engine", "runtime", "--perplexity", TEXT, "--length", 64, "--against")
        self.refused(2, "has 3 blocks", *arguments, saved)
        self.refused(2, "the protocol is llamacpp, but gptq", *arguments, saved, "--blocks", 2, "--protocol", "llamacpp")
        self.refused(2, "the text's SHA-256", "eval", self.base / "b", "--engine", "runtime", "--perplexity", ROOT / "LICENSE", "--length", 64,
                     "--against", saved)
        cut = self.base / "cut.cref"
        cut.write_bytes(saved.read_bytes()[:-100])
        self.refused(3, "it is truncated", *arguments, cut)
        flipped = bytearray(saved.read_bytes())
        flipped[-100] ^= 1
        cut.write_bytes(flipped)
        self.refused(3, "the checksum of block 2 differs", *arguments, cut, "--blocks", 3)
        self.refused(2, "no such file", *arguments, self.base / "none.cref")

    def test_pages(self):
        pages = self.base / "p.jsonl"
        pages.write_text("".join(json.dumps({"page": t}) + "\n" for t in ("one , two", "three", "four")))
        r = cupel_json("eval", self.base / "a", "--engine", "runtime", "--protocol", "words", "--length", 64, "--documents", 2,
                       "--perplexity", pages, "--json", "-")["perplexity"][0]
        self.assertEqual((r["words"], r["bytes"], r["tokens"], r["text"]["documents"]), (4, 14, 13, 2))
        self.assertEqual(r["stderr_over"], "documents")
        pages.write_text('{"page": "a"}\n{"pag": "b"}\n')
        self.refused(3, "reading line 2 of", "eval", self.base / "a", "--engine", "runtime", "--protocol", "words", "--perplexity", pages)

    def test_mistakes(self):
        self.refused(2, "longer than the model's 128 positions", "eval", self.base / "a", "--engine", "runtime", "--perplexity", TEXT,
                     "--length", 5000)
        self.refused(2, "compare needs two models or more", "compare", self.base / "a", "--perplexity", TEXT)
        self.refused(2, "--save-reference needs one model and one --perplexity text", "eval", self.base / "a", "--save-reference",
                     self.base / "x.cref")
        self.assertFalse((self.base / "x.cref").exists())
        bare = self.base / "bare"
        shutil.copytree(self.base / "a", bare)
        (bare / "tokenizer.json").unlink(missing_ok=True)
        (bare / "tokenizer_config.json").unlink(missing_ok=True)
        for command in (("eval", bare), ("eval", bare, "--engine", "runtime"), ("compare", bare, self.base / "a")):
            self.refused(3, "has no tokenizer, which --perplexity needs", *command, "--perplexity", TEXT, "--length", 64)

    def test_compare_and_report(self):
        page = self.base / "report.html"
        r = cupel("compare", self.base / "a", self.base / "b", self.base / "b.cupel", "--perplexity", TEXT, "--length", 64, "--blocks", 2,
                  "--report", page)
        self.assertEqual(r.returncode, 0, r.stderr)
        text = page.read_text()
        for there in ("tokens of context", "kind of token", "Percentiles"):
            self.assertIn(there, text)


main()
