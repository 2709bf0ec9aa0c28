#!/usr/bin/env python3
"""Checks that includes follow the module table of src/README.md. Exit 1 with file and line of each violation."""
import pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = {  # module: modules that it may include
    "base": set(),
    "net": {"base"},
    "text": {"base"},
    "format": {"base"},
    "kernels": {"base", "format"},
    "runtime": {"base", "text", "format", "kernels"},
    "core": {"base", "text", "format", "kernels"},
    "quant": {"base", "text", "format", "kernels", "core"},
    "prune": {"base", "text", "format", "kernels", "core"},
    "distill": {"base", "text", "format", "kernels", "core"},
    "eval": {"base", "net", "text"},
    "export": {"base", "text", "format"},
    "cli": None,  # everything
}
TORCH_FREE = {"base", "net", "text", "format", "kernels", "runtime", "eval", "export"}
BANNED_IN_HEADERS = re.compile(r'<(nlohmann/json\.hpp|yaml-cpp|hdf5\.h|CLI/|pcre2\.h|boost/)')
BANNED = re.compile(r'<(torch/torch\.h|ATen/ATen\.h)>')
TORCH = re.compile(r'<(ATen|c10|torch)/')


def folder(module):
    return ROOT / ("src/" + module if (ROOT / "src" / module).is_dir() else module)


def check(module, path, problems):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{path.relative_to(ROOT)}:{number}"
        m = re.match(r'\s*#\s*include\s+"([^"/]+)/', line)
        if m and m.group(1) in ALLOWED and m.group(1) != module and ALLOWED[module] is not None:
            if m.group(1) not in ALLOWED[module]:
                problems.append(f"{where}: {module} may not include {m.group(1)}")
        if "at::parallel_for(" in line and path.name not in {"parallel.cpp", "parallel.h"}:
            problems.append(f"{where}: at::parallel_for is serial without OpenMP; use core::parallel_for")
        if not re.match(r"\s*#\s*include", line):
            continue
        if BANNED.search(line):
            problems.append(f"{where}: include per-operator headers (ATen/ops/<op>.h)")
        if module in TORCH_FREE and TORCH.search(line):
            problems.append(f"{where}: {module} is free of LibTorch")
        if path.suffix == ".h" and BANNED_IN_HEADERS.search(line) and path.name != "options.h":
            problems.append(f"{where}: this library stays out of headers")


def main():
    problems = []
    for module in ALLOWED:
        for path in sorted(folder(module).rglob("*")):
            if path.suffix in {".h", ".cpp", ".cu", ".cuh", ".inl"}:
                check(module, path, problems)
    print("\n".join(problems) if problems else "layers: clean")
    return 1 if problems else 0


sys.exit(main())
