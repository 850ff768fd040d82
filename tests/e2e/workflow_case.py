"""Helpers for workflow tests: a folder with a store and a workflow, and the real program."""
import inspect
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time


class Case:
    def __init__(self, folder, program):
        self.folder = folder
        self.program = program
        self.env = {**os.environ, "PAWL_STORE": os.path.join(folder, "store"), "XDG_CONFIG_HOME": os.path.join(folder, "xdg")}
        self.env.pop("PAWL_RUN", None)
        self.started = []

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(textwrap.dedent(text))
        return path

    def script(self, name, text):
        path = self.write(name, "#!/bin/sh\n" + textwrap.dedent(text))
        os.chmod(path, 0o755)

    def pawl(self, *args, status=None, stdin=None, env=None, timeout=60):
        done = subprocess.run([self.program, *args], cwd=self.folder, env={**self.env, **(env or {})}, capture_output=True, text=True,
                              input=stdin, timeout=timeout, errors="replace")
        if status is not None and done.returncode != status:
            raise AssertionError(f"pawl {' '.join(args)} exited with {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done

    def start(self, *args):
        self.started.append(subprocess.Popen([self.program, *args], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return self.started[-1]

    def end(self):
        """Kills processes that a failed test has left running."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()

    def run(self, text, *args, status=0, **kwargs):
        self.write("workflow.yaml", text)
        return self.pawl("run", "--run-id", "r", *args, status=status, **kwargs)

    def state(self, run="r"):
        return json.loads(self.pawl("restore", run, status=0).stdout)

    def steps(self, run="r"):
        return {path: record["status"] for path, record in self.state(run)["steps"].items()}

    def output(self, step, run="r"):
        return self.state(run)["steps"][step].get("output")

    def events(self, kind=None, run="r"):
        folder = os.path.join(self.env["PAWL_STORE"], "runs", run, "events")
        found = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as lines:
                found += [json.loads(line) for line in lines]
        return [event for event in found if kind in (None, event["type"])]

    def log(self, name="log"):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return []
        with open(path) as lines:
            return lines.read().split("\n")[:-1]


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


def equal(a, b):
    assert a == b, f"{a!r} is not {b!r}"


def holds(text, *words):
    for word in words:
        assert word in text, f"{word!r} is not in:\n{text}"


def run_tests(tests):
    """Runs the test functions, which take a case. `sys.argv` contains the program and names of tests (default: all)."""
    program = os.path.abspath(sys.argv[1])
    known = {name: test for name, test in tests.items()
             if callable(test) and getattr(test, "__code__", None) and test.__code__.co_varnames[:1] == ("case",) and test.__code__.co_argcount == 1 and not test.__code__.co_flags & inspect.CO_VARARGS}
    wanted = sys.argv[2:] or list(known)
    failed = []
    for name in wanted:
        with tempfile.TemporaryDirectory(prefix="pawl-case-") as folder:
            case = Case(folder, program)
            try:
                known[name](case)
            except Exception as error:
                failed.append(name)
                print(f"FAILED {name}: {type(error).__name__}: {error}\n", flush=True)
            case.end()
    print(f"{len(wanted) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)
