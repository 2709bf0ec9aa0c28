"""SmolLM2-135M-Instruct against reference figures. Slow: runs with CUPEL_FULL_TESTS=1 (scripts/test --full)."""
import os, pathlib, subprocess, unittest
from support import BIN, FULL, ROOT, SHARED, CACHE, cupel, cupel_json, main, temporary

MODEL = CACHE / "models/SmolLM2-135M-Instruct.Q4_1.gguf"


def wikitext(folder):
    """WikiText-2 as the GPTQ protocol reads it, from the shared data set; None when it is not there."""
    archive = SHARED / "data/text.tar.xz"
    if not archive.exists():
        return None
    subprocess.run(["tar", "xf", archive, "-C", folder], check=True)
    return next(pathlib.Path(folder).rglob("wiki.test.hf-joined.txt"))


@unittest.skipUnless(FULL, "slow: set CUPEL_FULL_TESTS=1")
class RealModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([ROOT / "scripts/fetch-model"], check=True)
        cls.folder = temporary()
        cls.text = wikitext(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def wikitext(self):
        if self.text is None:
            self.skipTest("needs data/text.tar.xz of the shared data (WikiText-2)")
        return self.text

    def perplexity(self, blocks, rounding):
        r = cupel_json("eval", MODEL, "--engine", "torch", "--perplexity", self.wikitext(), "--length", 2048, "--blocks", blocks,
                       "--weights-dtype", rounding, "--json", "-", timeout=3000)
        return r["perplexity"][0]["value"]

    def test_wikitext_twenty_blocks(self):
        self.assertAlmostEqual(self.perplexity(20, "bfloat16"), 20.9625, delta=0.002)

    def test_wikitext_first_block(self):
        self.assertAlmostEqual(self.perplexity(1, "bfloat16"), 15.1477, delta=0.0005)
        self.assertAlmostEqual(self.perplexity(1, "stored"), 15.1467, delta=0.0005)

    def test_rounding_reference(self):
        program = BIN.parent / "tests/real/rounding_reference_test"
        r = subprocess.run([program], capture_output=True, text=True,
                           env={**os.environ, "CUPEL_REAL_MODEL": str(MODEL), "CUPEL_WIKITEXT": str(self.wikitext())})
        print(r.stdout[-600:])
        self.assertEqual(r.returncode, 0, r.stdout)

    def test_cold_start(self):
        import time
        out = pathlib.Path(self.folder.name) / "w4"
        recipe = pathlib.Path(self.folder.name) / "r.yaml"
        recipe.write_text(f"version: 1\nmodel: {{path: {MODEL}, dtype: bfloat16}}\nsteps:\n"
                          "  - quant.rtn: {layout: {uniform: {bits: 4, group: 64}}}\n"
                          "  - quant.rtn: {layers: model.embed_tokens, layout: {uniform: {bits: 6, group: 64}}}\n"
                          "export:\n  - artifact: {path: m.cupel}\nevaluate: {speed: false}\n")
        r = cupel("run", recipe, "--out", out, timeout=1200)
        self.assertEqual(r.returncode, 0, r.stderr)
        seconds = []
        for _ in range(5):
            start = time.monotonic()
            cupel("generate", out / "m.cupel", "--prompt", "The capital of France is", "--max-tokens", 1)
            seconds.append(time.monotonic() - start)
        parity = cupel_json("eval", out / "m.cupel", "--engine", "runtime", "--against", out / "m.cupel", "--against-engine", "torch",
                            "--perplexity", ROOT / "data/heldout.txt", "--length", 1024, "--blocks", 4, "--json", "-", timeout=1200)
        print("KL of the runtime from LibTorch on equal weights:", parity["divergence"]["kl_mean"])
        self.assertLess(parity["divergence"]["kl_mean"], 1e-4)
        print("start to first token:", [round(s, 3) for s in seconds])
        self.assertLess(min(seconds), 0.3)


main()
