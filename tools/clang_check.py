#!/usr/bin/env python3
"""Compiles every source file of src/ alone with clang, without producing code.

    tools/clang_check.py [--jobs N] [PATH...]

Finds what the g++ build in batches can't: violations of the thread-safety annotations, and files that only compile
because another file of their batch included something. Prints clang's messages; the exit status is 1 if there are any.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++23", "-fsyntax-only", "-Wall", "-Wextra", "-Wthread-safety", "-Werror", "-Iinclude", "-Isrc"]
# Sources that need what cmake generates.
GENERATED = {"src/app/main/build_info.cpp", "src/app/main/main.cpp"}


def precompiled_headers() -> list[str]:
    """Returns the headers that cmake/options.cmake precompiles for g++."""
    text = (ROOT / "cmake/options.cmake").read_text()
    return re.findall(r"<[^>]+>", re.search(r"set\(pawl_precompiled_headers(.*?)\)", text, re.DOTALL)[1])


def run_clang(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["clang++-19", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("paths", nargs="*", help="source files (default: all of src/ except tests)")
    options = parser.parse_args()
    paths = options.paths or sorted(
        path for path in (str(p.relative_to(ROOT)) for p in (ROOT / "src").rglob("*.cpp"))
        if not path.endswith("_test.cpp") and path not in GENERATED)
    with tempfile.TemporaryDirectory() as folder:
        header = Path(folder) / "shared.hpp"
        header.write_text("".join(f"#include {name}\n" for name in precompiled_headers()))
        shared = str(header) + ".pch"
        made = run_clang(["-std=c++23", "-x", "c++-header", str(header), "-o", shared])
        if made.returncode != 0:
            sys.stderr.write(made.stderr)
            return 1
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda path: run_clang([*FLAGS, "-include-pch", shared, path]), paths))
    failed = [result for result in results if result.returncode != 0]
    for result in failed:
        sys.stderr.write(result.stderr)
    print(f"{len(paths)} files checked, {len(failed)} with errors")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
