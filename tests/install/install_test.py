"""cmake --install into a clean prefix, an external consumer of it, and the installed program."""
import json, os, pathlib, subprocess, sys, unittest
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from support import BIN, ROOT, main, temporary

BUILD = BIN.parent
CONFIG = {"model_type": "llama", "vocab_size": 257, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "tie_word_embeddings": True, "hidden_act": "silu"}


def run(*args, **more):
    r = subprocess.run([str(a) for a in args], capture_output=True, text=True, **more)
    assert r.returncode == 0, f"{args}: exit {r.returncode}\n{r.stdout}\n{r.stderr}"
    return r.stdout


class Install(unittest.TestCase):
    def test_install_and_consume(self):
        with temporary() as folder:
            base = pathlib.Path(folder)
            run("cmake", "--install", BUILD, "--prefix", base / "prefix")
            cupel = base / "prefix/bin/cupel"
            self.assertIn("cupel 0.", run(cupel, "--version"))
            (base / "config.json").write_text(json.dumps(CONFIG))
            if (BIN / "cupel-toolkit").exists():
                run(cupel, "synth", base / "config.json", "--out", base / "m.cupel", "--layout", "{uniform: {bits: 4, group: 32}}")
            run("cmake", "-S", ROOT / "tests/install/consumer", "-B", base / "build", "-G", "Ninja",
                f"-DCMAKE_PREFIX_PATH={base / 'prefix'}", "-DCMAKE_BUILD_TYPE=Release")
            run("cmake", "--build", base / "build")
            if (base / "m.cupel").exists():
                self.assertEqual(run(base / "build/consumer", base / "m.cupel"), "8 tokens\n")


main()
