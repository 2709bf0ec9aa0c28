"""What the end-to-end tests share. Standard library only; the programs are found in CUPEL_BIN."""
import json, os, pathlib, subprocess, sys, tempfile, unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CUPEL_BIN", ROOT / "build/release/bin"))
CUPEL = str(BIN / "cupel")
CACHE = pathlib.Path(os.environ.get("CUPEL_CACHE", pathlib.Path.home() / ".cache/cupel"))
VENV_PYTHON = CACHE / "venv/bin/python"
SHARED = pathlib.Path(os.environ.get("CUPEL_SHARED", ROOT.parent / "shared"))
FULL = bool(os.environ.get("CUPEL_FULL_TESTS"))


def cupel(*args, timeout=600, env=None, cwd=ROOT, **more):
    return subprocess.run([CUPEL, *map(str, args)], capture_output=True, text=True, timeout=timeout, cwd=cwd,
                          env={**os.environ, **(env or {})}, **more)


def cupel_json(*args, **more):
    r = cupel(*args, **more)
    if r.returncode:
        raise AssertionError(f"cupel {' '.join(map(str, args))} exited with {r.returncode}:\n{r.stderr}")
    return json.loads(r.stdout)


def temporary():
    return tempfile.TemporaryDirectory(prefix="cupel-test-")


def main():
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
