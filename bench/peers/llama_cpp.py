"""llama.cpp from the source package of llama-cpp-python: build, conversion, importance matrix, quantization.

Types whose blocks are 256 long do not fit rows of 576 (all but ffn_down in SmolLM2-135M): llama-quantize then takes the next
larger type of 32, and says so. The file's size is counted, whatever the type's name promises.
"""
import os, pathlib, shutil, subprocess, sys

TYPES = ("Q8_0", "Q6_K", "Q5_1", "Q5_K_M", "Q5_0", "Q4_K_M", "Q4_1", "IQ4_NL", "IQ4_XS", "Q4_0", "Q3_K_M", "IQ3_S", "IQ3_XXS", "Q2_K",
         "IQ2_S", "IQ2_XS", "IQ2_XXS")
# "pure": every matrix of one type, so that the types of 32 are measured by themselves; the embedding as in the mixtures.
SETTINGS = {**{t: {"type": t} for t in TYPES}, "Q4_0 without imatrix": {"type": "Q4_0", "imatrix": False},
            **{f"{t} and embedding": {"type": t, "embedding": t.lower()} for t in ("Q4_0", "IQ4_NL", "Q5_1")}}
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF",
           "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_UI=OFF"]
PROGRAMS = ("llama-quantize", "llama-imatrix")


def build(python, home, run, version):
    """The folder with the programs, and the sources."""
    sources = home / f"llama_cpp_python-{version}/vendor/llama.cpp"
    programs = home / "build/bin"
    if all((programs / p).exists() for p in PROGRAMS):
        return programs, sources
    print(f"quality: building llama.cpp in {home} (minutes)", file=sys.stderr, flush=True)
    if not sources.exists():
        run([python, "-m", "pip", "install", "--disable-pip-version-check", "scikit-build-core"], home / "backend.log")
        run([python, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d", home,
             f"llama-cpp-python=={version}"], home / "download.log")
        shutil.unpack_archive(home / f"llama_cpp_python-{version}.tar.gz", home, filter="data")
    run(["cmake", "-S", sources, "-B", home / "build", *(["-G", "Ninja"] if shutil.which("ninja") else []), *OPTIONS], home / "configure.log")
    run(["cmake", "--build", home / "build", "--parallel", str(len(os.sched_getaffinity(0))), "--target", *PROGRAMS], home / "build.log")
    return programs, sources


def quantize(python, home, setting, job, run):
    from .table import version
    programs, sources = build(python, home, run, version("llama.cpp"))
    shared = pathlib.Path(job["shared"])
    full, matrix = shared / "bf16.gguf", shared / "imatrix.gguf"
    if not full.exists():
        part = full.with_suffix(".part")
        run([python, sources / "convert_hf_to_gguf.py", job["model"], "--outtype", "bf16", "--outfile", part], shared / "convert.log",
            env={"PYTHONPATH": str(sources / "gguf-py")})
        part.rename(full)
    wanted = setting.get("imatrix", True)
    if wanted and not matrix.exists():
        part = shared / "imatrix.part.gguf"
        threads = os.environ.get("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
        run([programs / "llama-imatrix", "-m", full, "-f", job["text"], "-o", part, "-c", job["length"], "-b", job["length"], "--chunks", job["samples"],
             "-t", threads, "--no-ppl"], shared / "imatrix.log")
        part.rename(matrix)
    out = job["out"].with_name(job["out"].name + ".gguf")
    command = [programs / "llama-quantize"] + (["--imatrix", matrix] if wanted else [])
    command += ["--token-embedding-type", setting["embedding"]] if "embedding" in setting else []
    run([*command, full, out, setting["type"], os.environ.get("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))])
    return out
