#!/usr/bin/env python3
"""Runs every folder of examples/ with the real program, some with a kill -9 in the middle.

    tests/e2e/examples_test.py --pawl build/release/pawl [unittest arguments]
"""
import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
PATIENCE_S = 120  # seconds; sanitizers and busy machines are slow

PAWL = ROOT / "build/release/pawl"


class ExampleTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pawl-examples-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.env = {**os.environ, "PAWL_STORE": str(self.folder / "store"), "PAWL": str(PAWL), "NO_COLOR": "1"}
        for name in ("PAWL_RUN", "PAWL_PREVIOUS"):
            self.env.pop(name, None)

    def copy(self, name: str) -> Path:
        self.work = self.folder / name
        shutil.copytree(EXAMPLES / name, self.work)
        return self.work

    def command(self, *command: str, status: int = 0, **env: str) -> str:
        done = subprocess.run(command, cwd=self.work, env={**self.env, **env}, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE_S, check=False)
        told = f"{' '.join(command)}\n{done.stdout}\n{done.stderr}\nlog:\n{self.log()}"
        self.assertEqual(done.returncode, status, told)
        return done.stdout

    def pawl(self, *arguments: str, status: int = 0, **env: str) -> str:
        return self.command(str(PAWL), *arguments, status=status, **env)

    def kill_when(self, command: list[str], condition: Callable[[], bool], **env: str) -> None:
        """Starts the command and kills it with -9 when the condition holds. It must still be running then."""
        with open(self.folder / "killed.txt", "w+", encoding="utf-8") as out:
            process = subprocess.Popen(command, cwd=self.work, env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                until = time.monotonic() + PATIENCE_S
                while not condition():
                    told = (self.folder / "killed.txt").read_text(encoding="utf-8")
                    self.assertIsNone(process.poll(), f"it ended before it was killed:\n{told}")
                    self.assertLess(time.monotonic(), until, f"it does not come far enough:\n{told}")
                    time.sleep(0.005)
            finally:
                with contextlib.suppress(ProcessLookupError):  # a script may exit together with the `pawl` it calls
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def log(self) -> list[str]:
        path = self.work / "work.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def text(self, name: str) -> str:
        return (self.work / name).read_text(encoding="utf-8")

    def state(self, run: str) -> dict:
        return json.loads(self.pawl("restore", run))

    def completed(self, run: str) -> set[str]:
        """Returns the paths of completed steps; items of a map are MAP[INDEX]."""
        done = set()
        for path, record in self.state(run)["steps"].items():
            if record["status"] == "completed":
                done.add(path)
            for part in filter(None, record.get("map", {}).get("done", "").split(",")):  # 0-3,5
                first, _, last = part.partition("-")
                done.update(f"{path}[{index}]" for index in range(int(first), int(last or first) + 1))
        return done


class Files(ExampleTest):
    def test_every_example_has_a_short_readme_and_valid_workflows(self) -> None:
        self.work = self.folder
        folders = sorted(path.parent for path in EXAMPLES.glob("*/README.md"))
        self.assertGreaterEqual(len(folders), 6)
        for folder in folders:
            with self.subTest(folder.name):
                self.assertLessEqual(len((folder / "README.md").read_text(encoding="utf-8").splitlines()), 25)
                for script in folder.glob("*.sh"):
                    self.assertTrue(os.access(script, os.X_OK), script)
                    self.command("sh", "-n", str(script))
        for workflow in EXAMPLES.glob("*/*.yaml"):
            with self.subTest(workflow.relative_to(EXAMPLES)):
                needed = ["--var", "count=1", "--var", "warm=1"] if workflow.name == "report.yaml" else []
                self.pawl("run", str(workflow), "--dry-run", *needed)


class Research(ExampleTest):
    def check_report(self) -> None:
        lines = [line for line in self.text("report.md").splitlines() if line.startswith("#")]
        self.assertEqual(lines, ["# tides", "## What moves", "## Sun & moon", "## It's late: $(why)", "## Coasts",
                                 "## Tables"])
        self.assertIn('About "It\'s late: $(why)", in one line.', self.text("report.md"))

    def test_writes_a_report_and_counts_what_it_cost(self) -> None:
        self.copy("research")
        self.pawl("run", "--run-id", "r")
        self.check_report()
        log = self.log()
        for source in range(1, 5):  # the second attempt continued where the first one stopped
            self.assertEqual(log.count(f"read source {source}"), 1, log)
        self.assertEqual(log.count("start gather tides"), 2)
        self.assertEqual(log.count("end gather.then.look-again"), 1, log)
        usage = self.state("r")["usage"]
        self.assertEqual(usage["tokens"], 4 * 400 + 100 + 900 + 5 * 1200)

    def test_a_kill_in_the_middle_of_the_pages_repeats_none_that_was_completed(self) -> None:
        self.copy("research")
        self.kill_when([str(PAWL), "run", "--run-id", "r"], lambda: any("end pages[" in line for line in self.log()))
        before = self.log()
        completed = self.completed("r")
        self.assertIn("gather", completed)
        self.assertIn("outline", completed)
        told = self.pawl("resume", "r")
        self.assertIn("reused ", told)
        self.check_report()
        for path in sorted(completed):
            step = path + ".page" if "[" in path else path
            starts = [sum(line.startswith(f"start {step} ") for line in log) for log in (before, self.log())]
            self.assertEqual(starts[0], starts[1], f"{path} was completed and ran again:\n{self.log()}")
        for index in range(5):
            self.assertIn(f"end pages[{index}].page", self.log())


class Migration(ExampleTest):
    def test_merges_what_succeeds_and_keeps_what_fails_for_a_person(self) -> None:
        self.copy("migration")
        self.command("./setup.sh", str(self.folder / "parts"))
        self.work = self.folder / "parts"
        self.pawl("run", "--run-id", "parts")
        self.assertEqual(self.text("migrated.txt"), "11 of 12 files migrated, 1 left\n")
        self.assertNotIn("old_call(", self.text("src/part_03.c"))
        self.assertIn("CALL(call)", self.text("src/part_07.c"))
        self.assertEqual(self.command("git", "status", "--porcelain"), "")
        self.assertEqual(self.command("git", "branch", "--show-current"), "main\n")
        subjects = self.command("git", "log", "--format=%s", "--reverse", "--no-merges").splitlines()
        expected = [f"Migrate src/part_{number:02}.c" for number in range(1, 13) if number != 7]
        self.assertEqual([subject for subject in subjects if subject.startswith("Migrate")], expected)
        self.assertEqual(self.state("parts")["steps"]["migrate"]["map"]["failed"], "6")


class Evaluation(ExampleTest):
    def test_ends_when_the_score_is_good_enough(self) -> None:
        self.copy("evaluation")
        self.pawl("run")
        self.assertEqual(self.log(), [f"rewrite {number}" for number in range(1, 5)])
        self.assertEqual(len(self.text("final.txt").splitlines()), 5)

    def test_fails_when_the_score_is_never_good_enough(self) -> None:
        self.copy("evaluation")
        self.pawl("run", "--var-json", "wanted=101", status=1)
        self.assertEqual(self.log(), [f"rewrite {number}" for number in range(1, 7)])
        self.assertFalse((self.work / "final.txt").exists())

    def test_a_kill_in_the_third_round_repeats_neither_of_the_first_two(self) -> None:
        self.copy("evaluation")
        self.kill_when([str(PAWL), "run", "--run-id", "e"], lambda: "rewrite 3" in self.log())
        self.pawl("resume", "e")
        log = self.log()
        self.assertEqual([log.count(f"rewrite {number}") for number in (1, 2, 4)], [1, 1, 1], log)
        self.assertEqual(len(self.text("final.txt").splitlines()), 5)


class Approval(ExampleTest):
    def setUp(self) -> None:
        super().setUp()
        self.copy("approval")
        self.pawl("run", "--run-id", "r", status=3)
        self.assertEqual(self.log(), ["built"])

    def test_publishes_once_when_approved(self) -> None:
        self.pawl("resume", "r", status=3)  # not answered yet
        self.pawl("approve", "r", "review")
        self.pawl("resume", "r")
        self.assertEqual(self.log()[:2], ["built", "published"])
        self.assertIn("announced 1.0", self.log()[2])
        self.assertEqual(len(list((self.work / "published").iterdir())), 1)
        self.pawl("resume", "r", status=4)  # already completed

    def test_does_not_publish_when_rejected_and_stays_rejected(self) -> None:
        self.pawl("reject", "r", "review")
        self.pawl("resume", "r", status=1)
        self.assertEqual(self.log(), ["built", "not published"])
        self.pawl("resume", "r", status=1)
        self.assertNotIn("published", self.log())

    def test_a_failed_publishing_is_withdrawn_and_can_be_resumed(self) -> None:
        self.pawl("approve", "r", "review")
        self.pawl("resume", "r", status=1, PUBLISHING_FAILS="yes")
        self.assertEqual(self.log(), ["built", "withdrawn", "not published"])
        self.pawl("resume", "r")
        self.assertEqual(self.log().count("built"), 1)
        self.assertEqual(self.log().count("published"), 1)


class Nightly(ExampleTest):
    def test_goes_on_where_it_may(self) -> None:
        self.copy("nightly")
        self.pawl("run", "--run-id", "n")
        self.assertEqual(self.text("mail.txt"), "10 numbers, sum 55, warm false\n")
        self.assertEqual(self.log(), ["fetch, attempt 1", "fetch, attempt 2", "upload", "kept here until tomorrow"])
        self.assertEqual(self.state("n.report")["status"], "completed")

    def test_says_so_where_it_may_not(self) -> None:
        self.copy("nightly")
        self.pawl("run", "--run-id", "n", "--var", "source=missing.txt", status=1)
        self.assertEqual(self.log()[-1], "the nightly job n failed")
        self.assertFalse((self.work / "mail.txt").exists())


class ShellScript(ExampleTest):
    ALL = ["collected", "packed", "counted", "sending", "sent"]

    def test_does_each_step_once(self) -> None:
        self.copy("shell-script")
        for _ in range(2):
            self.assertTrue(self.command("./backup.sh", PAWL_RUN="b").endswith("3 files are safe\n"))
            self.assertEqual(self.log(), self.ALL)

    def test_a_kill_while_sending_repeats_only_that(self) -> None:
        self.copy("shell-script")
        self.kill_when(["./backup.sh"], lambda: "sending" in self.log(), PAWL_RUN="b", SEND_SECONDS="60")
        self.command("./backup.sh", PAWL_RUN="b")
        self.assertEqual(self.log(), self.ALL[:3] + ["sending", "sending", "sent"])


class Worker(ExampleTest):
    def test_a_killed_worker_goes_on_behind_its_last_checkpoint(self) -> None:
        self.work = self.folder
        command = [str(EXAMPLES / "worker.sh"), str(PAWL), "sums", "40", str(self.folder / "done")]
        done = self.folder / "done"
        self.kill_when(command, lambda: done.exists() and done.read_text(encoding="utf-8").count("\n") >= 10)
        self.command(*command)
        units = [int(line.split()[0]) for line in done.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(units, sorted(set(units)))  # the kill may fall between a save and its note
        self.assertGreaterEqual(len(units), 39)
        self.assertEqual(self.state("sums"), {"unit": 40, "total": sum(unit * unit for unit in range(41))})


class Demo(ExampleTest):
    def test_finds_that_nothing_was_lost(self) -> None:
        self.work = self.folder
        self.assertIn("Nothing was lost", self.command(str(EXAMPLES / "demo.sh"), str(PAWL)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pawl", type=Path, default=PAWL, help="the program")
    arguments, rest = parser.parse_known_args()
    globals()["PAWL"] = arguments.pawl.resolve()
    return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
