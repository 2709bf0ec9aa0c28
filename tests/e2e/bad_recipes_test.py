"""Recipes with mistakes: exit code 2 and a message that names the place and the thing, before anything is loaded."""
import pathlib, unittest
from support import ROOT, cupel, main, temporary

HEAD = "version: 1\nmodel: {path: nowhere.gguf}\n"
SCRATCH = "version: 1\nmodel: {from: scratch}\n"
CASES = [  # name, recipe, texts that the message must hold
    ("empty", "", ["a recipe is a mapping"]),
    ("list", "- a\n- b\n", ["a recipe is a mapping"]),
    ("not yaml", "version: 1\nmodel: {path: x\n", ["r.yaml:"]),
    ("tab indent", "version: 1\nmodel:\n\tpath: x\n", ["r.yaml:3"]),
    ("no version", "model: {path: x}\n", ["'version' is missing"]),
    ("new version", "version: 2\nmodel: {path: x}\n", ["r.yaml:1:10", "version 1"]),
    ("no model", "version: 1\n", ["'model' is missing"]),
    ("no path", "version: 1\nmodel: {dtype: float32}\n", ["'model.path' is missing"]),
    ("both sources", "version: 1\nmodel: {path: x, from: scratch}\n", ["exclude each other"]),
    ("unknown top key", HEAD + "step: []\n", ["unknown key 'step'", "did you mean 'steps'"]),
    ("repeated top key", HEAD + "seed: 1\nseed: 2\n", ["r.yaml:4:1", "'seed' is given twice"]),
    ("bad seed", HEAD + "seed: many\n", ["r.yaml:3:7", "seed"]),
    ("unknown dtype", "version: 1\nmodel: {path: x, dtype: float8}\n", ["float32, bfloat16 or float16"]),
    ("unknown method", HEAD + "steps:\n  - quant.gtpq: {}\n", ["r.yaml:4:5", "quant.gtpq", "did you mean 'quant.gptq'"]),
    ("step with two keys", HEAD + "steps:\n  - quant.rtn: {}\n    quant.gptq: {}\n", ["one `name: {parameters}`"]),
    ("steps a mapping", HEAD + "steps: {quant.rtn: {}}\n", ["a list of steps"]),
    ("bits too large", HEAD + "steps:\n  - quant.rtn: {layout: {uniform: {bits: 9}}}\n", ["'bits' must lie in [1, 8], not 9", "^"]),
    ("bits a float", HEAD + "steps:\n  - quant.rtn: {layout: {uniform: {bits: 4.0}}}\n", ["'bits' must be an integer, not '4.0'"]),
    ("bits quoted", HEAD + "steps:\n  - quant.rtn: {layout: {uniform: {bits: '4'}}}\n", ["'bits' must be an integer"]),
    ("bad group", HEAD + "steps:\n  - quant.rtn: {layout: {uniform: {group: 48}}}\n", ["group"]),
    ("bool by word", HEAD + "steps:\n  - quant.rtn: {layout: {uniform: {symmetric: yes}}}\n", ["'symmetric' must be true or false, not 'yes'"]),
    ("unknown layout", HEAD + "steps:\n  - quant.rtn: {layout: {unifrom: {bits: 4}}}\n", ["unifrom", "did you mean 'uniform'"]),
    ("unknown parameter", HEAD + "steps:\n  - quant.gptq: {dampening: 0.1}\n", ["unknown parameter 'dampening'", "did you mean 'damp'"]),
    ("repeated parameter", HEAD + "steps:\n  - quant.gptq: {damp: 0.1, damp: 0.2}\n", ["repeated key 'damp'"]),
    ("bad enum", HEAD + "steps:\n  - quant.gptq: {order: act}\n", ["'order' must be one of", "activation"]),
    ("unknown export", HEAD + "export:\n  - artefact: {}\n", ["artefact", "did you mean 'artifact'"]),
    ("bad against", HEAD + "evaluate: {against: teacher}\n", ["against must be original or none"]),
    ("missing data file", SCRATCH + "data: {train: no-such-file.txt}\nsteps:\n  - train.lm: {}\n", ["no file 'no-such-file.txt'"]),
    ("missing model", HEAD, ["nowhere.gguf"]),
    ("unset variable", "version: 1\nmodel: {path: $CUPEL_NO_SUCH_VARIABLE/m}\n", ["CUPEL_NO_SUCH_VARIABLE"]),
    ("too many layers", SCRATCH + "data: {calibration: {file: data/calibration.txt}}\nsteps:\n  - prune.depth: {remove: 4}\n", ["would remove 4 of 4 layers"]),
    ("prune after quant", SCRATCH + "data: {calibration: {file: data/calibration.txt}}\nsteps:\n  - quant.rtn: {}\n  - prune.depth: {remove: 1}\n", ["must come before the quant steps"]),
    ("odd head width", "version: 1\nmodel: {from: {scratch: {hidden: 100, heads: 3}}}\n", ["hidden / heads"]),
]


class BadRecipes(unittest.TestCase):
    def test_each(self):
        with temporary() as folder:
            for name, text, wanted in CASES:
                with self.subTest(name):
                    path = pathlib.Path(folder) / "r.yaml"
                    path.write_text(text)
                    r = cupel("check", path, cwd=ROOT)
                    self.assertEqual(r.returncode, 2, f"{name}: exit {r.returncode}\n{r.stderr}")
                    for w in wanted:
                        self.assertIn(w, r.stderr, name)

    def test_all_mistakes_at_once(self):
        with temporary() as folder:
            path = pathlib.Path(folder) / "r.yaml"
            path.write_text(HEAD + "steps:\n  - quant.gptq: {damp: x, order: act, layout: {uniform: {bits: 0}}}\nexprot: []\n")
            r = cupel("check", path)
            for w in ("'damp'", "'order'", "'bits'", "exprot"):
                self.assertIn(w, r.stderr)

    def test_settings(self):
        recipe = ROOT / "recipes/tiny-all.yaml"
        good = cupel("check", recipe, "--set", "steps.2.quant.gptq.layout.uniform.bits=3")
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertIn("3-bit", good.stdout)
        bad = cupel("check", recipe, "--set", "steps.9.quant.gptq.damp=1")
        self.assertEqual(bad.returncode, 2)
        self.assertIn("steps.9", bad.stderr)
        worse = cupel("check", recipe, "--set", "nonsense")
        self.assertEqual(worse.returncode, 2)

    def test_generated_docs_are_fresh(self):
        want = cupel("methods", "--markdown").stdout
        self.assertEqual((ROOT / "docs/methods.md").read_text(), want, "run: cupel methods --markdown > docs/methods.md")

    def test_every_recipe_of_ours_is_read(self):
        for recipe in sorted((ROOT / "recipes").glob("*.yaml")):
            r = cupel("check", recipe, "--set", "model.dtype=float32", env={"CUPEL_MODEL": "nowhere"})
            known = r.returncode == 0 or "nowhere" in r.stderr  # a recipe for a model that is not here
            self.assertTrue(known, f"{recipe.name}: {r.stderr}")

    def test_usage(self):
        for args in ([], ["no-such-command"], ["run"], ["generate", "--promt", "x"], ["eval", "--length", "x", "m"]):
            r = cupel(*args)
            self.assertEqual(r.returncode, 2, args)
            self.assertTrue(r.stderr, args)


main()
