"""Every quantization method and every layout end to end, by what `cupel methods` lists: a new one is run without a line here."""
import json, pathlib, unittest
from support import ROOT, cupel, cupel_json, main, temporary

RECIPE = """version: 1
model: {{from: {{scratch: {{hidden: 96, layers: 2, heads: 6, kv_heads: 2, intermediate: 136, positions: 128}}}}}}
seed: 17
data: {{calibration: {{file: {root}/data/calibration.txt, samples: 4, length: 64}}}}
steps:
  - {step}
export:
  - artifact: {{path: model.cupel}}
evaluate: {{speed: false, perplexity: [{{file: {root}/data/heldout.txt, length: 64, samples: 4}}]}}
"""
# Methods that are made for one layout and refuse the others by name.
OWN_LAYOUT = ("quant.tile", "quant.annealed")


class Methods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        listed = cupel_json("methods", "--json")
        cls.methods = {m["name"]: m for m in listed["steps"] if m["name"].startswith("quant.")}
        layout = next(p for p in cls.methods["quant.rtn"]["parameters"] if p["name"] == "layout")
        cls.layouts = [name.strip() for name in layout["allowed"].split(",")]

    def run_step(self, step):
        with temporary() as folder:
            out = pathlib.Path(folder) / "run"
            recipe = pathlib.Path(folder) / "recipe.yaml"
            recipe.write_text(RECIPE.format(root=ROOT, step=step))
            r = cupel("run", recipe, "--out", out)
            if r.returncode:
                return r, None
            self.assertEqual(cupel("inspect", out / "model.cupel", "--verify").returncode, 0)
            # The runtime on packed weights against LibTorch on the decoded ones.
            both = cupel_json("eval", out / "model.cupel", "--engine", "runtime", "--against", out / "model.cupel",
                              "--against-engine", "torch", "--perplexity", ROOT / "data/heldout.txt", "--length", 64,
                              "--blocks", 2, "--json", "-")
            self.assertLess(both["divergence"]["kl_mean"], 1e-5, step)
            return r, json.loads((out / "summary.json").read_text())

    def test_every_layout_by_rtn_and_gptq(self):
        for layout in self.layouts:
            kl = {}
            for method in ("quant.rtn", "quant.gptq"):
                with self.subTest(layout=layout, method=method):
                    r, summary = self.run_step(f'{method}: {{layers: "*", layout: {layout}}}')
                    self.assertEqual(r.returncode, 0, r.stderr)
                    kl[method] = summary["after"]["divergence"]["kl_mean"]
                    self.assertLess(kl[method], 1.0, summary["after"]["divergence"])

    def test_every_method_with_its_defaults(self):
        for method in self.methods:
            if method in ("quant.rtn", "quant.gptq"):
                continue
            with self.subTest(method=method):
                r, summary = self.run_step(f'{method}: {{layers: "*"}}')
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertEqual(summary["fallbacks"], [], method)

    def test_methods_for_one_layout_say_so(self):
        for method in OWN_LAYOUT:
            with self.subTest(method=method):
                r, _ = self.run_step(f'{method}: {{layers: "*", layout: uniform}}')
                self.assertEqual(r.returncode, 2, r.stderr)
                self.assertIn("layout must be", r.stderr)

    def test_metrics(self):
        for metric in ("activation", "asymmetric", "fisher", "guided", "two-sided"):
            with self.subTest(metric=metric):
                r, _ = self.run_step(f'quant.gptq: {{layers: "*", layout: {{uniform: {{bits: 3}}}}, metric: {metric}, passes: 1}}')
                self.assertEqual(r.returncode, 0, r.stderr)

    def test_auto_can_keep_matrices_of_one_input_alike(self):
        layouts = {}
        for unit in ("matrix", "group"):
            with temporary() as folder:
                recipe = pathlib.Path(folder) / "recipe.yaml"
                recipe.write_text(RECIPE.format(root=ROOT, step=f'quant.auto: {{layers: "*", bits: 3.7, unit: {unit}}}'))
                out = pathlib.Path(folder) / "run"
                self.assertEqual(cupel("run", recipe, "--out", out).returncode, 0)
                layouts[unit] = {t["name"]: t["layout"] for t in cupel_json("inspect", out / "model.cupel", "--json")["tensors"]}
                plan = json.loads(next((out / "plans").glob("*.json")).read_text())
                self.assertLessEqual(plan["bits"], 3.7)
                self.assertLessEqual(plan["divergence"], plan["divergence_of_best_single"])

        def kinds(unit, layer, *names):
            return {layouts[unit][f"model.layers.{layer}.{n}.weight"] for n in names}
        groups = [("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), ("mlp.gate_proj", "mlp.up_proj")]
        self.assertEqual({len(kinds("group", layer, *names)) for layer in (0, 1) for names in groups}, {1})
        self.assertEqual(max(len(kinds("matrix", layer, *names)) for layer in (0, 1) for names in groups), 2)

    def test_auto_by_cross_layer_tells_what_it_chose_by(self):
        with temporary() as folder:
            recipe, out = pathlib.Path(folder) / "recipe.yaml", pathlib.Path(folder) / "run"
            recipe.write_text(RECIPE.format(root=ROOT, step='quant.auto: {layers: "*", bits: 3.7, score: cross-layer}'))
            r = cupel("run", recipe, "--out", out)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn("sensitivity_by_type", r.stderr)
            self.assertNotIn("sensitivities", r.stderr)  # tables stay in the file
            plan = json.loads(next((out / "plans").glob("*.json")).read_text())
            self.assertEqual(set(plan["sensitivities"]), set(plan["matrices"]))
            self.assertEqual({len(c) for c in plan["costs"].values()}, {5})
            self.assertEqual(len(plan["sensitivity_by_type"]), 7)
            own = [row[1] for row in plan["sensitivity_by_type"]]
            self.assertEqual(own, sorted(own, reverse=True))
            self.assertNotEqual(plan["predicted"], plan["predicted_alone"])
            self.assertLessEqual(plan["bits"], 3.7)

    def test_sensitivity_predicts_what_a_change_does(self):
        with temporary() as folder:
            folder = pathlib.Path(folder)
            import tiny_model
            tiny_model.write(folder / "model")
            recipe = folder / "recipe.yaml"
            recipe.write_text(f"version: 1\nmodel: {{path: {folder}/model, dtype: float32}}\nsteps:\n"
                              "  - quant.rtn: {layers: \"*\", layout: {uniform: {bits: 6, group: 32}}}\n"
                              "export:\n  - safetensors: {path: model, dtype: float32}\nevaluate: {speed: false}\n")
            r = cupel("run", recipe, "--out", folder / "run")
            self.assertEqual(r.returncode, 0, r.stderr)
            text = ("--text", ROOT / "data/calibration.txt", "--samples", 32, "--length", 64)
            found = cupel_json("sensitivity", folder / "model", *text, "--changed", folder / "run/model", "--sampled", "--json")
            measured = cupel_json("eval", folder / "run/model", "--engine", "torch", "--against", folder / "model", "--perplexity",
                                  ROOT / "data/calibration.txt", "--length", 64, "--blocks", 32, "--json", "-")["divergence"]["kl_mean"]
            change = found["changes"][0]
            self.assertEqual(len(change["predicted"]["matrices"]), len(found["matrices"]))
            # Rounding to 6 bits is far below where the second order ends; 32 draws of labels and Kronecker remain.
            self.assertLess(abs(change["sampled"]["together"] / measured - 1), 0.8, (change["sampled"]["together"], measured))
            self.assertLess(abs(change["predicted"]["alone"] / measured - 1), 0.8, (change["predicted"]["alone"], measured))
            table = cupel("sensitivity", folder / "model", *text)
            self.assertEqual(table.returncode, 0, table.stderr)
            self.assertEqual(len(table.stdout.splitlines()), 8)
            r = cupel("sensitivity", folder / "model", *text, "--changed", ROOT / "data")
            self.assertNotEqual(r.returncode, 0)

    def test_recipes_are_sound(self):
        for recipe in sorted((ROOT / "recipes").glob("*.yaml")):
            with self.subTest(recipe=recipe.name):
                if "CUPEL_MODEL" not in recipe.read_text():
                    continue
                with temporary() as folder:
                    import tiny_model
                    model = pathlib.Path(folder) / "model"
                    tiny_model.write(model)
                    r = cupel("run", recipe, "--model", model, "--out", pathlib.Path(folder) / "run",
                              "--set", "data.calibration.samples=4", "--set", "data.calibration.length=32",
                              "--set", "evaluate.perplexity=[]", "--set", "evaluate.speed=false")
                    self.assertEqual(r.returncode, 0, recipe.name + r.stderr)


if __name__ == "__main__":
    main()
