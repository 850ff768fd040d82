#!/usr/bin/env python3
"""Runs the samples of README.md as they are printed, and compares what they print.

    tests/e2e/readme_test.py --pawl build/release/pawl [unittest arguments]
"""
import argparse
import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PATIENCE_S = 120  # sanitizers and busy machines are slow
ROWS, COLUMNS = 40, 80

PAWL = ROOT / "build/release/pawl"

# Parts that differ from one machine to the next, as regular expressions.
VARIABLE = [(r"~\d+ s left", r"~\d+ \S+( \d+ s)? left"), (r"[\d.]+/min", r"[\d.]+/\w+"),
            (r"\b\d+(?:\.\d)? m?s\b", r"\d+(\.\d)? m?s"), (r"[⠁-⣿]", r"[⠁-⣿]"), (r"━+╌*", r"━+╌*"),
            (r"approved by \S+", r"approved by \S+"), (r" {2,}", r" +")]


def blocks(language: str, start: str) -> list[str]:
    """Returns the code blocks of this language that start with this text."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [block for block in found if block.startswith(start)]


def pattern_of(line: str) -> str:
    """Returns a regular expression for a line, with the parts that differ left open."""
    out = ""
    for part in filter(None, re.split("(" + "|".join(before for before, _ in VARIABLE) + ")", line)):
        open_part = next((after for before, after in VARIABLE if re.fullmatch(before, part)), None)
        out += open_part or re.escape(part)
    return out


class Terminal:
    """bash in a pseudo terminal."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read(self, pattern: str, begin: int = 0) -> int:
        """Waits until the pattern is printed, and returns where it ends."""
        until = time.monotonic() + PATIENCE_S
        while True:
            plain = self.plain()
            if found := re.compile(pattern).search(plain, begin):
                return found.end()
            if time.monotonic() > until:
                raise AssertionError(f"not printed: {pattern}\n--- printed:\n{plain[begin:]}")
            if select.select([self.fd], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.fd, 65536).decode(errors="replace")

    def plain(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.seen).replace("\r", "")

    def child(self, name: str) -> int:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                found = re.match(r"(\d+) \((.*)\) \S (\d+) ", stat.read_text())
                if found and found[2] == name and int(found[3]) == self.pid:
                    return int(found[1])
        raise AssertionError(f"no process {name}")

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class Samples(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pawl-readme-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.work = self.folder / "work"
        (self.folder / "bin").mkdir()
        (self.folder / "bin/pawl").symlink_to(PAWL)
        self.work.mkdir()
        self.environment = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder), "NO_COLOR": "1",
                            "TERM": "xterm", "LANG": "C.UTF-8", "USER": "ada", "PS1": "$ "}

    def expect_lines(self, terminal: Terminal, sample: str, begin: int) -> int:
        for line in sample.splitlines():
            if not line.startswith("$ "):
                begin = terminal.read(pattern_of(line.strip()), begin)
        return begin

    def check_sample(self, sample: str) -> None:
        """Runs the commands after `$ ` without a terminal, and compares all that is printed."""
        for part in re.split(r"^\$ ", sample, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            done = subprocess.run(["sh", "-c", command], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
            wanted = "".join(pattern_of(line) + r"\n" for line in expected.splitlines())
            self.assertRegex(done.stdout, rf"\A{wanted}\Z", command)

    def test_the_example_runs_as_pasted_and_survives_a_kill(self) -> None:
        (paste,) = blocks("sh", "cat > notes.yaml")
        (asked,) = blocks("console", "tides-1  notes")
        (resumed,) = blocks("console", "$ pawl resume tides-1")
        before, answer, after = asked.partition("[l]ater: y\n")
        self.assertTrue(answer, asked)
        terminal = Terminal(self.work, self.environment)
        self.addCleanup(terminal.close)
        terminal.type(paste)
        begin = self.expect_lines(terminal, before + "[l]ater:", terminal.read(r"--run-id tides-1\n"))
        terminal.type("y\n")
        begin = self.expect_lines(terminal, after, begin)
        os.kill(terminal.child("pawl"), signal.SIGKILL)
        begin = terminal.read("Killed", begin)
        terminal.type(re.match(r"\$ (.*\n)", resumed)[1])
        self.expect_lines(terminal, resumed, begin)
        pages = "".join(f"About {page} tides\n" for page in ("high", "low", "neap", "spring"))
        self.assertEqual((self.work / "notes.txt").read_text(encoding="utf-8"), pages)

    def test_without_a_terminal_the_example_waits_for_a_decision(self) -> None:
        (paste,) = blocks("sh", "cat > notes.yaml")
        (sample,) = blocks("console", "$ pawl run notes.yaml --run-id tides-2")
        file = paste[:paste.index("EOF\npawl run") + len("EOF\n")]
        subprocess.run(["sh", "-c", file], cwd=self.work, check=True)
        self.check_sample(sample)

    def test_states_are_saved_and_restored_as_shown(self) -> None:
        (sample,) = blocks("console", "$ echo")
        self.check_sample(sample)

    def test_the_reported_cost_is_shown(self) -> None:
        (report,) = blocks("sh", "echo '{\"cost_usd\"")
        (self.work / "cost.yaml").write_text(f"steps:\n  - run: |\n      {report.strip()}\n", encoding="utf-8")
        shown = subprocess.run(["sh", "-c", "pawl run cost.yaml --run-id c >/dev/null && pawl show c && pawl list"],
                               cwd=self.work, env=self.environment, text=True, capture_output=True, timeout=PATIENCE_S, check=True)
        show, _, listed = shown.stdout.partition("RUN ")
        self.assertIn("0.02 USD", show)
        self.assertIn("0.02", listed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pawl", type=Path, default=PAWL, help="the program")
    arguments, rest = parser.parse_known_args()
    globals()["PAWL"] = arguments.pawl.resolve()
    return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
