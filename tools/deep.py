#!/usr/bin/env python3
"""Runs the long forms of all tests, one after the other, and prints a table of the results.

    tools/deep.py [--seconds-each 600] [--minutes 5] [--only WORD]

A failing stage does not stop the others. Logs are in build/deep/. The exit status is 1 if a stage failed.
"""
import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "deep"


def stages(options: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Returns (name, command, pattern of the lines that report the amount of work)."""
    ctest = r"\d+% tests passed.*"
    return [
        ("gate", "make test", ctest),
        ("clang-tidy and clang, file by file", "make tidy", r"\d+ files checked.*"),
        ("address sanitizer", "make sanitize SANITIZERS=asan", ctest),
        ("undefined behaviour sanitizer", "make sanitize SANITIZERS=ubsan", ctest),
        ("thread sanitizer", "make sanitize SANITIZERS=tsan", ctest),
        (f"fuzzing, {options.seconds_each} s per target", f"make fuzz SECONDS_EACH={options.seconds_each}",
         r"fuzz targets: \d+.*"),
        ("mutants", "make mutants", r"\d+ passed, \d+ failed"),
        (f"torture, {options.minutes} min and 400 kills", f"make torture MINUTES={options.minutes}", r".*\b(?:kills|rounds)\b.*"),
        ("200,000 crash schedules", "PAWL_CRASH_SEEDS=200000 build/release/crash_test --gtest_filter='Quarter*'",
         r"\d+ schedules: .*"),
        ("power loss in 5,000 states of a trace", "python3 -B tests/crash/trace_states.py build/release/pawl --script full --states 5000",
         r"\d+ commands, .*"),
        ("a week in an hour", "python3 -B tests/crash/week.py build/release/pawl --minutes 60", r"\d+ saves, .*"),
        ("flips of every bit", "PAWL_FLIPS=all build/release/crash_test --gtest_filter='BitFlip*'", r"\[  PASSED  \].*"),
        ("attacks at every position",
         "PAWL_ATTACKS=full python3 -B tests/e2e/audit_attacks.py build/release/pawl", r"Ran \d+ tests.*"),
    ]


def last_match(pattern: str, text: str) -> str:
    found = re.findall(pattern, text)
    return found[-1].strip() if found else ""


def run_stage(number: int, name: str, command: str, pattern: str) -> tuple[str, str, str, str]:
    print(f"{name} ...", flush=True)
    log = LOGS / f"{number:02}.log"
    began = time.monotonic()
    with log.open("w") as out:
        status = subprocess.run(["bash", "-c", command], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    minutes = (time.monotonic() - began) / 60
    done = last_match(pattern, log.read_text(errors="replace"))
    return name, "passed" if status == 0 else f"FAILED ({log.relative_to(ROOT)})", f"{minutes:.1f} min", done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds-each", type=int, default=600, help="time per fuzz target in seconds (default: 600)")
    parser.add_argument("--minutes", type=int, default=5, help="time of the torture in minutes (default: 5)")
    parser.add_argument("--only", default="", help="run only stages whose name contains WORD")
    options = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    rows = [run_stage(i, *stage) for i, stage in enumerate(stages(options), 1) if options.only in stage[0]]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    print(f"\nCommit {commit.stdout.strip()}, {time.strftime('%Y-%m-%d')}\n")
    print("| Stage | Result | Time | What ran |\n|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    return 0 if all(row[1] == "passed" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
