#!/usr/bin/env python3
"""Questions to a person at a terminal, with the real program in a pseudo terminal."""
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PAWL = ""
PATIENCE_S = 60
WORKFLOW = """name: ask
steps:
  - id: review
    approve: Go on?
  - id: after
    run: echo done
"""


class Prompts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        with open(os.path.join(self.folder, "ask.yaml"), "w", encoding="utf-8") as file:
            file.write(WORKFLOW)
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "TERM": "xterm", "USER": "somebody-else",
                            "NO_COLOR": "1", "LANG": "C.UTF-8"}
        self.seen = ""

    def start(self, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.execve(PAWL, [PAWL, *arguments], self.environment)
        self.addCleanup(os.close, self.fd)

    def read(self, text):
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            self.assertLess(time.monotonic(), deadline, self.seen)
            if not select.select([self.fd], [], [], 1)[0]:
                continue
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                self.fail(f"it exited without {text!r}: {self.seen}")

    def type(self, text):
        os.write(self.fd, text.encode())

    def status(self):
        while True:  # it may wait until its output is read
            try:
                if not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def pawl(self, *arguments):
        done = subprocess.run([PAWL, *arguments], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
        return done.stdout

    def test_an_answer_is_recorded_with_the_account(self):
        self.start("run", "ask.yaml", "--run-id", "r")
        self.read("[l]ater: ")
        self.type("maybe\n")
        self.read("[y]es, [n]o or [l]ater: ")
        self.type("y\n")
        self.assertEqual(self.status(), 0)
        entries = [json.loads(line) for line in self.pawl("show", "r", "--events", "--json").splitlines()]
        text = json.dumps(entries)
        self.assertIn('"by": "somebody-else"', text)  # as `pawl approve` records it

    def test_later_leaves_the_run_waiting(self):
        self.start("run", "ask.yaml", "--run-id", "r")
        self.read("[l]ater: ")
        self.type("\n")
        self.assertEqual(self.status(), 3)

    def test_a_terminal_that_closes_leaves_the_run_waiting_or_interrupted(self):
        self.start("run", "ask.yaml", "--run-id", "r")
        self.read("[l]ater: ")
        self.type("\x04")  # end of file
        self.assertEqual(self.status(), 3)


if __name__ == "__main__":
    PAWL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
