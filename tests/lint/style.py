#!/usr/bin/env python3
"""File sizes, SPDX heads, ASCII sources, tests that are in a build list. Exit 1 with a line for each violation."""
import pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = {".h": 200, ".cpp": 500, ".cu": 500, ".cuh": 200, ".inl": 500}


def files():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / f for f in out.stdout.splitlines() if (ROOT / f).is_file()]


def main():
    problems, listed = [], ""
    every = files()
    for path in every:
        if path.name == "CMakeLists.txt" or path.suffix == ".cmake":
            listed += path.read_text(encoding="utf-8")
    for path in every:
        if path.suffix not in LIMIT:
            continue
        name, text = path.relative_to(ROOT), path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > LIMIT[path.suffix]:
            problems.append(f"{name}: {lines} lines, more than {LIMIT[path.suffix]}")
        if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n"):
            problems.append(f"{name}: no SPDX line at the top")
        if path.suffix == ".cpp" and path.name not in listed:
            problems.append(f"{name}: in no build list")
    print("\n".join(problems) if problems else "style: clean")
    return 1 if problems else 0


sys.exit(main())
