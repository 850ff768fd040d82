#!/usr/bin/env python3
"""Measures the commands on large stores: time and peak memory, as a Markdown table.

    bench/large_stores.py PAWL [--runs 100000] [--checkpoints 1000000] [--folder FOLDER]

The stores are created by `pawl_large_store` beside PAWL: one with many runs of 3 checkpoints each, one whose checkpoints are
in 100 runs, and one with a single run. The prune of all runs has nothing to remove in the first store. Measure on an idle machine.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAVES_OF_A_RUN = 3
LONG_RUNS = (100, 1)
KEPT = 10


def environment():
    return {**{name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}, "NO_COLOR": "1", "PAWL_CHECKPOINT_KEEP": "all"}


# Runs a command and prints its time, peak memory and status. The peak of a process includes what its parent used when it
# was started, so the parent must be small.
LAUNCHER = """
import os, sys, time
began = time.monotonic()
child = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(child, 0)
print(time.monotonic() - began, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status), file=sys.stderr)
"""


def measured(program, store, *args, stdin=None):
    """Runs a command; returns seconds and MiB. A command that fails stops the measurement."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, program, *args], env={**environment(), "PAWL_STORE": str(store)},
                          input=(stdin or "").encode(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    *errors, last = done.stderr.decode().splitlines()
    took, memory, status = last.split()
    if status != "0":
        sys.exit(f"large_stores: pawl {' '.join(args)} exited with {status}: {' '.join(errors)[:500]}")
    return float(took), float(memory)


def create(program, store, runs, saves):
    store.mkdir()
    # Automatic pruning would remove what is to be measured.
    (store / "config.yaml").write_text("checkpoint: { keep: 1000000000 }\n")
    began = time.monotonic()
    builder = Path(program).with_name("pawl_large_store")
    subprocess.run([str(builder), str(store), "--runs", str(runs), "--saves", str(saves)], env=environment(), check=True)
    return time.monotonic() - began


def commands(runs, saves):
    """Returns what is measured: a description, arguments, standard input."""
    last = f"run-{runs - 1:06}"
    middle = f"run-{runs // 2:06}"
    return [
        ("open: show one checkpoint", ["show", f"{middle}@1"], None),
        ("list, 50 runs", ["list"], None),
        ("list, all runs as JSON", ["list", "--json", "--limit", str(runs)], None),
        ("save, first after the creation", ["save", last], '{"after": 1}'),
        ("save", ["save", last], '{"after": 2}'),
        ("save of a new run", ["save", "new"], '{"after": 3}'),
        ("restore, newest", ["restore", middle], None),
        ("restore, in the middle", ["restore", f"{middle}@{max(1, saves // 2)}"], None),
        ("fsck", ["fsck"], None),
        ("prune of one run", ["prune", middle, "--keep", "1"], None),
        (f"prune of all runs, {min(KEPT, saves)} kept", ["prune", "--keep", str(min(KEPT, saves))], None),
        ("fsck after it", ["fsck"], None),
    ]


def size_of(store):
    total = count = 0
    for path, _, names in os.walk(store):
        for name in names:
            total += os.lstat(os.path.join(path, name)).st_blocks * 512
            count += 1
    return total, count


def measure(program, folder, runs, saves):
    store = Path(folder) / f"store-{runs}"
    seconds = create(program, store, runs, saves)
    total, files = size_of(store)
    print(f"\n{runs:,} run{'s' if runs > 1 else ''} with {saves:,} checkpoints each, created in {seconds:.0f} s: {total / 2**20:,.0f} MiB in {files:,} files\n")
    print("| Command | Time | Peak memory |\n|---|---|---|", flush=True)
    for what, args, stdin in commands(runs, saves):
        took, memory = measured(program, store, *args, stdin=stdin)
        print(f"| {what} | {f'{took * 1000:.0f} ms' if took < 1 else f'{took:.1f} s'} | {memory:.0f} MiB |", flush=True)
    shutil.rmtree(store)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the pawl program; pawl_large_store must be beside it")
    parser.add_argument("--runs", type=int, default=100_000, help="runs of the first store (default: 100000)")
    parser.add_argument("--checkpoints", type=int, default=1_000_000, help="checkpoints of the other stores (default: 1000000)")
    parser.add_argument("--folder", help="where the stores are created (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pawl-large-", dir=options.folder) as folder:
        if options.runs:
            measure(os.path.abspath(options.program), folder, options.runs, SAVES_OF_A_RUN)
        if options.checkpoints:
            for runs in LONG_RUNS:
                measure(os.path.abspath(options.program), folder, runs, options.checkpoints // runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
