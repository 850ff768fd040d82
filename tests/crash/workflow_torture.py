#!/usr/bin/env python3
"""Kills `pawl run` and `pawl resume` of one workflow repeatedly until the workflow completes.

After every kill, it checks the records of the run and the files that the steps have written:
  - a step or item that was recorded as completed is never started again
  - every start of a step has the same idempotency key
  - the final outputs equal those of an undisturbed run

  workflow_torture.py --pawl build/release/pawl [--kills 200] [--signal KILL|INT|TERM|mixed] [--seed N] [--full-disk FOLDER]
  workflow_torture.py --pawl build/release/pawl --varied [--kills 1000]     thirty varied workflows, see varied_torture.py
"""
import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import varied_torture

STEP = '''echo "start $PAWL_STEP $PAWL_IDEMPOTENCY_KEY" >> "$LOG"
sleep 0.0$((RANDOM_MS % 4))
echo "end $PAWL_STEP $PAWL_IDEMPOTENCY_KEY" >> "$LOG"
'''


def workflow():
    """40 steps: a sequence, a diamond-shaped DAG, two maps and a loop."""
    lines = ["name: torture", "vars: { log: null }", 'env: { LOG: "${vars.log}", RANDOM_MS: "3" }', "grace: 300ms", "steps:"]

    def step(indent, name, extra="", value="$PAWL_STEP"):
        pad = " " * indent
        lines.append(f"{pad}- id: {name}")
        if extra:
            lines.append(f"{pad}  {extra}")
        lines.append(f"{pad}  run: |")
        for line in STEP.splitlines():
            lines.append(f"{pad}    {line}")
        lines.append(f'{pad}    echo "{value}"')
        lines.append(f"{pad}  capture: {{ format: text }}")

    for i in range(10):
        step(2, f"seq{i}")
    for i in range(8):
        step(2, f"left{i}", "needs: [seq9]" if i == 0 else f"needs: [left{i - 1}]")
        step(2, f"right{i}", "needs: [seq9]" if i == 0 else f"needs: [right{i - 1}, left{max(0, i - 2)}]")
    lines += ["  - id: pages", "    needs: [left7, right7]",
              "    map: { items: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], parallel: 3 }", "    steps:"]
    step(6, "one", value="${item}")
    step(6, "two", value="${steps.one.output} again")
    lines += ["    reduce:", "      id: reduce", "      run: |"]
    lines += ["        " + line for line in STEP.splitlines()] + ['        cut -c1-60 "$PAWL_ITEMS"', "      capture: { format: text }"]
    lines += ["  - id: again", '    loop: { max: 4, until: "loop.iteration >= 3" }', "    steps:"]
    step(6, "turn", value="${loop.iteration}")
    for i in range(10):
        step(2, f"tail{i}")
    return "\n".join(lines) + "\n"


class Torture:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="pawl-workflow-torture-")
        self.file = os.path.join(self.folder, "torture.yaml")
        with open(self.file, "w") as out:
            out.write(workflow())
        self.store = os.path.join(options.full_disk or self.folder, "store")
        self.log = os.path.join(self.folder, "log")
        self.completed = set()
        self.seen_lines = 0
        self.deaths = collections.Counter()

    def pawl(self, *args, store=None, **kwargs):
        return subprocess.run([self.options.pawl, "--store", store or self.store, *args], capture_output=True, text=True, **kwargs)

    def fail(self, text):
        print(f"VIOLATION, seed {self.options.seed}: {text}\nin {self.folder}", file=sys.stderr)
        sys.exit(1)

    def starts(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as log:
            return [line.split() for line in log]

    def records(self, store=None):
        """Returns the completed paths according to events and state, and the outputs of the final state."""
        shown = self.pawl("restore", "t", store=store)
        if shown.returncode != 0:
            return set(), {}
        state = json.loads(shown.stdout)
        completed, outputs = set(), {}
        for path, record in state["steps"].items():
            if record["status"] == "completed":
                completed.add(path)
                outputs[path] = record.get("output")
            failed = set(ranges(record.get("map", {}).get("failed", "")))
            for index in set(ranges(record.get("map", {}).get("done", ""))) - failed:
                completed.update({f"{path}[{index}].one", f"{path}[{index}].two"})
        return completed, outputs

    def check(self):
        """Checks that the last execution started nothing that was already completed."""
        lines = self.starts()
        keys = {}
        for index, line in enumerate(lines):
            if len(line) != 3:
                continue  # interrupted by a kill
            what, path, key = line
            if keys.setdefault(path, key) != key:
                self.fail(f"{path} was started with the keys {keys[path]} and {key}")
            if what == "start" and index >= self.seen_lines and path in self.completed:
                self.fail(f"{path} was completed and started again")
        self.seen_lines = len(lines)
        self.completed, outputs = self.records()
        return outputs

    def alive(self):
        """Returns the processes of steps of this run that are still running."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environ:
                    if f"LOG={self.log}".encode() in environ.read().split(b"\0"):
                        found.append(pid)
            except OSError:
                pass
        return found

    def one_execution(self, resume):
        args = ["resume", "t"] if resume else ["run", self.file, "--run-id", "t", "--var", f"log={self.log}"]
        process = subprocess.Popen([self.options.pawl, "--store", self.store, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.options.full_disk:
            return self.on_a_full_disk(process, args)
        how = self.options.signal
        if how == "mixed":
            how = self.random.choice(["KILL", "INT", "TERM"])
        try:
            out, err = process.communicate(timeout=self.random.uniform(0.01, self.options.life))
        except subprocess.TimeoutExpired:
            process.send_signal(getattr(signal, "SIG" + how))
            self.deaths[how] += 1
            out, err = process.communicate(timeout=60)
            if how in ("INT", "TERM") and process.returncode not in (0, 130, -signal.SIGINT, -signal.SIGTERM):
                self.fail(f"SIG{how} led to exit status {process.returncode}: {err}")
            return False
        if process.returncode == 0:
            return True
        if process.returncode == 2 and "PAWL-0101" in err:
            return False  # killed before its first save
        if process.returncode == 4 and "is completed" in err:
            return True  # killed after its last save
        if process.returncode == 5:
            self.deaths["storage"] += 1
            return False
        self.fail(f"`pawl {args[0]}` exited with {process.returncode}:\n{out}{err}")

    def on_a_full_disk(self, process, args):
        """Fills the disk of the store at a random time; sometimes frees it again in time, sometimes not."""
        filler = os.path.join(self.options.full_disk, "filler")
        time.sleep(self.random.uniform(0.0, self.options.life))
        try:
            with open(filler, "wb", buffering=0) as out:
                while True:
                    out.write(b"x" * 4096)
        except OSError:
            pass
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0.0, 2.0))
            os.remove(filler)
        out, err = process.communicate(timeout=120)
        if os.path.exists(filler):
            os.remove(filler)
        if process.returncode == 0:
            return True
        if process.returncode == 4 and "is completed" in err:
            return True
        self.deaths["full"] += 1
        if process.returncode not in (1, 5):
            self.fail(f"`pawl {args[0]}` exited with {process.returncode} on a full disk:\n{out}{err}")
        return False

    def run(self):
        undisturbed = os.path.join(self.folder, "undisturbed")
        done = self.pawl("run", self.file, "--run-id", "t", "--var", f"log={self.log}.undisturbed", store=undisturbed)
        if done.returncode != 0:
            self.fail(f"the undisturbed run failed: {done.stderr}")
        _, expected = self.records(store=undisturbed)
        began = time.monotonic()
        finished = 0
        while sum(self.deaths.values()) < self.options.kills and finished < self.options.runs:
            exists = self.pawl("restore", "t").returncode == 0
            if self.one_execution(exists):
                outputs = self.check()
                if outputs != expected:
                    self.fail(f"the outputs differ:\n{outputs}\n{expected}")
                if self.pawl("fsck").returncode != 0:
                    self.fail("fsck has found damage")
                finished += 1
                shutil.rmtree(self.store)
                os.remove(self.log)
                self.completed, self.seen_lines = set(), 0
            else:
                self.check()
        if self.alive():
            time.sleep(1)
            if self.alive():
                self.fail(f"steps are still alive: {self.alive()}")
        print(f"{sum(self.deaths.values())} deaths ({dict(self.deaths)}), {finished} runs completed, "
              f"{time.monotonic() - began:.0f} s, seed {self.options.seed}: nothing lost, nothing done twice")
        if finished == 0:
            # The last execution is not killed.
            done = self.pawl("resume", "t")
            if done.returncode != 0 or self.check() != expected:
                self.fail(f"it could not be finished: {done.stderr}")
        shutil.rmtree(self.folder)


def ranges(text):
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pawl", required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--signal", default="KILL", choices=["KILL", "INT", "TERM", "mixed"])
    parser.add_argument("--life", type=float, default=0.5, help="maximum seconds before a kill (default: 0.5)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--full-disk", help="folder on a small file system for the store, which is filled repeatedly")
    parser.add_argument("--runs", type=int, default=10**9, help="stop after this many completed runs")
    parser.add_argument("--varied", action="store_true", help="thirty varied workflows, killed in five ways")
    parser.add_argument("--stores", type=int, default=4, help="with --varied: runs at the same time (default: 4)")
    parser.add_argument("--only", type=int, help="with --varied: this workflow only, from 0")
    parser.add_argument("--modes", default="KILL,TERM,STOP+KILL,reaper,both", help="with --varied: ways to kill (default: all)")
    parser.add_argument("--violations", type=int, default=10, help="with --varied: stop after this many (default: 10)")
    options = parser.parse_args()
    options.pawl = os.path.abspath(options.pawl)
    if options.varied:
        sys.exit(varied_torture.VariedTorture(options).run())
    Torture(options).run()


main()
