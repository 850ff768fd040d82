#!/usr/bin/env python3
"""Tests time travel with the real program: fork, replay, rollback, diff across forks, and approvals in forks."""
import argparse
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = POSTER = None
PATIENCE = 60  # seconds to wait for something that must happen


class TimeTravel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-time-")
        self.store = os.path.join(self.folder, "store")
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Helpers.

    def environment(self):
        return {**os.environ, "PAWL_STORE": self.store, "USER": "ada", "NO_COLOR": "1",
                "XDG_CONFIG_HOME": os.path.join(self.folder, "xdg")}

    def pawl(self, *args, status=0, stdin=""):
        done = subprocess.run([PROGRAM, *args], cwd=self.folder, env=self.environment(), input=stdin, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, status, f"pawl {' '.join(args)}\n{done.stdout}{done.stderr}")
        return done

    def post(self, run, body):
        subprocess.run([POSTER, self.store, run, json.dumps(body)], check=True, stdout=subprocess.DEVNULL, timeout=60)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    def state(self, address):
        return json.loads(self.pawl("restore", address).stdout)

    def show(self, run):
        return json.loads(self.pawl("show", run, "--json").stdout)

    def events(self, run):
        found = []
        for line in self.pawl("replay", run, "--json").stdout.splitlines():
            found += json.loads(line)["events"]
        return found

    def event_types(self, run):
        return [event["type"] for event in self.events(run)]

    def save(self, run, state, *args):
        return self.pawl("save", run, *args, stdin=json.dumps(state)).stdout.strip()

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.02)
        self.fail(f"in {PATIENCE} s there was no {what}")

    def sound(self):
        report = json.loads(self.pawl("fsck", "--json").stdout)
        self.assertTrue(report["ok"], report)
        return report

    # Forks of states.

    def test_a_fork_shares_the_past_and_both_go_on(self):
        for n in range(1, 6):
            self.save("p", {"n": n, "who": "p"}, "--step", f"s{n}", "--name", f"name{n}")
        done = self.pawl("fork", "p@3", "--run-id", "f")
        self.assertEqual(done.stdout, "f\n")
        self.assertIn("fork of p@3", done.stderr)
        self.assertEqual(self.save("f", {"n": 10, "who": "f"}), "f@5")
        self.assertEqual(self.save("p", {"n": 6, "who": "p"}), "p@6")
        self.assertEqual([self.state(f"f@{n}")["n"] for n in range(1, 6)], [1, 2, 3, 3, 10])
        self.assertEqual([self.state(f"p@{n}")["n"] for n in range(1, 7)], [1, 2, 3, 4, 5, 6])
        self.assertEqual(self.state("f@step:s2")["n"], 2)
        self.assertEqual(self.state("f@name:name3")["n"], 3)
        self.pawl("restore", "f@name:name4", status=2)
        self.sound()

    def test_every_address_can_be_forked(self):
        self.save("p", {"n": 1}, "--stage", "a", "--step", "x", "--name", "good")
        self.save("p", {"n": 2}, "--stage", "b", "--step", "y")
        uuid = self.show("p@1")["id"]
        for i, address in enumerate(["p@1", "p@name:good", "p@stage:a", "p@step:x", f"p@{uuid}"]):
            self.pawl("fork", address, "--run-id", f"f{i}")
            self.assertEqual(self.state(f"f{i}"), {"n": 1}, address)
        for i, address in enumerate(["p", "p@latest"]):
            self.pawl("fork", address, "--run-id", f"g{i}")
            self.assertEqual(self.state(f"g{i}"), {"n": 2}, address)

    def test_set_changes_the_state_by_path(self):
        self.save("p", {"plan": {"steps": [{"done": False}, {"done": False}]}, "limit": 1.50, "text": "a"})
        self.pawl("fork", "p@1", "--run-id", "f", "--set", "plan.steps[1].done=true", "--set", "text=b c=d", "--set", "new.part=[1, 2]",
                  "--set", "gone=null", "--create")
        self.assertEqual(self.state("f"), {"plan": {"steps": [{"done": False}, {"done": True}]}, "limit": 1.5, "text": "b c=d",
                                           "new": {"part": [1, 2]}, "gone": None})
        for bad in ("nonsense", "=1", "a..b=1", "plan.steps[9].x=1", "limit.x=1", "a[x]=1"):
            self.assertIn("PAWL-0030", self.pawl("fork", "p@1", "--run-id", "g", "--set", bad, status=2).stderr, bad)
        self.pawl("show", "g", status=2)

    def test_lineage_is_visible(self):
        self.save("p", {"n": 1})
        self.save("p", {"n": 2})
        self.pawl("fork", "p@1", "--run-id", "f")
        made = json.loads(self.pawl("fork", "p@2", "--json").stdout)
        other = made["run"]
        self.assertTrue(other.startswith("p-"), other)
        self.assertEqual((made["fork_of"]["run"], made["fork_of"]["sequence"], made["sequence"]), ("p", 2, 3))
        shown = self.show("p")
        self.assertIsNone(shown["fork_of"])
        self.assertEqual([(fork["run"], fork["sequence"]) for fork in shown["forks"]], [("f", 1), (other, 2)])
        fork = self.show("f")
        self.assertEqual(fork["fork_of"], {"run": "p", "uuid": shown["uuid"], "sequence": 1})
        self.assertEqual(fork["forks"], [])
        self.assertNotEqual(fork["uuid"], shown["uuid"])
        self.assertRegex(self.pawl("show", "f").stdout, r"Fork of:? +p@1")
        self.assertRegex(self.pawl("show", "p").stdout, r"Forks:? +f \(from 1\)")
        listed = {row["run"]: row for row in json.loads(self.pawl("list", "--json").stdout)}
        self.assertEqual(listed["f"]["fork_of"]["run"], "p")
        self.assertNotIn("fork_of", listed["p"])
        self.assertRegex(self.pawl("list").stdout, r"(?m)^f .* p@1 ")

    def test_what_can_not_be_forked_is_refused(self):
        self.save("p", {"n": 1})
        self.save("q", {"n": 1})
        self.assertIn("PAWL-0102", self.pawl("fork", "p@7", status=2).stderr)
        self.assertIn("PAWL-0101", self.pawl("fork", "missing@1", status=2).stderr)
        self.assertIn("PAWL-0207", self.pawl("fork", "p@1", "--run-id", "q", status=4).stderr)
        self.assertIn("PAWL-0002", self.pawl("fork", "p@1", "--run-id", "../x", status=2).stderr)
        self.assertIn("PAWL-0106", self.pawl("fork", "p", "--from", "x", status=2).stderr)
        self.pawl("fork", "p@1", "--from", "x", status=2)
        self.assertEqual(len(json.loads(self.pawl("list", "--json").stdout)), 2)

    def test_diff_works_across_forks(self):
        self.save("p", {"n": 1, "x": 1})
        self.save("p", {"n": 2, "x": 1})
        self.pawl("fork", "p@1", "--run-id", "f", "--set", "n=9")
        self.assertIn("n: 2 -> 9", self.pawl("diff", "p@2", "f@2").stdout)
        self.assertIn("n: 1 -> 9", self.pawl("diff", "f@1", "f@latest").stdout)
        self.assertIn("the same state", self.pawl("diff", "p@1", "f@1").stderr)

    def test_branches_are_pruned_without_hurting_each_other(self):
        for n in range(1, 31):
            self.save("p", {"n": n, "text": "x" * 50})
        self.pawl("fork", "p@12", "--run-id", "f")
        self.pawl("fork", "f@12", "--run-id", "same")
        for n in range(1, 11):
            self.save("f", {"f": n, "text": "x" * 50})
        self.pawl("fork", "f@15", "--run-id", "g", "--set", "g=1", "--create")
        dry = json.loads(self.pawl("prune", "p", "--keep", "1", "--dry-run", "--json").stdout)
        self.assertNotIn(12, dry["runs"][0]["removed"])
        self.pawl("prune", "p", "--keep", "1")
        self.assertEqual(self.state("f@12")["n"], 12)
        self.assertEqual(self.state("same")["n"], 12)
        self.pawl("prune", "f", "--keep", "1")
        self.assertEqual(self.state("g")["g"], 1)
        self.assertEqual(self.state("f@15")["f"], 2)
        self.assertEqual(self.state("f")["f"], 10)
        self.assertEqual(self.state("p")["n"], 30)
        self.assertIn("PAWL-0108", self.pawl("restore", "f@11", status=2).stderr)
        self.assertIn("PAWL-0108", self.pawl("restore", "g@14", status=2).stderr)
        for run in ("p", "f", "g", "same"):
            self.save(run, {"after": run})
            self.assertEqual(self.state(run), {"after": run})
        self.pawl("prune", "--keep", "1")
        self.assertEqual(self.state("g@15")["f"], 2)
        self.sound()

    def test_a_fork_that_is_killed_is_whole_or_absent(self):
        for n in range(1, 6):
            self.save("p", {"n": n})
        made = 0
        for turn in range(30):
            process = subprocess.Popen([PROGRAM, "fork", "p@3", "--run-id", f"f{turn}"], cwd=self.folder, env=self.environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.started.append(process)
            time.sleep(0.0005 * turn)
            process.send_signal(signal.SIGKILL)
            out, _ = process.communicate(timeout=PATIENCE)
            there = subprocess.run([PROGRAM, "restore", f"f{turn}"], cwd=self.folder, env=self.environment(), capture_output=True,
                                   text=True, timeout=60)
            if out:
                self.assertEqual(there.returncode, 0, there.stderr)
            if there.returncode == 0:
                made += 1
                self.assertEqual(json.loads(there.stdout), {"n": 3})
            else:
                self.assertEqual(there.returncode, 2, there.stderr)
                self.pawl("fork", "p@3", "--run-id", f"f{turn}")
            self.assertEqual(self.state("p"), {"n": 5})
        self.pawl("prune", "p", "--keep", "1")
        for turn in range(30):
            self.assertEqual(self.state(f"f{turn}"), {"n": 3})
        self.pawl("fsck", "--repair")
        self.assertEqual(self.sound()["findings"], [])
        self.assertEqual(len(self.show("p")["forks"]), 30)

    # Forks of workflows.

    FLOW = """
name: flow
vars: {topic: tides, loud: false}
steps:
  - {id: gather, capture: facts, run: "echo gather >> ran.txt; echo $PAWL_IDEMPOTENCY_KEY >> keys.txt; echo facts"}
  - {id: write, capture: page, run: "echo write-${vars.topic} >> ran.txt; echo $PAWL_IDEMPOTENCY_KEY >> keys.txt; echo about-${vars.topic}"}
  - {id: end, run: "echo end >> ran.txt"}
"""

    def test_a_fork_from_a_step_runs_it_and_what_follows(self):
        self.write("workflow.yaml", self.FLOW)
        self.pawl("run", "--run-id", "r")
        before = self.state("r")
        done = self.pawl("fork", "r", "--from", "write", "--run-id", "f", "--set", "vars.topic=winds")
        self.assertIn("before the fork, run: pawl logs r gather", self.pawl("logs", "f", "gather").stderr)
        self.assertIn("pawl resume f", done.stderr)
        self.assertEqual(self.show("f")["status"], "interrupted")
        self.pawl("resume", "f")
        self.assertEqual(self.read("ran.txt").split(), ["gather", "write-tides", "end", "write-winds", "end"])
        self.assertEqual(self.state("r"), before)
        self.assertEqual(self.state("f")["steps"]["write"]["output"], "about-winds")
        self.assertEqual(self.state("f")["steps"]["gather"]["output"], self.state("r")["steps"]["gather"]["output"])
        self.assertIn("forked", self.event_types("f"))
        self.assertNotIn("forked", self.event_types("r"))
        self.sound()

    def test_a_fork_names_the_steps_that_keep_the_old_value_of_a_variable(self):
        self.write("workflow.yaml", self.FLOW)
        self.pawl("run", "--run-id", "r")
        late = self.pawl("fork", "r", "--from", "end", "--set", "topic=winds").stderr
        self.assertIn("completed steps that use vars.topic keep their results: write (to run them again: pawl fork r --from write)", late)
        self.assertNotIn("keep their results", self.pawl("fork", "r", "--from", "write", "--set", "topic=winds").stderr)

    def test_a_forks_idempotency_keys_are_its_own(self):
        self.write("workflow.yaml", self.FLOW)
        self.pawl("run", "--run-id", "r")
        self.pawl("fork", "r", "--from", "gather", "--run-id", "f", "--resume")
        keys = self.read("keys.txt").split()
        self.assertEqual(len(keys), 4)
        self.assertEqual(len(set(keys)), 4)
        self.assertEqual([key.split("/")[1] for key in keys], ["gather", "write", "gather", "write"])

    def test_a_fork_with_another_workflow_keeps_what_is_unchanged(self):
        self.write("workflow.yaml", self.FLOW)
        self.pawl("run", "--run-id", "r")
        self.write("other.yaml", self.FLOW.replace("echo end >>", "echo END >>") + "  - {id: more, run: echo more >> ran.txt}\n")
        done = self.pawl("fork", "r", "--workflow", "other.yaml", "--run-id", "f")
        self.assertIn("step end has changed", done.stderr)
        self.pawl("resume", "f")
        self.assertEqual(self.read("ran.txt").split(), ["gather", "write-tides", "end", "END", "more"])

    def test_a_fork_in_the_middle_of_a_run_that_goes_on(self):
        self.write("workflow.yaml", """
steps:
  - {id: first, run: echo first >> ran.txt}
  - {id: hold, run: "touch holding; while [ ! -e go ]; do sleep 0.05; done"}
  - {id: last, run: echo last >> ran.txt}
""")
        process = subprocess.Popen([PROGRAM, "run", "--run-id", "r"], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        self.until(lambda: os.path.exists(os.path.join(self.folder, "holding")), "second step")
        self.pawl("fork", "r", "--run-id", "f")
        self.write("go", "")
        self.pawl("resume", "f")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertEqual(sorted(self.read("ran.txt").split()), ["first", "last", "last"])

    # Approvals: an answer counts once, for the run it was given in.

    GATE = """
name: gate
vars: {topic: tides}
steps:
  - {id: gather, run: echo gathered >> ran.txt}
  - {id: review, approve: "Publish ${vars.topic}?"}
  - {id: publish, run: "echo published-${vars.topic} >> ran.txt"}
"""

    def passed_gate(self):
        """Makes a run with an approved gate and a failed last step."""
        self.write("workflow.yaml", self.GATE.replace("echo published-", "test -e ready && echo published-"))
        self.pawl("run", "--run-id", "r", status=3)
        self.pawl("approve", "r")
        self.pawl("resume", "r", status=1)
        self.write("ready", "")

    def test_a_fork_taken_before_the_gate_must_be_approved_itself(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        waiting = self.show("r")["sequence"]
        binding = self.state("r")["steps"]["review"]["binding"]
        self.pawl("approve", "r")
        self.pawl("resume", "r")
        done = self.pawl("fork", f"r@{waiting}", "--run-id", "f")
        self.assertIn("approval steps to approve again in the fork: review", done.stderr)
        self.post("f", {"type": "approve", "step": "review", "binding": binding, "by": "ada"})
        self.pawl("resume", "f", status=3)
        refused = [event for event in self.events("f") if event["type"] == "message_refused"]
        self.assertEqual(len(refused), 1)
        self.assertEqual(self.read("ran.txt").count("published"), 1)
        self.pawl("approve", "f")
        self.pawl("resume", "f")
        self.assertEqual(self.read("ran.txt").count("published"), 2)

    def test_the_parents_approval_is_no_approval_of_a_fork_that_waits_beside_it(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        self.pawl("fork", "r", "--run-id", "f")
        self.pawl("approve", "r")
        messages = glob.glob(os.path.join(self.store, "runs", "r", "inbox", "*.json"))
        with open(messages[0], encoding="utf-8") as file:
            body = json.loads(file.read())["body"]
        self.post("f", body)
        self.pawl("resume", "f", status=3)
        self.assertIn("message_refused", self.event_types("f"))
        self.assertNotIn("published", self.read("ran.txt"))
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt").count("published"), 1)

    def test_an_approval_counts_once_and_not_in_a_fork_that_changes_nothing(self):
        self.passed_gate()
        done = self.pawl("fork", "r", "--run-id", "f")
        self.assertIn("approval steps to approve again in the fork: review", done.stderr)
        self.pawl("resume", "f", status=3)
        self.assertNotIn("published", self.read("ran.txt"))
        self.pawl("approve", "f")
        self.pawl("resume", "f")
        self.assertEqual(self.read("ran.txt"), "gathered\npublished-tides\n")

    def test_a_fork_after_the_gate_with_changed_inputs_reopens_it(self):
        self.passed_gate()
        done = self.pawl("fork", "r", "--run-id", "f", "--set", "topic=winds")
        self.assertIn("approval steps to approve again in the fork: review", done.stderr)
        self.pawl("resume", "f", status=3)
        self.assertNotIn("published", self.read("ran.txt"))
        self.assertEqual(self.show("f")["waiting_for"][0]["prompt"], "Publish winds?")
        self.pawl("approve", "f")
        self.pawl("resume", "f")
        self.assertEqual(self.read("ran.txt"), "gathered\npublished-winds\n")

    def test_a_fork_after_the_gate_with_another_workflow_reopens_it(self):
        self.passed_gate()
        self.write("other.yaml", self.GATE.replace("echo published-", "echo PUBLISHED-"))
        self.pawl("fork", "r", "--run-id", "f", "--workflow", "other.yaml")
        self.pawl("resume", "f", status=3)
        self.assertNotIn("PUBLISHED", self.read("ran.txt"))
        self.pawl("approve", "f")
        self.pawl("resume", "f")
        self.assertIn("PUBLISHED-tides", self.read("ran.txt"))

    def test_a_fork_with_a_workflow_that_lacks_the_gate_is_refused_and_recorded(self):
        self.passed_gate()
        self.write("other.yaml", self.GATE.replace('approve: "Publish ${vars.topic}?"', "run: echo waved-through >> ran.txt"))
        self.assertIn("PAWL-0211", self.pawl("fork", "r", "--run-id", "f", "--workflow", "other.yaml", status=4).stderr)
        self.pawl("show", "f", status=2)
        self.assertIn("fork_refused", self.event_types("r"))
        entries = json.loads(self.pawl("audit", "list", "r", "--type", "fork_refused", "--json").stdout)
        self.assertEqual(len(entries), self.event_types("r").count("fork_refused"))

    def test_records_of_the_engine_can_not_be_set(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        for path in ("steps.review.status=completed", "steps.review.output.approved=true", "status=completed", "steps={}", "vars={}",
                     "workflow.hash=x", "consumed=[]", "events=0"):
            self.assertIn("PAWL-0242", self.pawl("fork", "r", "--run-id", "f", "--set", path, status=4).stderr, path)
        self.assertIn("PAWL-0030", self.pawl("fork", "r", "--run-id", "f", "--set", "nothing=1", status=2).stderr)
        self.pawl("show", "f", status=2)
        refused = [event["data"] for event in self.events("r") if event["type"] == "fork_refused"]
        self.assertEqual(len(refused), 8)
        self.assertEqual(refused[0]["by"], "ada")
        self.pawl("approve", "r")
        self.pawl("resume", "r")

    def test_a_gate_that_was_rejected_is_asked_again_in_a_fork(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        self.pawl("reject", "r")
        self.pawl("resume", "r", status=1)
        self.pawl("fork", "r", "--run-id", "f")
        self.pawl("resume", "f", status=3)
        self.assertNotIn("published", self.read("ran.txt"))

    def test_after_a_rollback_the_old_approval_does_not_count_again(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        waiting = self.show("r")["sequence"]
        binding = self.state("r")["steps"]["review"]["binding"]
        self.pawl("approve", "r")
        self.pawl("resume", "r")
        self.pawl("rollback", f"r@{waiting}", "--accept-rerun")
        self.post("r", {"type": "approve", "step": "review", "binding": binding, "by": "ada"})
        self.pawl("resume", "r", status=3)
        self.assertEqual(self.event_types("r").count("message_refused"), 1)
        self.assertEqual(self.read("ran.txt").count("published"), 1)
        self.pawl("approve", "r")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt").count("published"), 2)

    # Export.

    def test_a_fork_is_imported_where_its_past_is(self):
        for n in range(1, 9):
            self.save("p", {"n": n, "text": "x" * 300 * n})
        self.pawl("fork", "p@4", "--run-id", "f")
        self.save("f", {"n": 50})
        self.pawl("fork", "f", "--run-id", "g", "--set", "n=51")
        for run in ("p", "f", "g"):
            self.pawl("export", run, "-o", run + ".pawl")
        there = ["--store", os.path.join(self.folder, "there")]
        refused = self.pawl("import", "f.pawl", *there, status=4)
        self.assertIn("PAWL-0251: run 'f' is a fork of run 'p'", refused.stderr)
        self.assertIn("import it first", refused.stderr)
        for run in ("p", "f", "g"):
            self.pawl("import", run + ".pawl", *there)
        self.assertIn("1 already present", self.pawl("import", "g.pawl", *there).stdout)
        for address in ("p@1", "p", "f@2", "f@4", "f@5", "f", "g@3", "g@6", "g"):
            self.assertEqual(self.pawl("restore", address, *there).stdout, self.pawl("restore", address).stdout, address)
        self.pawl("verify", "--all", *there)
        self.pawl("fsck", *there)
        # Their shared history is kept there as well.
        self.pawl("prune", "p", "--keep", "1", *there)
        self.pawl("restore", "p@4", *there)
        self.pawl("restore", "g@3", *there, status=2)
        self.assertEqual(self.pawl("restore", "g", *there).stdout, self.pawl("restore", "g").stdout)
        self.assertIn("PAWL-0", self.pawl("erase", "p", "--reason", "r", "--yes", *there, status=4).stderr)

    def test_the_lineage_stays_when_runs_settle_and_forks_are_erased(self):
        self.save("p", {"n": 1})
        for fork in ("f", "g"):
            self.pawl("fork", "p", "--run-id", fork)
        self.pawl("fsck", "--repair")
        rows = {row["run"]: row.get("fork_of", {}).get("run") for row in json.loads(self.pawl("list", "--json").stdout)}
        self.assertEqual(rows, {"p": None, "f": "p", "g": "p"})
        self.pawl("erase", "f", "--reason", "x", "--yes")
        self.assertEqual([fork["run"] for fork in json.loads(self.pawl("show", "p", "--json").stdout)["forks"]], ["g"])
        self.assertEqual(json.loads(self.pawl("audit", "list", "f", "--json").stdout)[-1]["type"], "erased")
        self.assertIn("erased", self.pawl("audit", "report", "f", "--format", "csv").stdout)
        self.assertEqual({row["run"] for row in json.loads(self.pawl("audit", "list", "--all", "--json").stdout)}, {"p", "f", "g"})

    # Rollback.

    def test_rollback_makes_a_new_checkpoint_with_the_old_state(self):
        for n in range(1, 5):
            self.save("p", {"n": n}, "--name", f"v{n}")
        self.assertEqual(self.pawl("rollback", "p@2").stdout, "p@5\n")
        self.assertEqual(self.state("p"), {"n": 2})
        self.assertEqual(self.state("p@4"), {"n": 4})
        self.assertEqual(json.loads(self.pawl("rollback", "p", "--to", "3", "--json").stdout)["sequence"], 6)
        self.pawl("rollback", "p@name:v1")
        self.assertEqual(self.state("p@7"), {"n": 1})
        self.assertEqual(self.event_types("p").count("rolled_back"), 3)
        self.pawl("rollback", "p", status=2)
        self.pawl("rollback", "p@1", "--to", "2", status=2)
        self.pawl("rollback", "p@99", status=2)

    def test_rollback_stops_where_recorded_steps_would_run_again(self):
        self.write("workflow.yaml", self.FLOW)
        self.pawl("run", "--run-id", "r")
        target = next(event["sequence"] for event in self.events("r") if event["type"] == "step_completed")
        refused = self.pawl("rollback", f"r@{target}", status=4)
        self.assertIn("PAWL-0241", refused.stderr)
        self.assertIn("write, end", refused.stderr)
        self.assertIn("--accept-rerun", refused.stderr)
        self.assertEqual(self.show("r")["status"], "completed")
        done = self.pawl("rollback", f"r@{target}", "--accept-rerun")
        self.assertIn("write, end", done.stderr)
        rolled = [event["data"] for event in self.events("r") if event["type"] == "rolled_back"]
        self.assertEqual((rolled[0]["rerun"], rolled[0]["by"], rolled[0]["to"]), (["write", "end"], "ada", target))
        self.assertEqual(len(json.loads(self.pawl("audit", "list", "r", "--type", "rolled_back", "--json").stdout)), 1)
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt").split(), ["gather", "write-tides", "end", "write-tides", "end"])
        keys = self.read("keys.txt").split()
        self.assertEqual(keys[1], keys[2], "the same step of the same run keeps its key")

    def test_rollback_to_before_a_child_workflow_begins_it_anew(self):
        self.write("child.yaml", "name: child\nsteps: [{ id: one, run: echo child >> ran.txt }]\n")
        self.write("workflow.yaml", "name: parent\nsteps:\n- { id: a, run: echo a >> ran.txt }\n- { id: b, workflow: child.yaml }\n- { id: c, run: echo c >> ran.txt }\n")
        self.pawl("run", "--run-id", "r")
        self.assertIn("a, b", self.pawl("rollback", "r@1", status=4).stderr)
        self.pawl("rollback", "r@1", "--accept-rerun")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt").split(), ["a", "child", "c", "a", "child", "c"])
        self.assertEqual((self.show("r.b")["status"], self.show("r.b-r1")["status"]), ("completed", "completed"))
        # A child that had already started is continued; it is completed by now.
        begun = next(event["sequence"] for event in self.events("r") if event["type"] == "child_started" and event["data"]["run"] == "r.b-r1")
        self.pawl("rollback", f"r@{begun}", "--accept-rerun")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt").split(), ["a", "child", "c", "a", "child", "c", "c"])

    def test_rollback_of_steps_that_a_script_called(self):
        for name in ("a", "b"):
            self.pawl("step", name, "--run", "r", "--", "sh", "-c", f"echo {name} >> ran.txt")
        steps = [json.loads(line) for line in self.pawl("replay", "r", "--json").stdout.splitlines()]
        after_a = max(line["sequence"] for line in steps if line["step"] == "a")
        self.assertIn("would run completed steps again: b", self.pawl("rollback", f"r@{after_a}", status=4).stderr)
        self.pawl("rollback", f"r@{after_a}", "--accept-rerun")
        for name in ("a", "b"):
            self.pawl("step", name, "--run", "r", "--", "sh", "-c", f"echo {name} >> ran.txt")
        self.assertEqual(self.read("ran.txt").split(), ["a", "b", "b"])
        self.pawl("fork", "r", "--from", "b", "--run-id", "f")
        for name in ("a", "b"):
            self.pawl("step", name, "--run", "f", "--", "sh", "-c", f"echo {name} >> ran.txt")
        self.assertEqual(self.read("ran.txt").split(), ["a", "b", "b", "b"])
        self.assertIn("PAWL-0242", self.pawl("fork", "r", "--run-id", "g", "--set", "steps.b.status=failed", status=4).stderr)

    # Replay.

    def test_replay_tells_what_happened_checkpoint_by_checkpoint(self):
        self.write("workflow.yaml", self.FLOW)
        self.pawl("run", "--run-id", "r")
        lines = [json.loads(line) for line in self.pawl("replay", "r", "--json").stdout.splitlines()]
        self.assertEqual([line["sequence"] for line in lines], list(range(1, len(lines) + 1)))
        self.assertEqual(sum((line["events"] for line in lines), [])[0]["type"], "run_started")
        self.assertTrue(all(line["changes"] for line in lines[:1]))
        text = self.pawl("replay", "r").stdout
        self.assertIn("step_completed gather", text)
        self.assertIn("/steps/gather", text)
        cut = self.pawl("replay", "r", "--to", "1", "--json").stdout.splitlines()
        self.assertEqual([json.loads(line) for line in cut], lines[:1])
        self.assertEqual(self.pawl("replay", "r@1", "--json").stdout.splitlines(), cut)
        self.assertEqual(self.pawl("replay", "r", "--step").stdout, text, "nothing is asked where nobody is at a terminal")
        self.pawl("replay", "r", "--to", "99", status=2)

    def test_replaying_the_changes_gives_the_states(self):
        states = [{"a": 1}, {"a": 2, "b": [1]}, {"b": [1, 2]}, {"b": {"c": None}}]
        for state in states:
            self.save("p", state)
        self.pawl("fork", "p@2", "--run-id", "f", "--set", "a=5")
        self.save("f", {"z": 1})
        for run in ("p", "f"):
            now = {}
            for line in self.pawl("replay", run, "--json").stdout.splitlines():
                row = json.loads(line)
                now = patched(now, row["changes"])
                self.assertEqual(now, self.state(f"{run}@{row['sequence']}"))


def patched(value, patch):
    """Applies the subset of RFC 6902 that `pawl` writes."""
    value = json.loads(json.dumps(value))
    for change in patch:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in change["path"].split("/")[1:]]
        if not parts:
            value = change["value"]
            continue
        at = value
        for part in parts[:-1]:
            at = at[int(part)] if isinstance(at, list) else at[part]
        last = parts[-1]
        if isinstance(at, list):
            index = len(at) if last == "-" else int(last)
            if change["op"] == "remove":
                del at[index]
            elif change["op"] == "add":
                at.insert(index, change["value"])
            else:
                at[index] = change["value"]
        elif change["op"] == "remove":
            del at[last]
        else:
            at[last] = change["value"]
    return value


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--poster", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM, POSTER = os.path.abspath(options.program), os.path.abspath(options.poster)
    unittest.main(argv=[sys.argv[0], *rest])
