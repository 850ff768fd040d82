#!/usr/bin/env python3
"""Reports which lines of src/ and include/ the tests ran, from the gcov counters in a build folder.

    tools/coverage.py build/coverage [--missed]
"""
import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def read_counts(build: Path) -> dict[str, dict[int, int]]:
    """Returns file -> line -> number of executions, summed over all programs."""
    counts: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for notes in sorted(build.resolve().rglob("*.gcno")):
        data = notes.with_suffix(".gcda")
        # A file that never ran has no .gcda; gcov then uses its .gcno file.
        out = subprocess.run(["gcov", "--json-format", "--stdout", str(data if data.exists() else notes)],
                             cwd=build, capture_output=True, check=True).stdout
        for report in filter(None, out.splitlines()):
            document = json.loads(report)
            for file in document["files"]:
                path = Path(document["current_working_directory"], file["file"]).resolve()
                if not path.is_relative_to(ROOT) or path.is_relative_to(build.resolve()):
                    continue
                name = path.relative_to(ROOT).as_posix()
                if name.startswith(("src/", "include/")) and not name.endswith("_test.cpp"):
                    for line in file["lines"]:
                        counts[name][line["line_number"]] += line["count"]
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--missed", action="store_true", help="list the lines that never ran")
    arguments = parser.parse_args()
    counts = read_counts(arguments.build)
    if not counts:
        print(f"coverage: no counters in {arguments.build}; run: make coverage", file=sys.stderr)
        return 1
    folders: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, lines in sorted(counts.items()):
        for key in (str(Path(name).parent), "total"):
            folders[key][0] += sum(1 for count in lines.values() if count)
            folders[key][1] += len(lines)
        if arguments.missed:
            for number in sorted(n for n, count in lines.items() if not count):
                print(f"{name}:{number}")
    total = folders.pop("total")
    for folder, (ran, lines) in sorted(folders.items()) + [("total", tuple(total))]:
        print(f"  {folder:<26} {100 * ran / lines:5.1f} %  {ran:6} of {lines} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
