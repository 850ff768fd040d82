#!/usr/bin/env python3
"""Runs the examples for builders of agents with the real program: once undisturbed, and killed at random until done.

    tests/e2e/examples_agents.py --pawl build/release/pawl [unittest arguments]
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import examples_test
from examples_test import EXAMPLES, PATIENCE_S

SEED = int(os.environ.get("PAWL_SEED", "13"))
EXECUTIONS_MAX = 30


class AgentTest(examples_test.ExampleTest):
    """An example that is killed at random times, with the whole group of its processes or without, and resumed."""

    def setUp(self) -> None:
        super().setUp()
        self.random = random.Random(f"{SEED} {self.id()}")
        self.kills = 0
        self.env["PAWL_STORE"] = str(self.folder / "store")

    def killed_until_done(self, run: str, kills: int, life_s: float) -> None:
        """Checks after every execution that nothing recorded as completed was started again."""
        completed: set[str] = set()
        seen = 0
        for _ in range(EXECUTIONS_MAX):
            command = self.next_command(run)
            with open(self.folder / "told.txt", "w+", encoding="utf-8") as out:
                process = subprocess.Popen(command, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                           start_new_session=True)
                try:
                    if self.kills < kills:
                        process.wait(self.random.uniform(0.02, life_s))
                    else:
                        process.wait(PATIENCE_S)
                except subprocess.TimeoutExpired:
                    self.assertLess(self.kills, kills, f"`{' '.join(command)}` is stuck, seed {SEED}")
                    self.kills += 1
                    process.send_signal(self.random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                    process.wait(PATIENCE_S)
            told = (self.folder / "told.txt").read_text(encoding="utf-8")
            starts = [line.split(" ", 1)[1] for line in self.log() if line.startswith("start ")]
            for start in starts[seen:]:
                path = self.path_of(start)
                self.assertFalse(any(path == done or path.startswith(done + ".") or path.startswith(done + "[") for done in completed),
                                 f"{path} was completed and started again, seed {SEED}:\n{self.log()}")
            seen = len(starts)
            if process.returncode == 0:
                return
            self.assertIn(process.returncode, (-signal.SIGKILL, -signal.SIGTERM, 3, 130), f"seed {SEED}:\n{told}")
            if self.exists(run):
                completed = self.completed(run)
                self.answer(run)
        self.fail(f"not done after {EXECUTIONS_MAX} executions, seed {SEED}:\n{self.pawl('show', run)}")

    def exists(self, run: str) -> bool:
        shown = subprocess.run([str(examples_test.PAWL), "restore", run], cwd=self.work, env=self.env, capture_output=True, check=False)
        return shown.returncode == 0

    def next_command(self, run: str) -> list[str]:
        arguments = ["resume", run] if self.exists(run) else ["run", "--run-id", run]
        return [str(examples_test.PAWL), *arguments]

    def answer(self, run: str) -> None:
        """Approves what waits."""
        waiting = json.loads(self.pawl("show", run, "--json"))["waiting_for"]
        for gate in waiting:
            step = gate["step"] if isinstance(gate, dict) else gate
            subprocess.run([str(examples_test.PAWL), "approve", run, step], cwd=self.work, env=self.env, capture_output=True, check=False)

    def path_of(self, start: str) -> str:
        return start.split()[0]


class CodingAgent(AgentTest):
    def setUp(self) -> None:
        super().setUp()
        self.copy("coding-agent")
        self.command("./setup.sh", str(self.folder / "calculator"))
        self.work = self.folder / "calculator"

    def check_merged(self) -> None:
        self.assertEqual(self.command("sh", "src/add.sh", "2", "3"), "5\n")
        self.assertEqual(self.command("sh", "src/multiply.sh", "2", "3"), "6\n")
        commits = self.command("git", "rev-list", "--reverse", "--no-merges", "HEAD").split()[1:]
        files = [self.command("git", "show", "--name-only", "--format=", commit).split() for commit in commits]
        self.assertEqual(files, [["src/add.sh"], ["src/multiply.sh"]])
        self.assertEqual(self.command("git", "status", "--porcelain"), "")

    def test_writes_tests_asks_and_merges(self) -> None:
        self.pawl("run", "--run-id", "c", status=3)
        self.assertFalse((self.work / "src").exists(), "merged before the review")
        started = [line.split()[1] for line in self.log() if line.startswith("start ")]
        self.assertEqual(sorted(started), ["parts[0].write[1].implement", "parts[0].write[2].implement", "parts[1].write[1].implement",
                                           "parts[1].write[2].implement", "parts[1].write[3].implement", "plan"])
        for part in range(2):
            self.pawl("approve", "c", f"parts[{part}].review")
        self.pawl("resume", "c")
        self.check_merged()
        self.assertEqual(self.state("c")["usage"]["tokens"], 6 * 500)

    def test_a_rejected_part_is_not_merged(self) -> None:
        self.pawl("run", "--run-id", "c", status=3)
        self.pawl("approve", "c", "parts[0].review")
        self.pawl("reject", "c", "parts[1].review")
        self.pawl("resume", "c", status=1)
        self.assertFalse((self.work / "src/multiply.sh").exists())

    def test_is_done_whenever_it_is_killed(self) -> None:
        self.killed_until_done("c", kills=8, life_s=0.5)
        self.check_merged()


class UrlPipeline(AgentTest):
    SUMMARY = ["198 of 200 pages", f"{sum(number * 37 % 1000 + 100 for number in range(1, 201) if number % 100 != 33)} bytes"]

    def setUp(self) -> None:
        super().setUp()
        self.copy("url-pipeline")

    def fetched(self) -> list[str]:
        return [line for line in self.log() if line.startswith("end ")]

    def test_fetches_each_page_once_and_uses_the_cache(self) -> None:
        self.pawl("run", "--run-id", "p")
        self.assertEqual(self.text("summary.txt").splitlines(), self.SUMMARY)
        self.assertEqual((len(self.fetched()), len(set(self.fetched()))), (198, 198))
        self.assertEqual(self.state("p")["steps"]["pages"]["map"]["failed"], "32,132")
        before = len(self.log())
        self.pawl("run", "--run-id", "again")
        self.assertEqual(self.text("summary.txt").splitlines(), self.SUMMARY)
        self.assertEqual(sorted(self.log()[before:]), ["start https://example.invalid/page/133", "start https://example.invalid/page/33"])

    def path_of(self, start: str) -> str:
        return f"pages[{int(start.rsplit('/', 1)[1]) - 1}]"

    def test_is_done_whenever_it_is_killed(self) -> None:
        self.killed_until_done("p", kills=8, life_s=1.5)
        self.assertEqual(self.text("summary.txt").splitlines(), self.SUMMARY)
        self.assertEqual(len(set(self.fetched())), 198)


class ModelComparison(AgentTest):
    MODELS = {"small": 6, "medium": 8, "large": 9}

    def setUp(self) -> None:
        super().setUp()
        self.copy("model-comparison")

    def check_table(self) -> None:
        rows = [f"| {model} | {sum(case * 7 % 10 < rate for case in range(500))} | 500 |" for model, rate in self.MODELS.items()]
        self.assertEqual(self.text("table.md").splitlines()[2:], rows)

    def path_of(self, start: str) -> str:
        model, case = start.split()
        return f"answers[{list(self.MODELS).index(model) * 500 + int(case)}]"

    def test_asks_every_model_every_case(self) -> None:
        self.pawl("run", "--run-id", "m")
        self.check_table()
        starts = [line for line in self.log() if line.startswith("start ")]
        self.assertEqual((len(starts), len(set(starts))), (1515, 1500))  # five cases of each model are tried twice
        self.assertIn("start small 0", starts[:50])  # the items start in order, their lines may not
        usage = self.state("m")["usage"]
        self.assertEqual(usage["tokens"], 505 * (100 + 200 + 400))

    def test_is_done_whenever_it_is_killed(self) -> None:
        self.killed_until_done("m", kills=6, life_s=2)
        self.check_table()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pawl", type=Path, default=examples_test.PAWL, help="the program")
    arguments, rest = parser.parse_known_args()
    examples_test.PAWL = arguments.pawl.resolve()
    return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
