"""Helpers for the tests of the engine: processes that must end, terminals, the reaper, and small disks."""
import atexit
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from workflow_case import run_tests, wait_for

HANG_S = 30  # a program that takes longer hangs
INSIDE = "PAWL_ENGINE_TEST_INSIDE"


def path(case, name):
    return os.path.join(case.folder, name)


def exists(case, name):
    return os.path.exists(path(case, name))


def appears(case, name, seconds=HANG_S):
    wait_for(lambda: exists(case, name), f"the file {name}", seconds)


def shortened(text):
    """Returns the first and last lines of a long text."""
    lines = [line if len(line) <= 200 else line[:90] + " ... " + line[-100:] for line in text.splitlines()]
    return "\n".join(lines) if len(lines) <= 16 else "\n".join([*lines[:6], f"... {len(lines) - 14} lines ...", *lines[-8:]])


def ended(case, process, status=None, seconds=HANG_S, run="r"):
    """Waits for a started program and returns what it printed. One that takes too long is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        text = case.pawl("show", run).stdout
        raise AssertionError(f"pawl hangs: still running after {seconds} s\n{shortened(text)}") from None
    if status is not None and process.returncode not in (status if isinstance(status, tuple) else (status,)):
        raise AssertionError(f"exit status {process.returncode}, not {status}\n{shortened(out + err)}")
    return out + err


def start(case, *args, env=None, **options):
    """Starts the program like Case.start, with options of subprocess.Popen."""
    process = subprocess.Popen([case.program, *args], cwd=case.folder, env={**case.env, **(env or {})}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", **options)
    case.started.append(process)
    return process


def begin(case, text, *args, **options):
    """Writes the workflow and starts it as run r."""
    case.write("workflow.yaml", text)
    return start(case, "run", "--run-id", "r", *args, **options)


def resume(case, *args, status=0, seconds=HANG_S, run="r"):
    return ended(case, start(case, "resume", run, *args), status, seconds, run)


def kill(process):
    """Ends the program as a crash of the machine would: without a chance to clean up."""
    process.kill()
    process.wait()


def log_until(case, line, seconds=HANG_S, name="log"):
    wait_for(lambda: line in case.log(name), f"{line!r} in the log {case.log(name)}", seconds)


def checkpoints(case, run="r"):
    return json.loads(case.pawl("show", run, "--checkpoints", "--limit", "1000", "--json", status=0).stdout)


def shown(case, run="r"):
    return json.loads(case.pawl("show", run, "--all", "--json", status=0).stdout)


def inbox(case, run="r"):
    """Returns the messages that nobody has consumed."""
    folder = os.path.join(case.env["PAWL_STORE"], "runs", run, "inbox")
    return sorted(name for name in os.listdir(folder) if not name.startswith(".")) if os.path.isdir(folder) else []


def reaper_of(pid):
    """Returns the process id of the reaper that the program has started, or None."""
    for task in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{task}/stat") as stat:
                name, _, rest = stat.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if name == "pawl-reaper" and parent == str(pid) and state != "Z":
            return int(task)
    return None


def kill_reaper(process):
    wait_for(lambda: reaper_of(process.pid) is not None or process.poll() is not None, "the reaper")
    reaper = reaper_of(process.pid)
    assert reaper is not None, "the program ended before its reaper was killed"
    os.kill(reaper, signal.SIGKILL)


class Terminal:
    """The program at a terminal of its own, as a person uses it."""

    def __init__(self, case, *args, env=None):
        self.primary, secondary = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen([case.program, *args], cwd=case.folder, env={**case.env, "TERM": "xterm", "NO_COLOR": "1", **(env or {})},
                                        stdin=secondary, stdout=secondary, stderr=secondary, start_new_session=True,
                                        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(secondary)
        case.started.append(self.process)
        self.case = case

    def read(self, seconds):
        """Reads what is printed within this time. Returns whether the program has closed the terminal."""
        ready, _, _ = select.select([self.primary], [], [], seconds)
        if not ready:
            return False
        try:
            part = os.read(self.primary, 65536)
        except OSError:
            return True
        self.text += part.decode(errors="replace")
        return not part

    def until(self, text, seconds=HANG_S):
        end = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < end, f"{text!r} was not printed:\n{self.text}"
            assert not self.read(0.05) or text in self.text, f"the program ended without {text!r}:\n{self.text}"

    def type(self, text):
        os.write(self.primary, text.encode())

    def ended(self, status, seconds=HANG_S):
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            os.close(self.primary)
            raise AssertionError(f"pawl hangs at the terminal: still running after {seconds} s\n{self.text}")
        while self.read(0) is False and select.select([self.primary], [], [], 0)[0]:
            pass
        os.close(self.primary)
        assert self.process.returncode == status, f"exit status {self.process.returncode}, not {status}\n{self.text}"
        return self.text


def small_disk(case, size):
    """Puts the store of the case on its own disk of the given size."""
    disk = tempfile.mkdtemp(prefix="pawl-disk-")
    atexit.register(lambda: (subprocess.run(["umount", "-l", disk], check=False), os.rmdir(disk)))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
    case.env["PAWL_STORE"] = os.path.join(disk, "store")
    case.env["DISK"] = disk
    return disk


def can_mount():
    return os.environ.get(INSIDE) == "1"


def in_a_mount_namespace():
    """Starts this test again with private mounts, which disappear when it exits. Where that is not allowed, tests that
    need it print a message and do nothing."""
    if os.environ.get(INSIDE):
        return
    allowed = shutil.which("unshare") is not None and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
    if not allowed:
        os.environ[INSIDE] = "0"
        return
    sys.exit(subprocess.run(["unshare", "-m", sys.executable, "-B", *sys.argv], env={**os.environ, INSIDE: "1"}, check=False).returncode)


def main(names):
    """Runs the tests of a file: its functions with a single argument, the case. Each one states what is wanted."""
    tests = {name: thing for name, thing in names.items()
             if callable(thing) and getattr(thing, "__module__", "") == "__main__" and not name.startswith("_")}
    tests = {name: test for name, test in tests.items() if test.__code__.co_argcount == 1 and test.__code__.co_varnames[:1] == ("case",)}
    undocumented = [name for name, test in tests.items() if not test.__doc__]
    assert not undocumented, f"these tests do not say what they want: {undocumented}"
    run_tests(tests)
