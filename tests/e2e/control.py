#!/usr/bin/env python3
"""Tests commands that act on runs, with the real program: approve, reject, signal, cancel, dlq, check, schema."""
import argparse
import glob
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = POSTER = None
PATIENCE = 60  # seconds to wait for something that must happen


class Control(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-control-")
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
        return {**os.environ, "PAWL_STORE": self.store, "USER": "ada", "NO_COLOR": "1"}

    def pawl(self, *args, status=0):
        done = subprocess.run([PROGRAM, *args], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, f"pawl {' '.join(args)}\n{done.stdout}{done.stderr}")
        return done

    def start(self, *args):
        process = subprocess.Popen([PROGRAM, *args], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def post(self, run, body):
        subprocess.run([POSTER, self.store, run, json.dumps(body)], check=True, stdout=subprocess.DEVNULL, timeout=60)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.02)
        self.fail(f"in {PATIENCE} s there was no {what}")

    def exists(self, name):
        return os.path.exists(os.path.join(self.folder, name))

    def state(self, run):
        return json.loads(self.pawl("restore", run).stdout)

    def events(self, run):
        lines = []
        for path in sorted(glob.glob(os.path.join(self.store, "runs", run, "events", "*.jsonl"))):
            with open(path, encoding="utf-8") as file:
                lines += file.read().splitlines()
        return [json.loads(line) for line in lines]

    def event_types(self, run):
        return [event.get("type") for event in self.events(run)]

    def messages(self, run):
        return glob.glob(os.path.join(self.store, "runs", run, "inbox", "*.json"))

    # Approvals.

    GATE = """
name: gate
vars: {topic: tides}
steps:
  - {id: gather, run: echo gathered >> ran.txt}
  - {id: review, approve: "Publish ${vars.topic}?"}
  - {id: publish, run: echo published >> ran.txt}
"""

    def test_no_prompt_is_taken_for_a_state(self):
        for prompt in ("rejected", "breakpoint", "signal 'go'"):
            run = "gate-" + prompt.split()[0]
            workflow = self.write("gate.yaml", f"""steps: [{{id: gate, approve: "{prompt}"}}, {{id: after, run: 'true'}}]\n""")
            self.pawl("run", workflow, "--run-id", run, status=3)
            shown = json.loads(self.pawl("show", run, "--json").stdout)
            self.assertEqual([(w["what"], w["prompt"]) for w in shown["waiting_for"]], [("approval", prompt)])
            self.pawl("resume", run, status=3)  # still waits: nobody has decided
            self.assertIn(f"needs approval: {prompt}", self.pawl("show", run).stdout)
            self.pawl("approve", run, "gate")
            self.pawl("resume", run)

    def test_only_a_rejection_is_called_final(self):
        workflow = self.write("inner.yaml", "steps: [{id: gate, approve: 'Publish?'}]\n")
        outer = self.write("outer.yaml", "steps: [{id: call, workflow: inner.yaml}]\n")
        self.pawl("run", workflow, "--run-id", "plain", status=3)
        self.pawl("reject", "plain", "gate")
        self.assertIn("rejection is final", self.pawl("resume", "plain", status=1).stderr)
        self.assertIn("rejection is final", self.pawl("resume", "plain", status=1).stderr)
        self.pawl("run", outer, "--run-id", "calls", status=3)
        self.pawl("reject", "calls")
        self.assertIn("rejection is final", self.pawl("resume", "calls", status=1).stderr)
        # The error of a child's step names the step, which may be called anything.
        self.write("inner.yaml", "steps: [{id: rejected, run: 'exit 1'}]\n")
        self.assertNotIn("rejection is final", self.pawl("run", outer, "--run-id", "told", status=1).stderr)

    def test_an_approved_gate_is_passed_by_the_next_resume(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        done = self.pawl("approve", "r", "--comment", "fine")
        self.assertEqual(done.stdout, "r: review approved\n")
        self.assertIn("pawl resume r", done.stderr)
        again = self.pawl("approve", "r", status=4)
        self.assertIn("already approved by ada", again.stderr)
        self.assertEqual(len(self.messages("r")), 1)
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt"), "gathered\npublished\n")
        self.assertEqual(self.messages("r"), [])
        self.assertEqual(self.state("r")["steps"]["review"]["output"], {"approved": True, "by": "ada", "comment": "fine"})
        # The account is recorded regardless of the given name.
        entry, = json.loads(self.pawl("audit", "list", "r", "--type", "approved", "--json").stdout)
        self.assertEqual(entry["data"]["from"], f"{pwd.getpwuid(os.geteuid()).pw_name}@{socket.gethostname()}")
        self.assertIn("is completed", self.pawl("approve", "r", status=4).stderr)

    def test_a_rejected_gate_fails_the_run_and_stays_rejected(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        self.assertEqual(self.pawl("reject", "r", "review", "--by", "bob").stdout, "r: review rejected\n")
        self.pawl("resume", "r", status=1)
        self.pawl("resume", "r", status=1)
        self.pawl("approve", "r", status=4)
        self.assertEqual(self.read("ran.txt"), "gathered\n")

    def test_a_running_process_goes_on_by_itself(self):
        self.write("workflow.yaml", self.GATE)
        process = self.start("run", "--run-id", "r", "--wait")
        self.until(lambda: self.exists("ran.txt") and subprocess.run(
            [PROGRAM, "approve", "r", "--json"], env=self.environment(), capture_output=True).returncode == 0, "gate")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertEqual(self.read("ran.txt"), "gathered\npublished\n")

    def test_a_decision_about_something_else_is_refused_and_recorded(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        self.pawl("run", "--run-id", "other", "--var", "topic=winds", status=3)
        foreign = self.state("other")["steps"]["review"]["binding"]
        self.post("r", {"type": "approve", "step": "review", "binding": foreign, "by": "eve"})
        self.post("r", {"type": "approve", "step": "review", "by": "eve"})
        self.post("r", {"type": "approve", "step": "publish", "binding": foreign, "by": "eve"})
        self.post("r", {"type": "nonsense"})
        self.pawl("resume", "r", status=3)
        self.assertEqual(self.event_types("r").count("message_refused"), 4)
        self.assertEqual(self.read("ran.txt").count("published"), 0)
        self.pawl("approve", "r")  # forged answers don't block a real one
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt").count("published"), 1)

    def test_a_message_copied_from_another_run_is_no_decision(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "a", status=3)
        self.pawl("run", "--run-id", "b", status=3)
        self.pawl("approve", "a")
        os.makedirs(os.path.join(self.store, "runs", "b", "inbox"), exist_ok=True)
        for path in self.messages("a"):
            shutil.copy(path, os.path.join(self.store, "runs", "b", "inbox"))
        self.pawl("resume", "b", status=3)
        self.assertNotIn("published", self.read("ran.txt"))

    def test_a_decision_does_not_count_for_a_changed_workflow(self):
        self.write("workflow.yaml", self.GATE)
        self.pawl("run", "--run-id", "r", status=3)
        self.pawl("approve", "r")
        self.write("workflow.yaml", self.GATE.replace("echo published", "echo PUBLISHED"))
        self.assertIn("PUBLISHED", self.pawl("resume", "r", status=4).stderr)
        self.pawl("resume", "r", "--accept-changes", status=3)
        self.assertIn("message_refused", self.event_types("r"))
        self.assertEqual(self.read("ran.txt"), "gathered\n")
        self.pawl("approve", "r")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt"), "gathered\nPUBLISHED\n")

    def test_several_gates_are_told_apart(self):
        self.write("workflow.yaml", """
steps:
  - {id: left, needs: [], approve: "Left?"}
  - {id: right, needs: [], approve: "Right?"}
""")
        self.pawl("run", "--run-id", "r", status=3)
        refused = self.pawl("approve", "r", status=2)
        self.assertIn("r left: Left?", refused.stderr)
        self.assertIn("r right: Right?", refused.stderr)
        self.assertIn("no approval step 'middle'", self.pawl("approve", "r", "middle", status=4).stderr)
        self.pawl("approve", "r", "right")
        self.pawl("resume", "r", status=3)
        self.assertEqual(json.loads(self.pawl("approve", "r", "--json").stdout)["step"], "left")
        self.pawl("resume", "r")

    def test_the_gate_of_a_child_is_found_through_its_parent(self):
        self.write("child.yaml", "steps:\n  - {id: ask, approve: \"Really?\"}\n  - {id: act, run: echo acted >> ran.txt}\n")
        self.write("workflow.yaml", "steps:\n  - {id: call, workflow: child.yaml}\n  - {id: after, run: echo after >> ran.txt}\n")
        self.pawl("run", "--run-id", "r", status=3)
        done = json.loads(self.pawl("approve", "r", "--json").stdout)
        self.assertEqual((done["step"], done["resume"]), ("ask", "r"))
        self.assertNotEqual(done["run"], "r")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt"), "acted\nafter\n")

    # Signals.

    WAIT = """
steps:
  - {id: before, run: echo before >> ran.txt}
  - {id: go, wait_for: {signal: release}}
  - {id: after, run: "echo got-${steps.go.output.version} >> ran.txt"}
"""

    def test_a_late_signal_is_what_the_run_waited_for(self):
        self.write("workflow.yaml", self.WAIT)
        self.pawl("run", "--run-id", "r", status=3)
        self.assertIn("waits at go", self.pawl("approve", "r", status=4).stderr)
        self.assertEqual(self.pawl("signal", "r", "release", "--json-payload", '{"version": 3}').stdout, "r: signal release sent\n")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt"), "before\ngot-3\n")
        self.assertIn("PAWL-0610", self.pawl("signal", "r", "release", status=4).stderr)

    def test_an_early_signal_is_kept(self):
        self.write("workflow.yaml", self.WAIT.replace("echo before >> ran.txt", "test -e ready"))
        self.pawl("run", "--run-id", "r", status=1)
        self.pawl("signal", "r", "other", "--payload", "x")
        self.pawl("signal", "r", "release", "--json-payload", '{"version": 4}')
        self.pawl("resume", "r", status=1)
        self.assertEqual(self.messages("r"), [])  # the message is part of the state now
        self.write("ready", "")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt"), "got-4\n")

    def test_bad_payloads_are_refused(self):
        self.write("workflow.yaml", self.WAIT)
        self.pawl("run", "--run-id", "r", status=3)
        self.pawl("signal", "r", "release", "--json-payload", "{", status=2)
        self.pawl("signal", "r", "release", "--json-payload", "1", "--payload", "1", status=2)
        self.pawl("signal", "r", "", status=2)
        self.pawl("signal", "missing", "release", status=2)
        self.assertEqual(self.messages("r"), [])

    # Cancelling.

    def test_cancelling_a_running_run_ends_its_steps(self):
        self.write("workflow.yaml", "steps:\n  - {id: long, run: \"echo $$ > pid; exec sleep 1000\"}\n")
        process = self.start("run", "--run-id", "r")
        self.until(lambda: self.exists("pid") and self.read("pid").endswith("\n"), "step")
        pid = int(self.read("pid"))
        self.assertEqual(self.pawl("cancel", "r", "--reason", "enough").stdout, "r: cancelled\n")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1, out + err)
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)
        state = self.state("r")
        self.assertEqual((state["status"], state["error"]), ("cancelled", "enough"))
        self.pawl("resume", "r", status=4)
        self.pawl("cancel", "r", status=4)

    def test_cancelling_a_run_that_nobody_executes_takes_its_children_along(self):
        self.write("child.yaml", "steps:\n  - {id: ask, approve: \"Really?\"}\n")
        self.write("workflow.yaml", "steps:\n  - {id: call, workflow: child.yaml}\n")
        self.pawl("run", "--run-id", "r", status=3)
        child = self.state("r")["steps"]["call"]["child"]
        self.pawl("cancel", "r")
        for run in ("r", child):
            self.assertEqual(self.state(run)["status"], "cancelled")
            self.assertEqual(self.event_types(run)[-1], "run_cancelled")
            self.pawl("approve", run, status=4)

    def test_a_run_whose_process_was_killed_can_be_cancelled(self):
        self.write("workflow.yaml", "steps:\n  - {id: long, run: \"echo $$ > pid; exec sleep 1000\"}\n")
        process = self.start("run", "--run-id", "r")
        self.until(lambda: self.exists("pid") and self.read("pid").endswith("\n"), "step")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.pawl("cancel", "r")
        self.assertEqual(self.state("r")["status"], "cancelled")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(self.read("pid")), 0)

    def test_cancelling_goes_down_to_the_steps_of_a_child(self):
        self.write("child.yaml", "steps:\n  - {id: long, run: \"echo $$ > pid; exec sleep 1000\"}\n")
        self.write("workflow.yaml", "steps:\n  - {id: call, workflow: child.yaml}\n")
        process = self.start("run", "--run-id", "r")
        self.until(lambda: self.exists("pid") and self.read("pid").endswith("\n"), "step")
        child = self.state("r")["steps"]["call"]["child"]
        self.pawl("cancel", "r")
        process.communicate(timeout=PATIENCE)
        self.assertEqual((self.state("r")["status"], self.state(child)["status"]), ("cancelled", "cancelled"))
        with self.assertRaises(ProcessLookupError):
            os.kill(int(self.read("pid")), 0)

    # Dead-letter queue.

    MAP = """
steps:
  - id: pages
    map: {items: [a, b, c, d, e], on_item_failure: dlq}
    steps:
      - {id: write, run: "echo ${item} >> ran.txt; test ${item} != d || test -e mended", retry: {attempts: 1}, capture: {format: text}}
    reduce: {run: 'cp "$PAWL_ITEMS" items.jsonl; echo reduced >> ran.txt'}
  - {id: after, run: echo after >> ran.txt}
"""

    def run_map(self, text=None):
        self.write("workflow.yaml", text or self.MAP)
        self.pawl("run", "--run-id", "r")
        return self.read("ran.txt")

    def item_lines(self):
        return [(line["index"], line["status"]) for line in map(json.loads, self.read("items.jsonl").splitlines())]

    def test_dead_letters_are_listed_and_shown(self):
        self.run_map()
        letters = json.loads(self.pawl("dlq", "list", "r", "--json").stdout)
        self.assertEqual([(x["step"], x["index"], x["item"], x["attempts"]) for x in letters], [("pages", 3, "d", 1)])
        self.assertIn("exit", letters[0]["error"])
        self.assertTrue(letters[0]["at"].endswith("Z"))
        self.assertIn("pages", self.pawl("dlq", "list", "r", "pages").stdout)
        self.assertIn('"d"', self.pawl("dlq", "show", "r", "pages", "3").stdout)
        self.assertEqual(json.loads(self.pawl("dlq", "show", "r", "3", "--json").stdout), letters[0])
        self.pawl("dlq", "show", "r", "2", status=4)
        self.pawl("dlq", "list", "r", "after", status=2)
        self.pawl("dlq", "retry", "r", "2", status=4)
        self.pawl("dlq", "retry", "r", "pages", "x", status=2)

    def test_a_retry_runs_only_the_dead_letter_and_the_reduce(self):
        before = self.run_map()
        self.pawl("dlq", "retry", "r")  # fails again
        self.assertEqual(self.read("ran.txt"), before + "d\nreduced\n")
        self.assertEqual(len(json.loads(self.pawl("dlq", "list", "r", "--json").stdout)), 1)
        self.write("mended", "")
        self.pawl("dlq", "retry", "r", "pages", "3")
        self.assertEqual(self.read("ran.txt"), before + "d\nreduced\n" * 2)
        self.assertEqual(json.loads(self.pawl("dlq", "list", "r", "--json").stdout), [])
        self.assertEqual(self.item_lines(), [(i, "completed") for i in range(5)])
        self.assertEqual(self.event_types("r").count("dlq_retried"), 2)
        self.assertEqual(self.state("r")["status"], "completed")

    def test_the_last_item_of_a_map_has_one_result_after_a_retry(self):
        self.run_map(self.MAP.replace("[a, b, c, d, e]", "[a, b, c, d]"))
        self.write("mended", "")
        self.pawl("dlq", "retry", "r")
        self.assertEqual(self.item_lines(), [(i, "completed") for i in range(4)])

    def test_dependents_run_again_only_on_request(self):
        before = self.run_map()
        self.write("mended", "")
        done = self.pawl("dlq", "retry", "r", "--all", "--rerun-dependents", "--no-run")
        self.assertIn("after will run again", done.stderr)
        self.assertEqual(self.read("ran.txt"), before)
        self.assertEqual(self.state("r")["status"], "interrupted")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt"), before + "d\nreduced\nafter\n")

    def test_a_retry_with_a_changed_workflow_takes_nothing_back(self):
        self.run_map()
        self.write("workflow.yaml", self.MAP + "# changed\n")
        self.assertIn("--no-run", self.pawl("dlq", "retry", "r", status=4).stderr)
        self.assertEqual(self.state("r")["status"], "completed")
        self.assertEqual(len(json.loads(self.pawl("dlq", "list", "r", "--json").stdout)), 1)
        self.pawl("dlq", "retry", "r", "--no-run")
        self.write("mended", "")
        self.pawl("resume", "r", "--accept-changes")
        self.assertEqual(self.item_lines(), [(i, "completed") for i in range(5)])

    def test_a_dropped_letter_is_given_up(self):
        before = self.run_map()
        self.pawl("dlq", "drop", "r", status=2)
        self.assertEqual(self.pawl("dlq", "drop", "r", "3").stdout, "r: 1 item of pages dropped: 3\n")
        self.assertEqual(json.loads(self.pawl("dlq", "list", "r", "--json").stdout), [])
        self.pawl("dlq", "retry", "r", status=4)
        self.assertEqual(self.read("ran.txt"), before)
        self.assertEqual(self.state("r")["status"], "completed")
        self.assertEqual(self.event_types("r")[-1], "dlq_dropped")

    def test_dropping_lets_a_map_with_too_many_failures_go_on(self):
        self.write("workflow.yaml", self.MAP.replace("on_item_failure: dlq", "on_item_failure: dlq, max_failures: 0"))
        self.pawl("run", "--run-id", "r", status=1)
        self.pawl("resume", "r", status=1)  # retries the failed item
        self.pawl("dlq", "drop", "r", "--all")
        self.pawl("resume", "r")
        self.assertEqual(self.read("ran.txt"), "a\nb\nc\nd\nd\ne\nreduced\nafter\n")

    # Checking.

    def test_all_faults_of_a_workflow_are_listed_with_their_places(self):
        self.write("bad.yaml", "steps:\n  - {id: a, runn: x}\n  - {id: b, run: \"echo ${vars.x}\"}\n")
        done = self.pawl("check", "bad.yaml", status=2)
        places = [line.split(": ")[0] for line in done.stdout.splitlines()]
        self.assertGreaterEqual(len(places), 2)
        for place in places:
            self.assertRegex(place, r"^bad\.yaml:\d+:\d+$")
        document = json.loads(self.pawl("check", "bad.yaml", "--json", status=2).stdout)
        self.assertFalse(document["ok"])
        self.assertEqual(len(document["faults"]), len(places))
        self.assertEqual(set(document["faults"][0]), {"file", "line", "column", "code", "message", "hint"})
        self.pawl("check", "missing.yaml", status=2)

    def test_a_sound_workflow_is_drawn_and_missing_things_are_warnings(self):
        self.write("there.sh", "#!/bin/sh\n")
        self.write("workflow.yaml", """
env_file: secrets.env
steps:
  - {id: a, run: "X=1 ./missing.sh one"}
  - {id: b, run: ./there.sh}
  - {id: c, handler: nobody}
  - {id: d, map: {items_from: items.jsonl}, steps: [{id: inner, run: echo hi}]}
  - {id: e, run: "echo ./not-a-program"}
""")
        done = self.pawl("check")
        self.assertIn("workflow.yaml: ok, 6 steps\n", done.stdout)
        document = json.loads(self.pawl("check", "--json").stdout)
        self.assertEqual((document["ok"], document["faults"], document["steps"]), (True, [], 6))
        self.assertEqual([(w["step"], w["message"]) for w in document["warnings"]], [
            ("", "env_file 'secrets.env' does not exist"),
            ("a", "'./missing.sh' does not exist"),
            ("b", "'./there.sh' is not executable"),
            ("c", "handler 'nobody' is not registered in this program"),
            ("d", "items_from 'items.jsonl' does not exist")])
        os.chmod(os.path.join(self.folder, "there.sh"), 0o755)
        self.assertNotIn("there.sh' is not", self.pawl("check").stdout)

    def test_the_schema_is_json(self):
        schema = json.loads(self.pawl("schema").stdout)
        self.assertIn("steps", json.dumps(schema))
        self.assertIn("$schema", schema)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--poster", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM, POSTER = os.path.abspath(arguments.program), os.path.abspath(arguments.poster)
    unittest.main(argv=[sys.argv[0], *rest])
