"""llama.cpp from the source package of llama-cpp-python: build, conversion, importance matrix, quantization.

Types whose blocks are 256 long do not fit rows of 576 (all but ffn_down in SmolLM2-135M): llama-quantize then takes the next
larger type of 32, and says so. The file's size is counted, whatever the type's name promises.
"""
import os, shutil, sys

TYPES = ("Q8_0", "Q6_K", "Q5_1", "Q5_K_M", "Q5_0", "Q4_K_M", "Q4_1", "IQ4_NL", "IQ4_XS", "Q4_0", "Q3_K_M", "IQ3_S", "IQ3_XXS", "Q2_K",
         "IQ2_S", "IQ2_XS", "IQ2_XXS")
# A tied embedding becomes Q8_0 here unless a type is named for it.
SETTINGS = {**{t: {"type": t} for t in TYPES}, "Q4_0 without imatrix": {"type": "Q4_0", "imatrix": False},
            **{f"{t} and embedding": {"type": t, "embedding": t.lower()} for t in ("Q4_0", "IQ4_NL", "Q5_1")}}
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF",
           "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_UI=OFF"]
PROGRAMS = ("llama-quantize", "llama-imatrix")


THREADS = os.environ.get("OMP_NUM_THREADS") or str(len(os.sched_getaffinity(0)))


def build(python, home, sources, run, version):
    print(f"quality: building llama.cpp in {home} (minutes)", file=sys.stderr, flush=True)
    if not sources.exists():
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        run([*pip, "install", "scikit-build-core"], home / "backend.log")
        run([*pip, "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d", home, f"llama-cpp-python=={version}"], home / "download.log")
        shutil.unpack_archive(home / f"llama_cpp_python-{version}.tar.gz", home, filter="data")
    run(["cmake", "-S", sources, "-B", home / "build", *(["-G", "Ninja"] if shutil.which("ninja") else []), *OPTIONS], home / "configure.log")
    run(["cmake", "--build", home / "build", "--parallel", THREADS, "--target", *PROGRAMS], home / "build.log")


def prepare(python, home, job, run, version):
    """Builds the programs, and makes the model in GGUF and the importance matrix, each where it is not there."""
    sources, programs, shared = home / f"llama_cpp_python-{version}/vendor/llama.cpp", home / "build/bin", job["shared"]
    if not all((programs / p).exists() for p in PROGRAMS):
        build(python, home, sources, run, version)
    full, matrix = shared / "bf16.gguf", shared / "imatrix.gguf"
    if not full.exists():
        part = shared / "part.gguf"
        run([python, sources / "convert_hf_to_gguf.py", job["model"], "--outtype", "bf16", "--outfile", part], shared / "convert.log",
            {"PYTHONPATH": os.pathsep.join(filter(None, [str(sources / "gguf-py"), os.environ.get("PYTHONPATH")]))})
        part.rename(full)
    if not matrix.exists():
        part = shared / "part.gguf"
        run([programs / "llama-imatrix", "-m", full, "-f", job["text"], "-o", part, "-c", job["length"], "-b", job["length"], "--chunks", job["samples"],
             "-t", THREADS, "--no-ppl"], shared / "imatrix.log")
        part.rename(matrix)


def quantize(home, job, run, log):
    setting, out = job["setting"], job["out"].with_name(job["out"].name + ".gguf")
    command = [home / "build/bin/llama-quantize"]
    command += ["--imatrix", job["shared"] / "imatrix.gguf"] if setting.get("imatrix", True) else []
    command += ["--token-embedding-type", setting["embedding"]] if "embedding" in setting else []
    run([*command, job["shared"] / "bf16.gguf", out, setting["type"], THREADS], log)
    return out
