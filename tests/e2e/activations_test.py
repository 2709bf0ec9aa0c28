"""Rounded inputs end to end: both engines on the artifact, resume, what can't hold them, what does not go together."""
import hashlib, json, pathlib, unittest
from support import ROOT, cupel, cupel_json, main, temporary

HEAD = f"""version: 1
model: {{from: {{scratch: {{hidden: 96, layers: 2, heads: 6, kv_heads: 2, intermediate: 152, positions: 128}}}}}}
seed: 17
data: {{calibration: {{file: {ROOT}/data/calibration.txt, samples: 4, length: 64}}}}
"""
STEPS = """steps:
  - quant.gptq: {layers: "*.self_attn.[qkv]_proj", layout: {uniform: {bits: 8}}, transform: {hadamard: {block: 0}}, activations: {int8: {scale: static}}}
  - quant.rtn: {layers: "*.o_proj", layout: {uniform: {bits: 8}}, transform: smooth, activations: {fp8: {scale: static}}}
  - quant.gptq: {layers: "*.mlp.*", layout: {uniform: {bits: 8}}, activations: int8}
  - quant.rtn: {layers: model.embed_tokens, layout: {uniform: {bits: 8}}, activations: {fp8: {group: 32}}}
"""
TAIL = f"""export: [{{artifact: {{path: model.cupel}}}}]
evaluate: {{speed: false, perplexity: [{{file: {ROOT}/data/heldout.txt, length: 64, samples: 4}}]}}
"""


class Activations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary()
        cls.base = pathlib.Path(cls.folder.name)
        cls.recipe = cls.write("r.yaml", HEAD + STEPS + TAIL)
        r = cupel("run", cls.recipe, "--out", cls.base / "run", "--strict")
        assert r.returncode == 0, r.stderr
        cls.artifact = cls.base / "run/model.cupel"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, text):
        (cls.base / name).write_text(text)
        return cls.base / name

    def test_both_engines_measure_the_same(self):
        results = [self.perplexity(engine) for engine in ("torch", "runtime")]
        self.assertAlmostEqual(results[0], results[1], delta=2e-4 * results[0])

    def perplexity(self, engine):
        out = self.base / f"{engine}.json"
        r = cupel("eval", self.artifact, "--engine", engine, "--perplexity", ROOT / "data/heldout.txt", "--length", 64,
                  "--blocks", 4, "--json", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(out.read_text())["perplexity"][0]["value"]

    def test_inspect_says_so(self):
        r = cupel("inspect", self.artifact, "--verify")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("inputs int8 per token", r.stdout)
        self.assertIn("inputs fp8, static scale", r.stdout)
        self.assertIn("inputs fp8 per group of 32", r.stdout)

    def test_resume_gives_the_same_bytes(self):
        before = hashlib.sha256(self.artifact.read_bytes()).hexdigest()
        r = cupel("run", self.recipe, "--out", self.base / "run", "--resume")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(hashlib.sha256(self.artifact.read_bytes()).hexdigest(), before)

    def test_an_artifact_as_the_start_keeps_its_rounding(self):
        again = self.write("again.yaml", f"version: 1\nmodel: {{path: {self.artifact}, dtype: float32}}\nsteps: []\n" + TAIL)
        r = cupel("run", again, "--out", self.base / "again")
        self.assertEqual(r.returncode, 0, r.stderr)
        summary = json.loads((self.base / "again/summary.json").read_text())
        self.assertLess(summary["after"]["divergence"]["kl_mean"], 1e-5)
        self.assertIn("inputs int8 per token", cupel("inspect", self.base / "again/model.cupel").stdout)

    def test_safetensors_refuses_by_name(self):
        recipe = self.write("hf.yaml", HEAD + STEPS + "export: [{safetensors: {path: hf}}]\n")
        r = cupel("run", recipe, "--out", self.base / "hf")
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertIn("model.embed_tokens.weight reads them as fp8 per group of 32", r.stderr)

    def test_matrices_that_share_an_input_must_agree(self):
        recipe = self.write("split.yaml", HEAD + 'steps:\n  - quant.rtn: {layers: "*.q_proj", activations: int8}\n' + TAIL)
        r = cupel("run", recipe, "--out", self.base / "split")
        self.assertEqual(r.returncode, 2, r.stderr)
        for part in ("k_proj.weight", "q_proj.weight", "both read the same input"):
            self.assertIn(part, r.stderr)


if __name__ == "__main__":
    main()
