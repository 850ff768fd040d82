#!/usr/bin/env python3
"""Works on one store with eight processes that are killed in turns, and checks that it neither loses data nor grows.

    tests/crash/week.py PAWL [--minutes 60] [--seed N]

Four processes save, one runs workflows, one prunes, one erases and removes runs, one backs up and checks. For every minute,
the size of the store without audit trails and tombstones and its journals (the average of several samples, because journals
grow and shrink by 4 MiB) and the time of a save are measured. Beside them, a control saves into a store that is new every
minute: it shows how fast the machine was. At the end, everything acknowledged must be there, and the last minutes must be
within 20 % of minute five; the times of saves are compared relative to the control.
"""
import argparse
import hashlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

KEPT = 20  # checkpoints of a run that a prune leaves
SAVES_OF_A_RUN = 60
RUNS_AT_ONCE = 24  # older ones are erased or removed
KILL_EVERY_S = 0.4
SAMPLE_EVERY_S = 4
CONTROL_EVERY_S = 0.1
PATIENCE_S = 120
ALLOWED_GROWTH = 1.2
WORKFLOW = """\
name: week
steps:
  - { id: one, run: 'echo "${run.id} one" >> log' }
  - id: items
    map: { items: [1, 2, 3, 4, 5, 6], parallel: 2 }
    steps: [{ id: item, run: 'sleep 0.05; echo "${run.id} item-${item}" >> log' }]
  - { id: two, run: 'sleep 0.1; echo "${run.id} two" >> log' }
  - { id: three, run: 'echo "${run.id} three" >> log' }
"""


def part_ms(times, share):
    """Returns the time, in milliseconds, that this share of the sorted times does not exceed."""
    return times[min(len(times) - 1, int(len(times) * share))] * 1000 if times else 0.0


class Run:
    """A run of `pawl save`, as far as it was acknowledged."""

    def __init__(self, name):
        self.name, self.states, self.ids, self.gone = name, {}, {}, None  # gone: erase or rm, once asked for


class Week:
    def __init__(self, program, folder, options):
        self.program, self.folder, self.options = program, Path(folder), options
        self.store = self.folder / "store"
        self.lock = threading.Lock()
        self.dice = random.Random(options.seed)
        self.processes = {}  # worker -> process that may be killed
        self.runs, self.workflows, self.times, self.control_times, self.problems = {}, {}, [], [], []
        self.counts = dict.fromkeys(("saves", "kills", "prunes", "erased", "removed", "workflows", "backups", "checks"), 0)
        self.stop = threading.Event()
        self.has_backup = " backup " in self.pawl("--help").stdout.decode()
        self.pawl("init")
        (self.folder / "week.yaml").write_text(WORKFLOW)
        (self.folder / "log").write_text("")

    # Processes.

    def environment(self, store=None):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
        return {**kept, "PAWL_STORE": str(store or self.store), "NO_COLOR": "1", "XDG_CONFIG_HOME": str(self.folder / "config")}

    def pawl(self, *args, stdin=b"", worker=None, store=None):
        """Runs a command. One of a worker can be killed; its status is then -9."""
        process = subprocess.Popen([self.program, *args], cwd=self.folder, env=self.environment(store), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if worker is not None:
            with self.lock:
                self.processes[worker] = process
        try:
            out, errors = process.communicate(stdin, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
            self.problem(f"pawl {' '.join(args)} did not end within {PATIENCE_S} s")
        finally:
            with self.lock:
                self.processes.pop(worker, None)
        return subprocess.CompletedProcess(args, process.returncode, out, errors)

    def kill_some(self):
        while not self.stop.wait(KILL_EVERY_S):
            with self.lock:
                if self.processes:
                    self.processes[self.dice.choice(sorted(self.processes))].kill()
                    self.counts["kills"] += 1

    def problem(self, text):
        with self.lock:
            if len(self.problems) < 50:
                self.problems.append(text[:600])

    def expect(self, done, *statuses):
        """Returns whether a command succeeded. Any other end but being killed is a problem."""
        if done.returncode in (0, *statuses) or done.returncode == -9:
            return done.returncode == 0
        self.problem(f"pawl {' '.join(done.args)} exited with {done.returncode}: {done.stderr.decode(errors='replace')}")
        return False

    # Workers. Each repeats one turn.

    def saver(self, worker, turn, dice):
        run = Run(f"save-{worker}-{turn}")
        with self.lock:
            self.runs[run.name] = run
        state = {"worker": worker, "turn": turn, "log": []}
        for number in range(SAVES_OF_A_RUN):
            if self.stop.is_set():
                return
            state["log"].append("%0200x" % dice.getrandbits(800))
            state["number"] = number
            if number % 20 == 19:
                state["log"] = []
            self.save(worker, run, f"{run.name}-{number}", json.dumps(state).encode())

    def save(self, worker, run, identity, body):
        """Repeats a save with the same id until it is acknowledged."""
        while not self.stop.is_set():
            began = time.monotonic()
            done = self.pawl("save", run.name, "--id", identity, "--wait-lock", "30s", stdin=body, worker=worker)
            took = time.monotonic() - began
            if self.expect(done):
                sequence = int(done.stdout.decode().strip().rpartition("@")[2])
                with self.lock:
                    run.states[sequence] = hashlib.sha256(body).hexdigest()
                    run.ids[identity] = (sequence, body)
                    self.times.append(took)
                    self.counts["saves"] += 1
                return
            if done.returncode != -9:
                return

    def runner(self, worker, turn, dice):
        name = f"flow-{turn}"
        self.workflows[name] = False
        while not self.stop.is_set():
            done = self.pawl("run", "week.yaml", "--run-id", name, "--resume", "--wait-lock", "30s", worker=worker)
            if self.expect(done, 4):
                self.workflows[name] = True
                self.counts["workflows"] += 1
                if turn >= 10:
                    self.pawl("rm", f"flow-{turn - 10}", "--reason", "old", "--force", "--yes")
                return
            if done.returncode == 4 and b"PAWL-0603" in done.stderr:  # gave up after many crashes, as it should
                self.pawl("resume", name)

    def pruner(self, worker, turn, dice):
        if self.expect(self.pawl("prune", "--keep", str(KEPT), "--wait-lock", "5s", worker=worker), 4):
            self.counts["prunes"] += 1
        self.stop.wait(0.5)

    def remover(self, worker, turn, dice):
        with self.lock:
            old = [run for run in self.runs.values() if run.gone is None][:-RUNS_AT_ONCE]
            run = old[0] if old else None
        if run is None:
            self.stop.wait(0.2)
            return
        run.gone = "erase" if turn % 2 else "rm"
        for _ in range(100):
            done = self.pawl(run.gone, run.name, "--reason", "old", "--yes", "--wait-lock", "30s", *(["--force"] if run.gone == "rm" else []), worker=worker)
            already = done.returncode == 2 and b"PAWL-0110" in done.stderr  # the attempt before was killed after it
            if already or self.expect(done, 3) or done.returncode == 3:  # 3: another process completes it
                self.counts["erased" if run.gone == "erase" else "removed"] += 1
                return
            if done.returncode != -9:
                return

    def keeper(self, worker, turn, dice):
        """Backs up, and looks at everything."""
        if self.has_backup:
            if self.expect(self.pawl("backup", "create", f"backup-{turn % 2}", "--force", worker=worker)):
                self.counts["backups"] += 1
        else:
            with self.lock:
                names = [run.name for run in self.runs.values() if run.gone is None and run.states]
            if names and self.pawl("export", dice.choice(names), "-o", "exported", worker=worker).returncode == 0:
                self.counts["backups"] += 1
        for args in (("list",), ("verify", "--all")):
            self.pawl(*args, worker=worker)  # next to erasures and prunes: the end is judged later
            self.counts["checks"] += 1
        self.stop.wait(1)

    def control(self):
        """Saves into new stores, which nobody else uses and nothing has grown in."""
        body = json.dumps({"log": ["%0200x" % self.dice.getrandbits(800) for _ in range(10)]}).encode()
        while not self.stop.is_set():
            store, until = self.folder / "control", time.monotonic() + 60
            while not self.stop.wait(CONTROL_EVERY_S) and time.monotonic() < until:
                began = time.monotonic()
                self.expect(self.pawl("save", "control", stdin=body, store=store))
                with self.lock:
                    self.control_times.append(time.monotonic() - began)
            shutil.rmtree(store, ignore_errors=True)

    def repeat(self, work, worker):
        dice, turn = random.Random(self.options.seed * 100 + worker), 0
        while not self.stop.is_set():
            work(worker, turn, dice)
            turn += 1

    # Measuring.

    def disk_use(self):
        size = journals = proofs = 0
        for path, folders, files in os.walk(self.store):
            erased = "erased.json" in files
            for name in files:
                try:
                    bytes_of_it = os.stat(os.path.join(path, name)).st_size
                except FileNotFoundError:
                    continue
                # Like the audit trail, what is left of erased and removed runs proves what happened, and stays.
                if erased or os.path.basename(path) == "audit":
                    proofs += bytes_of_it
                else:
                    size += bytes_of_it
        if (self.store / "journal").exists():
            journals = len(os.listdir(self.store / "journal"))
        return {"size": size, "proofs": proofs, "journals": journals}

    def measure_minute(self, end):
        """Waits for a minute, or until `end`, and returns the averages of its samples."""
        end = min(end, time.monotonic() + 60)
        samples = []
        while not samples or time.monotonic() < end:
            self.stop.wait(min(SAMPLE_EVERY_S, max(0, end - time.monotonic())))
            samples.append(self.disk_use())
        with self.lock:
            times, self.times = sorted(self.times), []
            control, self.control_times = sorted(self.control_times), []
        means = {what: statistics.mean(sample[what] for sample in samples) for what in samples[0]}
        return {**means, "p50": part_ms(times, 0.5), "p99": part_ms(times, 0.99), "saves": len(times),
                "relative": part_ms(times, 0.99) / max(part_ms(control, 0.99), 1e-9), "control": part_ms(control, 0.99)}

    def work(self):
        jobs = [self.saver] * 4 + [self.runner, self.pruner, self.remover, self.keeper]
        threads = [threading.Thread(target=self.repeat, args=(job, worker)) for worker, job in enumerate(jobs)]
        threads += [threading.Thread(target=self.kill_some), threading.Thread(target=self.control)]
        for thread in threads:
            thread.start()
        rows = []
        print("| Minute | Size | Audit trails and tombstones | Journals | Saves | p50 of a save | p99 of a save | p99 of the control |\n|---|---|---|---|---|---|---|---|", flush=True)
        end = time.monotonic() + self.options.minutes * 60
        while time.monotonic() < end and len(self.problems) < 20:
            row = self.measure_minute(end)
            rows.append(row)
            print(f"| {len(rows)} | {row['size'] / 2**20:.1f} MiB | {row['proofs'] / 2**20:.1f} MiB | {row['journals']:.1f} | {row['saves']} | {row['p50']:.1f} ms | {row['p99']:.1f} ms | {row['control']:.1f} ms |", flush=True)
        self.stop.set()
        for thread in threads:
            thread.join()
        return rows

    # Judging.

    def judge_growth(self, rows):
        """Compares the last five minutes with the five around minute five."""
        if len(rows) < 12:
            return
        for what in ("size", "journals", "relative"):
            early, late = (statistics.median(row[what] for row in part) for part in (rows[2:7], rows[-5:]))
            print(f"{'p99 of a save to that of the control' if what == 'relative' else what}: {early:.1f} around minute five, {late:.1f} at the end ({late / max(early, 1e-9):.2f} x)")
            if late > early * ALLOWED_GROWTH:
                self.problem(f"{what} grew from {early:.1f} to {late:.1f}")

    def judge_facts(self):
        self.expect(self.pawl("fsck", "--repair"))
        self.expect(self.pawl("fsck"))
        self.expect(self.pawl("verify", "--all"))
        done = self.pawl("list", "--json", "--limit", "100000")
        listed = {entry["run"]: entry for entry in json.loads(done.stdout)} if self.expect(done) else {}
        for run in self.runs.values():
            if run.gone is None and run.states:
                self.judge_run(run, listed)
            elif run.gone and self.pawl("restore", run.name).returncode == 0:
                self.problem(f"{run.name} is back after {run.gone}")
        lines = (self.folder / "log").read_text().splitlines()
        for name, completed in self.workflows.items():
            steps = [line for line in lines if line.startswith(name + " ")]
            if completed and len(set(steps)) != 9:
                self.problem(f"{name} completed without some of its steps: {sorted(set(steps))}")

    def judge_run(self, run, listed):
        newest = max(run.states)
        if run.name not in listed or listed[run.name]["latest"] < newest:
            self.problem(f"{run.name}@{newest} was acknowledged and is not listed")
            return
        shown = self.pawl("show", run.name, "--checkpoints", "--after", "0", "--limit", "100000", "--json")
        present = {entry["sequence"] for entry in json.loads(shown.stdout)} if self.expect(shown) else set()
        for sequence, state in run.states.items():
            if sequence in present:
                restored = self.pawl("restore", f"{run.name}@{sequence}")
                if self.expect(restored) and hashlib.sha256(restored.stdout).hexdigest() != state:
                    self.problem(f"{run.name}@{sequence} was altered")
            elif sequence > newest - KEPT:
                self.problem(f"{run.name}@{sequence} was acknowledged, is among the newest {KEPT}, and is missing")
        identity, (sequence, body) = max(run.ids.items(), key=lambda entry: entry[1][0])
        again = self.pawl("save", run.name, "--id", identity, stdin=body)
        if self.expect(again) and again.stdout.decode() != f"{run.name}@{sequence}\n":
            self.problem(f"{run.name}: the repeated id {identity} was saved twice: {again.stdout.decode()}")

    def judge_backup(self):
        """The backups must open elsewhere, with every run that was there for the whole time."""
        for file in sorted(self.folder.glob("backup-*")) if self.has_backup else ():
            place = self.folder / f"restored-{file.name}"
            if self.expect(self.pawl("backup", "restore", str(file), "--to", str(place))):
                self.expect(self.pawl("fsck", store=place))
                self.expect(self.pawl("verify", "--all", store=place))
                self.expect(self.pawl("save", "new", stdin=b"{}", store=place))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the pawl program")
    parser.add_argument("--minutes", type=float, default=60, help="how long to work (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices (default: 1)")
    parser.add_argument("--keep", action="store_true", help="keep the store")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pawl-week-")
    week = Week(os.path.abspath(options.program), folder, options)
    rows = week.work()
    week.judge_growth(rows)
    week.judge_facts()
    week.judge_backup()
    print(", ".join(f"{count} {what}" for what, count in week.counts.items()) + f", {len(week.problems)} problems")
    for problem in week.problems:
        print(f"FAILED: {problem}")
    if options.keep or week.problems:
        print(f"the store is in {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if week.problems or week.counts["saves"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
