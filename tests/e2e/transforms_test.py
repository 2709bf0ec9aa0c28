"""Input transforms end to end: widths that are no power of two, every scaling, artifact and runtime, resume."""
import hashlib, json, pathlib, unittest
from support import ROOT, cupel, cupel_json, main, temporary

# 96 = 12 * 8 and 152 = 76 * 2: the widths of attention and down_proj.
RECIPE = f"""version: 1
model: {{from: {{scratch: {{hidden: 96, layers: 2, heads: 6, kv_heads: 2, intermediate: 152, positions: 128}}}}}}
seed: 17
data: {{calibration: {{file: {ROOT}/data/calibration.txt, samples: 4, length: 64}}}}
steps:
  - quant.gptq: {{layers: "*.0.self_attn.[qkv]_proj", layout: {{uniform: {{bits: 8}}}}, transform: {{hadamard: {{block: 0}}}}}}
  - quant.rtn: {{layers: "*.1.self_attn.[qkv]_proj", layout: {{uniform: {{bits: 8}}}}, transform: smooth}}
  - quant.rtn: {{layers: "*.o_proj", layout: {{uniform: {{bits: 8}}}}, transform: {{awq: {{steps: 4}}}}}}
  - quant.gptq: {{layers: "*.gate_proj", layout: {{uniform: {{bits: 8}}}}, transform: none}}
  - quant.rtn: {{layers: "*.up_proj", layout: {{uniform: {{bits: 8}}}}, transform: none}}
  - quant.gptq: {{layers: "*.down_proj", layout: {{uniform: {{bits: 8}}}}, transform: {{hadamard: {{block: 0, before: smooth}}}}}}
  - quant.rtn: {{layers: model.embed_tokens, layout: {{uniform: {{bits: 8}}}}, transform: {{balance: {{power_of_two: each}}}}}}
export:
  - artifact: {{path: model.cupel}}
evaluate: {{speed: false, perplexity: [{{file: {ROOT}/data/heldout.txt, length: 64, samples: 4}}]}}
"""


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class Transforms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary()
        cls.out = pathlib.Path(cls.folder.name) / "run"
        cls.recipe = pathlib.Path(cls.folder.name) / "transforms.yaml"
        cls.recipe.write_text(RECIPE)
        r = cupel("run", cls.recipe, "--out", cls.out, "--strict")
        assert r.returncode == 0, r.stderr
        cls.artifact = cls.out / "model.cupel"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_runtime_undoes_them(self):
        # The artifact runs transformed, the original has never seen one: 8 bits lose next to nothing.
        after = json.loads((self.out / "summary.json").read_text())["after"]
        self.assertLess(after["divergence"]["kl_mean"], 1e-3)

    def test_generation_does_not_depend_on_isa(self):
        texts = {cupel_json("generate", self.artifact, "--prompt", "The harbour", "--temperature", 0, "--max-tokens", 20,
                            "--isa", isa, "--json")["text"] for isa in ("scalar", "auto")}
        self.assertEqual(len(texts), 1, texts)

    def test_artifact_is_sound(self):
        self.assertEqual(cupel("inspect", self.artifact, "--verify").returncode, 0)

    def test_a_second_run_gives_the_same_bytes(self):
        before = digest(self.artifact)
        again = pathlib.Path(self.folder.name) / "again"
        r = cupel("run", self.recipe, "--out", again)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(digest(again / "model.cupel"), before)
        r = cupel("run", self.recipe, "--out", self.out, "--resume")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(digest(self.artifact), before)


if __name__ == "__main__":
    main()
