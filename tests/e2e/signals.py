#!/usr/bin/env python3
"""Signals to the real program: those that its parent ignored, and those that come twice."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PAWL = ""
PATIENCE_S = 60
# The step ends a moment after SIGTERM, and says so.
WORKFLOW = """name: slow
steps:
  - id: work
    run: |
      trap 'sleep 0.5; echo stopped > stopped; exit 1' TERM
      touch started
      i=0
      while [ ! -e go ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
      grep SigIgn /proc/self/status > ignored
"""


class Signals(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.write("slow.yaml", WORKFLOW)
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder}

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text=""):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def wait_for(self, name):
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(self.path(name)):
            self.assertLess(time.monotonic(), deadline, name)
            time.sleep(0.02)

    def start(self, *command, **options):
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.addCleanup(process.kill)
        return process

    def ignoring(self, number):
        def ignore():
            signal.signal(number, signal.SIG_IGN)
        process = self.start(PAWL, "run", "slow.yaml", "--run-id", "r", preexec_fn=ignore)
        self.wait_for("started")
        process.send_signal(number)
        time.sleep(0.3)
        process.send_signal(number)
        time.sleep(0.3)
        self.write("go")
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertEqual(self.read("ignored").split()[1], "0" * 16, "steps have the default of every signal")

    def status(self):
        shown = subprocess.run([PAWL, "show", "r", "--json"], cwd=self.folder, env=self.environment,
                               stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S)
        return json.loads(shown.stdout)["workflow"]["status"]

    def test_a_hangup_that_nohup_ignores_stays_ignored(self):
        self.ignoring(signal.SIGHUP)

    def test_an_interrupt_that_a_background_job_ignores_stays_ignored(self):
        self.ignoring(signal.SIGINT)

    def test_the_two_signals_of_timeout_are_one_request(self):
        for attempt in range(5):
            for name in ("started", "stopped"):
                if os.path.exists(self.path(name)):
                    os.remove(self.path(name))
            run = f"r{attempt}"
            process = self.start("timeout", "2", PAWL, "run", "slow.yaml", "--run-id", run)
            self.assertEqual(process.wait(PATIENCE_S), 124)
            self.assertTrue(os.path.exists(self.path("stopped")), "the step had time to stop")

    def test_a_second_request_takes_effect_at_once(self):
        process = self.start(PAWL, "run", "slow.yaml", "--run-id", "r")
        self.wait_for("started")
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 130)
        self.assertFalse(os.path.exists(self.path("stopped")))


if __name__ == "__main__":
    PAWL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
