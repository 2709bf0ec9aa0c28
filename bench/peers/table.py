"""Other quantizers: pinned versions, their settings, and how one of them makes its files from a Hugging Face folder.

Every peer lives in an environment of its own below the folder of peers; `setup` makes it from PyPI and does nothing where it is
there. Without a network the packages can be beside it already: CUPEL_PEER_PYTHON names a Python that has all of them.
"""
import json, os, pathlib, subprocess, sys, venv

from . import llama_cpp

HERE = pathlib.Path(__file__).resolve().parent
TORCH = ["torch==2.11.0", "transformers==5.17.0"]
# The width of SmolLM2-135M, 576, is a multiple of 64 and not of 128: all groups are 64, as ours.
GROUP = 64
PEERS = {
    "llama.cpp": {"pins": ["llama-cpp-python==0.3.36", *TORCH, "sentencepiece==0.2.2"], "settings": llama_cpp.SETTINGS},
    # 7.7.0 asks for torch 2.14.1.
    "GPTQModel": {"pins": ["gptqmodel==7.6.0", *TORCH], "worker": "with_gptqmodel.py", "settings": {
        **{f"{b} bits": {"bits": b} for b in (2, 3, 4, 8)}, "4 bits act-order": {"bits": 4, "desc_act": True, "act_group_aware": False}}},
    "AutoRound": {"pins": ["auto-round==0.16.1", *TORCH], "worker": "with_auto_round.py", "settings": {
        **{f"{b} bits": {"bits": b} for b in (2, 3, 4, 8)}, **{f"{b} bits asymmetric": {"bits": b, "sym": False} for b in (2, 3, 4)}}},
    "llm-compressor": {"pins": ["llmcompressor==0.14.0.1", *TORCH], "worker": "with_llm_compressor.py", "settings": {
        **{f"GPTQ {b} bits": {"method": "gptq", "bits": b} for b in (2, 3, 4, 8)},
        **{f"RTN {b} bits": {"method": "rtn", "bits": b} for b in (3, 4, 8)}, "GPTQ 4 bits asymmetric": {"method": "gptq", "bits": 4, "symmetric": False}}},
}


def version(tool):
    return PEERS[tool]["pins"][0].split("==")[1]


def run(command, log, env=None):
    """Runs a peer; its output goes to a file, and the file's end into the error. What it drops where it stands lands there too."""
    with open(log, "w") as f:
        done = subprocess.run(list(map(str, command)), stdout=f, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, cwd=pathlib.Path(log).parent)
    if done.returncode:
        end = " | ".join(pathlib.Path(log).read_text(errors="replace").strip().splitlines()[-4:])
        raise RuntimeError(f"{pathlib.Path(str(command[0])).name} exited with {done.returncode}; {log}: {end[-600:]}")


def setup(tool, folder):
    """The Python of the peer's environment, made when it is not there."""
    if os.environ.get("CUPEL_PEER_PYTHON"):
        return pathlib.Path(os.environ["CUPEL_PEER_PYTHON"])
    home = folder / tool
    python, stamp = home / "bin/python", home / "pins.txt"
    pins = "\n".join(PEERS[tool]["pins"])
    if not stamp.exists() or stamp.read_text() != pins:
        print(f"quality: installing {tool} into {home}", file=sys.stderr, flush=True)
        if not python.exists():
            venv.create(home, with_pip=True)
        packages = [p for p in PEERS[tool]["pins"] if not p.startswith("llama-cpp-python")]  # only its sources are wanted
        run([python, "-m", "pip", "install", "--disable-pip-version-check", *packages], home / "install.log")
        stamp.write_text(pins)
    return python


def prepare(tool, job, folder):
    """What all settings of a tool need, before anything is timed: its programs and, for llama.cpp, two shared files."""
    python = setup(tool, folder)
    if tool == "llama.cpp":
        llama_cpp.prepare(python, folder / tool, job, run, version(tool))
    return python


def quantize(tool, job, folder):
    """Writes the peer's files below job["out"] and returns what `cupel eval` reads, a folder or a GGUF file."""
    python = setup(tool, folder)
    log = job["out"].with_name(job["out"].name + ".log")
    if tool == "llama.cpp":
        return llama_cpp.quantize(folder / tool, job, run, log)
    request = {"model": str(job["model"]), "calibration": job["calibration"], "out": str(job["out"]), "device": job["device"],
               "setting": {"group": GROUP, **job["setting"]}}
    asked = job["out"].with_name(job["out"].name + ".json")
    asked.write_text(json.dumps(request))
    run([python, HERE / PEERS[tool]["worker"], asked], log, {"HF_HUB_OFFLINE": "1", "PYTHONSAFEPATH": "1"})
    found = list(job["out"].rglob("config.json"))  # AutoRound makes a folder of its own inside
    if len(found) != 1:
        raise RuntimeError(f"{tool} left {len(found)} model folders in {job['out']}; {log}")
    return found[0].parent
