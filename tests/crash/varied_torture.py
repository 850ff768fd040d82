"""Kills runs of thirty varied workflows at random times, in several ways, and resumes them until they are done.

A part of workflow_torture.py (`--varied`). Each step appends to a log outside of the store, with its path and its
idempotency key. After every execution it checks:
  - a step that was recorded as completed, or whose successor has started, is not started again
  - what is recorded as completed has run to its end, and every start of a step has the same idempotency key
  - an execution ends within 60 s, with 0 (done), 3 (waiting), 5 (the reaper was killed) or 130 (interrupted)
At the end the outputs equal those of an undisturbed run, each cost is counted once, and the store is undamaged.
"""
import collections
import concurrent.futures
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import torture_workflows as workflows

STUCK_S = 60
EXECUTIONS_MAX = 40  # a run that needs more is stuck
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t"]


class Violation(Exception):
    pass


def reaper_of(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            for child in children.read().split():
                with contextlib.suppress(OSError), open(f"/proc/{child}/comm") as comm:
                    if comm.read().strip() == "pawl-reaper":
                        return int(child)
    return None


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def ranges(text):
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


class Run:
    """One run of one workflow in a store of its own."""

    def __init__(self, options, number, seed, has_finally):
        self.options = options
        self.seed = seed
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="pawl-torture-")
        self.name, self.workflow = workflows.workflow(number, has_finally)
        self.path = os.path.join(self.folder, "workflow.yaml")
        self.log = os.path.join(self.folder, "log")
        self.env = {**os.environ, "PAWL_STORE": os.path.join(self.folder, "store"), "TOP": self.folder, "LOG": self.log, "OUT": os.path.join(self.folder, "out"),
                    "XDG_CONFIG_HOME": os.path.join(self.folder, "xdg")}
        self.env.pop("PAWL_RUN", None)
        self.deaths = collections.Counter()
        self.completed = {}  # run -> paths that a resume must not start again
        self.seen = 0
        self.before = {step: needs for step, several in workflows.predecessors([self.workflow, list(workflows.CHILDREN.values())]).items()
                       if len(several) == 1 for needs in several}
        self.signalled = False
        self.write()

    def write(self):
        files = {"workflow.yaml": json.dumps(self.workflow, indent=1), "step.sh": workflows.SCRIPT, "added.sh": workflows.ADDED,
                 **{name: json.dumps(value, indent=1) for name, value in workflows.CHILDREN.items()}}
        for name, text in files.items():
            with open(os.path.join(self.folder, name), "w") as out:
                out.write(text)
        for name in ("step.sh", "added.sh"):
            os.chmod(os.path.join(self.folder, name), 0o755)
        if "worktree" in self.name:
            self.git("init", "-q", "-b", "main")
            with open(os.path.join(self.folder, ".git/info/exclude"), "w") as out:
                out.write("*\n!/x-*\n!/y-*\n")
            self.git("commit", "-q", "--allow-empty", "-m", "first")

    def git(self, *args):
        return subprocess.run([*GIT, *args], cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def pawl(self, *args):
        try:
            return subprocess.run([self.options.pawl, *args], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=STUCK_S, check=False, errors="replace")
        except subprocess.TimeoutExpired:
            raise Violation(f"`pawl {' '.join(args)}` does not end") from None

    # What is recorded.

    def states(self):
        """Returns the state of each run of the store."""
        folder = os.path.join(self.env["PAWL_STORE"], "runs")
        found = {}
        for run in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            shown = self.pawl("restore", run)
            if shown.returncode == 0:
                found[run] = json.loads(shown.stdout)
        return found

    @staticmethod
    def recorded(state):
        """Returns the paths that are recorded as completed; of a map and a loop also `map[3]`, `loop[2]`."""
        paths = set()
        for path, record in state["steps"].items():
            if record["status"] == "completed":
                paths.add(path)
            done = record.get("map", {})
            paths.update(f"{path}[{index}]" for index in set(ranges(done.get("done", ""))) - set(ranges(done.get("failed", ""))))
            paths.update(f"{path}[{index}]" for index in range(1, record.get("iteration", 0)))
        return paths

    @staticmethod
    def is_within(path, completed):
        """Returns what is completed of the path and of everything around it."""
        for end in range(1, len(path) + 1):
            if (end == len(path) or path[end] in ".[") and path[:end] in completed:
                return path[:end]
        return None

    def lines(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as log:
            return [line.split(" ") for line in log.read().split("\n")[:-1]]

    def check(self):
        """Checks what the last execution has started, and notes what is completed now."""
        lines = [line for line in self.lines() if len(line) == 3]
        keys, ended = {}, set()
        for index, (what, where, key) in enumerate(lines):
            run, _, path = where.partition("/")
            if path.startswith("finally."):
                continue  # repeated with another key if a resume did more work
            if what == "end":
                ended.add((run, path))
            if keys.setdefault((run, path), key) != key:
                raise Violation(f"{where} was started with the keys {keys[run, path]} and {key}")
            if what != "start" or index < self.seen:
                continue
            done = self.completed.setdefault(run, set())
            around = self.is_within(path, done)
            if around is not None:
                raise Violation(f"{where} was started again, although {around} was completed")
            scope, dot, step = path.rpartition(".")
            done.update(f"{scope}{dot}{before}" for before in self.before.get(step, ()))
        self.seen = len(lines)
        states = self.states()
        for run, state in states.items():
            recorded = self.recorded(state)
            self.completed.setdefault(run, set()).update(recorded)
            own = {path for path in (where for where in state["steps"] if where in recorded) if (run, path) in keys}
            for path in own:
                rescued = any(other.startswith(path + ".on_failure") for other in state["steps"])
                if (run, path) not in ended and not rescued:
                    raise Violation(f"{run}/{path} is recorded as completed, but never ended")
        return states

    # Executions.

    def answer(self, states):
        """Answers the gates that wait, as people do: sometimes late."""
        for run, state in states.items():
            for path, record in state["steps"].items():
                if record["status"] == "waiting" and record.get("reason") in ("approval", {"kind": "approval"}) or "binding" in record and record["status"] == "waiting":
                    if self.random.random() < 0.8:
                        self.pawl("approve", run, path)
        if self.name == "waits" and not self.signalled and "r" in states:
            self.signalled = self.pawl("signal", "r", "release").returncode == 0

    def answering(self, process):
        """Answers while the program runs."""
        while process.poll() is None:
            with contextlib.suppress(Violation, json.JSONDecodeError):
                self.answer(self.states())
            time.sleep(0.02)

    def arguments(self, waits):
        exists = os.path.isdir(os.path.join(self.env["PAWL_STORE"], "runs", "r")) and self.pawl("restore", "r").returncode == 0
        return [*(["resume", "r"] if exists else ["run", self.path, "--run-id", "r"]), *(["--wait"] if waits else [])]

    def execute(self, life, how):
        """Runs or resumes, and after `life` seconds does something bad to it. Returns the exit status and what was said."""
        waits = self.random.random() < 0.5
        args = self.arguments(waits)
        process = subprocess.Popen([self.options.pawl, *args], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace")
        helper = threading.Thread(target=self.answering, args=(process,), daemon=True)
        if waits and ("gate" in self.name or self.name in ("waits", "everything")):
            helper.start()
        try:
            try:
                if how is not None:
                    process.wait(life)
            except subprocess.TimeoutExpired:
                self.hurt(process, how)
            out, err = process.communicate(timeout=STUCK_S)
        except subprocess.TimeoutExpired:
            shown = self.pawl("show", "r").stdout
            process.kill()
            process.communicate()
            raise Violation(f"`pawl {args[0]}` is stuck after {how}:\n{shown}") from None
        finally:
            if process.poll() is None:
                process.kill()
        if helper.is_alive():
            helper.join()
        return process.returncode, out + err

    def hurt(self, process, how):
        self.deaths[how] += 1
        reaper = reaper_of(process.pid) if how in ("reaper", "both") else None
        if how == "TERM":
            process.terminate()
        elif how == "STOP+KILL":
            send(process.pid, signal.SIGSTOP)
            time.sleep(self.random.uniform(0, 0.03))
            send(process.pid, signal.SIGKILL)
        elif how == "KILL":
            send(process.pid, signal.SIGKILL)
        else:
            if reaper is not None:
                send(reaper, signal.SIGKILL)
            if how == "both":
                send(process.pid, signal.SIGKILL)

    def torture(self, kills, life_s):
        """Returns what the undisturbed end of the run has put out."""
        for number in range(EXECUTIONS_MAX):
            how = self.random.choice(self.options.modes.split(',')) if sum(self.deaths.values()) < kills else None
            status, said = self.execute(self.random.uniform(0.005, life_s), how)
            states = self.check()
            if status == 0 or status == 4 and "is completed" in said:
                return self.finished(states)
            killed = status in (-signal.SIGKILL, -signal.SIGTERM) and how is not None
            absent = status == 2 and "PAWL-0101" in said
            if not (killed or absent or status == 3 or status == 130 and how == "TERM" or status == 5 and how in ("reaper", "both")):
                raise Violation(f"exit status {status} after {how}:\n{said[-3000:]}")
            if self.random.random() < 0.7 or how is None:
                self.answer(states)
        raise Violation(f"not completed after {EXECUTIONS_MAX} executions:\n{self.pawl('show', 'r').stdout}")

    def finished(self, states):
        if any(state["status"] != "completed" for state in states.values()):
            raise Violation(f"the run is completed, its children are {[(run, state['status']) for run, state in states.items()]}")
        lines = [line[0] for line in self.lines()]
        tokens = states["r"]["usage"]["tokens"]
        if not lines.count("cost") <= tokens <= lines.count("start"):
            raise Violation(f"{tokens} tokens were counted; {lines.count('cost')} to {lines.count('start')} were reported")
        if self.pawl("fsck").returncode != 0:
            raise Violation("fsck has found damage")
        with open(self.env["OUT"]) as out:
            outputs = out.read()
        if "worktree" in self.name:
            commits = self.git("rev-list", "--reverse", "--no-merges", "HEAD").split()[1:]
            outputs += json.dumps([sorted(self.git("show", "--name-only", "--format=", commit).split()) for commit in commits])
            outputs += self.git("status", "--porcelain")
        return outputs

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class VariedTorture:
    def __init__(self, options):
        self.options = options
        self.deaths = collections.Counter()
        self.expected = {}
        self.life_s = {}
        self.finished = 0
        self.failed = []
        schema = subprocess.run([options.pawl, "schema"], capture_output=True, text=True, check=True).stdout
        self.has_finally = '"finally"' in schema
        self.count = len(list(workflows.listed()))

    def once(self, number, seed, kills):
        run = Run(self.options, number, seed, self.has_finally)
        try:
            began = time.monotonic()
            outputs = run.torture(kills, self.life_s.get(number, 1) * 1.1)
            if kills == 0:
                self.expected[number] = outputs
                self.life_s[number] = time.monotonic() - began
            elif outputs != self.expected[number]:
                raise Violation(f"the outputs differ:\n{outputs}\nexpected:\n{self.expected[number]}")
        except Violation as violation:
            what = f"VIOLATION in {run.name}, --varied --seed {seed} --only {number}, killed by {dict(run.deaths)}: {violation}\nin {run.folder}\n"
            self.failed.append(what)
            print(what, file=sys.stderr, flush=True)
            self.deaths += run.deaths
            return
        self.finished += kills > 0
        self.deaths += run.deaths
        run.close()

    def run(self):
        began = time.monotonic()
        chance = random.Random(self.options.seed)
        numbers = range(self.count) if self.options.only is None else [self.options.only]
        with concurrent.futures.ThreadPoolExecutor(self.options.stores) as pool:
            list(pool.map(lambda number: self.once(number, self.options.seed, 0), numbers))
            per_run = 2 if self.options.kills <= 100 else 4
            numbers = [number for number in numbers if number in self.expected]
            while numbers and sum(self.deaths.values()) < self.options.kills and len(self.failed) < self.options.violations:
                left = self.options.kills - sum(self.deaths.values())
                wanted = [(number, self.options.seed if self.options.only is not None else chance.randrange(1 << 32), per_run) for number in numbers]
                list(pool.map(lambda task: self.once(*task), wanted[:max(1, -(-left // per_run))]))
        print(f"{sum(self.deaths.values())} deaths ({dict(self.deaths)}), {self.finished} runs of {self.count} workflows completed, {len(self.failed)} violations, "
              f"{time.monotonic() - began:.0f} s, seed {self.options.seed}")
        return 1 if self.failed else 0
