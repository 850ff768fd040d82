#!/usr/bin/env python3
"""Tests with the real program: removing runs, finding the store, changing a fork by path, and `pawl check`."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

PROGRAM = None
PATIENCE = 30  # seconds to wait for something that must happen


class StoreCase(unittest.TestCase):
    """A temporary home folder, without PAWL_STORE."""

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="pawl-stores-"))
        self.project = self.make("home/project")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("PAWL_")}
        self.env |= {"HOME": os.path.join(self.folder, "home"), "XDG_CONFIG_HOME": os.path.join(self.folder, "xdg"), "NO_COLOR": "1"}
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def make(self, path):
        path = os.path.join(self.folder, path)
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, path, text):
        path = os.path.join(self.project, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(textwrap.dedent(text))
        return path

    def read(self, path):
        with open(os.path.join(self.project, path), "rb") as file:
            return file.read()

    def pawl(self, *args, status=0, cwd=None, stdin="", env=None):
        done = subprocess.run([PROGRAM, *args], cwd=cwd or self.project, env={**self.env, **(env or {})}, input=stdin,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, f"pawl {' '.join(args)}\n{done.stdout[:3000]}{done.stderr[:3000]}")
        return done

    def start(self, *args):
        self.started.append(subprocess.Popen([PROGRAM, *args], cwd=self.project, env=self.env, stdout=subprocess.PIPE,
                                             stderr=subprocess.PIPE, text=True))
        return self.started[-1]

    def save(self, run, state=None, *more):
        self.pawl("save", run, *more, stdin=json.dumps({"run": run} if state is None else state))

    def listed(self, *more):
        return [row["run"] for row in json.loads(self.pawl("list", "--json", *more).stdout)]

    def wait_for(self, what, check):
        until = time.monotonic() + PATIENCE
        while not check():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.02)


class Removing(StoreCase):
    def runs(self, text, run="r", status=0):
        self.write("workflow.yaml", text)
        self.pawl("run", "--run-id", run, status=status)

    def files_with(self, text):
        found = []
        for path in glob.glob(os.path.join(self.project, ".pawl/**/*"), recursive=True):
            if os.path.isfile(path) and text.encode() in self.read(path):
                found.append(os.path.relpath(path, self.project))
        return found

    def test_only_a_tombstone_stays(self):
        for n in range(5):
            self.save("gone", {"n": n, "text": "MARKER-OF-THE-RUN"})
        self.save("other")
        self.assertTrue(self.files_with("MARKER-OF-THE-RUN"))
        uuid = next(row["uuid"] for row in json.loads(self.pawl("verify", "--all", "--json").stdout)["runs"] if row["run"] == "gone")
        out = self.pawl("rm", "gone", "--reason", "not needed").stdout
        self.assertEqual(out, "removed gone (5 checkpoints)\n1 run removed\n")
        self.assertEqual(self.files_with("MARKER-OF-THE-RUN"), [])
        self.assertEqual(sorted(os.listdir(os.path.join(self.project, ".pawl/runs/gone"))), ["erased.json", "lock"])
        self.assertEqual(self.listed(), ["other"])
        (row,) = json.loads(self.pawl("list", "--removed", "--json").stdout)
        self.assertEqual((row["run"], row["uuid"], row["latest"], row["reason"], row["pending"]), ("gone", uuid, 5, "not needed", False))
        self.assertEqual((row["audit_entries"], len(row["audit_head"])), (6, 64))
        self.assertIn("gone", self.pawl("list", "--removed").stdout)
        self.pawl("fsck")
        self.pawl("restore", "other")

    def test_the_id_is_not_reused(self):
        self.save("gone")
        self.save("other", {"n": 1})
        self.pawl("export", "gone", "-o", "gone.pawl")
        self.pawl("rm", "gone")
        self.write("workflow.yaml", "steps: [{ run: 'true' }]")
        for args in (["save", "gone"], ["run", "--run-id", "gone"], ["fork", "other", "--run-id", "gone"], ["import", "gone.pawl"],
                     ["show", "gone"], ["restore", "gone"], ["step", "a", "--run", "gone", "--", "true"], ["rm", "gone"]):
            said = self.pawl(*args, status=2, stdin="{}").stderr
            self.assertIn("PAWL-0110", said, args)
            self.assertRegex(said, r"run 'gone' was removed on 20\d\d-\S+ by \S+@", args)
        self.assertEqual(self.listed(), ["other"])

    def test_verify_knows_what_was_removed(self):
        self.save("gone", {"n": 1})
        self.save("cut", {"n": 1})
        self.save("stays")
        self.pawl("audit", "anchor", "-o", "before.json")
        self.save("gone", {"n": 2})
        self.pawl("rm", "gone", "--reason", "old")
        done = self.pawl("verify", "--all", "--anchor", "before.json")
        self.assertRegex(done.stdout, r"gone: removed on 20\S+ by \S+: old\n")
        self.assertNotIn("BAD", done.stdout)
        self.pawl("audit", "anchor", "-o", "after.json")
        self.assertIn(b'"run":"gone"', self.read("after.json"))
        self.pawl("verify", "--all", "--anchor", "after.json")
        document = json.loads(self.pawl("verify", "gone", "--json").stdout)["runs"][0]
        self.assertEqual((document["ok"], document["removed"]["reason"]), (True, "old"))
        # A run or a tombstone that was removed outside of Pawl is still detected.
        shutil.rmtree(os.path.join(self.project, ".pawl/runs/cut"))
        self.assertIn("cut: BAD", self.pawl("verify", "--all", "--anchor", "before.json", status=4).stdout)
        self.pawl("fsck", status=4)
        shutil.rmtree(os.path.join(self.project, ".pawl/runs/gone"))
        self.assertIn("gone: BAD", self.pawl("verify", "--all", "--anchor", "after.json", status=4).stdout)

    def test_a_changed_tombstone_is_found(self):
        self.save("gone", {"n": 1})
        self.pawl("audit", "anchor", "-o", "before.json")
        self.pawl("rm", "gone", "--reason", "old")
        path = os.path.join(self.project, ".pawl/runs/gone/erased.json")
        text = self.read(path)
        with open(path, "wb") as out:
            out.write(text.replace(b'"reason":"old"', b'"reason":"new"'))
        self.pawl("verify", "gone", status=4)
        self.pawl("fsck", status=4)
        self.pawl("restore", "gone", status=4)

    def test_a_run_of_another_tombstone_does_not_fit_the_anchor(self):
        self.save("gone", {"n": 1})
        self.pawl("audit", "anchor", "-o", "before.json")
        self.save("more", {"n": 1})
        self.pawl("rm", "gone")
        self.pawl("rm", "more")
        runs = os.path.join(self.project, ".pawl/runs")
        shutil.copy(os.path.join(runs, "more/erased.json"), os.path.join(runs, "gone/erased.json"))
        self.assertIn("BAD", self.pawl("verify", "--all", "--anchor", "before.json", status=4).stdout)

    def test_runs_are_selected_by_age_and_status(self):
        self.runs("steps: [{ run: 'true' }]", "good")
        self.runs("steps: [{ run: 'false' }]", "bad", status=1)
        self.runs("steps: [{ approve: 'go on?' }]", "waits", status=3)
        self.save("plain")
        self.save("other")
        self.assertEqual(json.loads(self.pawl("rm", "--older-than", "1d", "--json").stdout)["removed"], [])
        time.sleep(1.1)
        dry = self.pawl("rm", "--older-than", "1s", "--status", "completed", "--dry-run").stdout
        self.assertIn("would remove good", dry)
        self.assertEqual(sorted(self.listed()), ["bad", "good", "other", "plain", "waits"])
        # Failed runs can be resumed, and active ones may get more saves: these are only removed by name or by status.
        done = json.loads(self.pawl("rm", "--older-than", "1s", "--json").stdout)
        self.assertEqual(sorted(row["run"] for row in done["removed"]), ["good"])
        done = json.loads(self.pawl("rm", "--older-than", "1s", "--status", "active", "--json").stdout)
        self.assertEqual(sorted(row["run"] for row in done["removed"]), ["other", "plain"])
        done = json.loads(self.pawl("rm", "--older-than", "1s", "--status", "completed,failed", "--json").stdout)
        self.assertEqual(sorted(row["run"] for row in done["removed"]), ["bad"])
        reasons = {row["run"]: row["reason"] for row in json.loads(self.pawl("list", "--removed", "--json").stdout)}
        self.assertEqual(reasons["bad"], "older than 1s, status completed or failed")
        done = json.loads(self.pawl("rm", "--status", "waiting", "--json").stdout)
        self.assertEqual([(row["run"], row["code"]) for row in done["kept"]], [("waits", "PAWL-0257")])
        said = self.pawl("rm", "waits", status=4).stderr
        self.assertIn("PAWL-0257", said)
        self.assertIn("hint: to remove it anyway, run: pawl rm waits --force\n", said)
        self.pawl("rm", "waits", "--force")
        self.assertEqual(self.listed(), [])

    def test_wrong_calls_are_refused(self):
        self.save("r")
        for args in ([], ["r", "--older-than", "1d"], ["--older-than", "soon"], ["--force"], ["--status", "completed", "--force"], ["a/b"]):
            self.pawl("rm", *args, status=2)
        self.assertIn("PAWL-0101", self.pawl("rm", "r", "missing", status=2).stderr)
        self.assertEqual(self.listed(), ["r"])

    def test_runs_that_others_refer_to_are_kept(self):
        self.save("p", {"n": 1})
        self.pawl("fork", "p@1", "--run-id", "f")
        said = self.pawl("rm", "p", status=4).stderr
        self.assertIn("PAWL-0255", said)
        self.assertIn("'f'", said)
        self.save("x")
        done = self.pawl("rm", "p", "x", status=4)
        self.assertEqual(sorted(self.listed()), ["f", "p", "x"], "all are removed, or none")
        self.pawl("rm", "p", "f")
        self.assertEqual(self.listed(), ["x"])
        self.write("child.yaml", "steps: [{ run: 'true' }]")
        self.runs("steps: [{ id: c, workflow: child.yaml }]", "parent")
        (child,) = [run for run in self.listed() if run not in ("x", "parent")]
        for run in ("parent", child):
            said = self.pawl("rm", run, status=4).stderr
            self.assertIn("PAWL-0258", said)
        done = json.loads(self.pawl("rm", "--status", "completed", "--json").stdout)
        self.assertEqual(sorted(row["run"] for row in done["removed"]), sorted([child, "parent"]))
        self.pawl("fsck")

    def test_a_run_that_is_held_is_kept(self):
        self.write("workflow.yaml", "steps: [{ run: 'touch begun; sleep 60' }]")
        process = self.start("run", "--run-id", "busy")
        self.wait_for("the step begins", lambda: os.path.exists(os.path.join(self.project, "begun")))
        said = self.pawl("rm", "busy", status=4).stderr
        self.assertIn("PAWL-0201", said)
        self.assertIn("hint: wait until it finishes, or run: pawl cancel busy\n", said)
        self.assertIn("PAWL-0201", self.pawl("rm", "busy", "--force", status=4).stderr)
        self.assertEqual(json.loads(self.pawl("rm", "--older-than", "0d", "--json").stdout)["removed"], [])
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.wait_for("its command ends", lambda: self.pawl_status("rm", "busy", "--force") == 0)
        self.assertEqual(self.listed(), [])

    def pawl_status(self, *args):
        return subprocess.run([PROGRAM, *args], cwd=self.project, env=self.env, capture_output=True, timeout=60).returncode

    def test_killed_in_the_middle_the_next_command_finishes(self):
        """A kill -9 at any moment leaves the run intact, or a removal that the next command finishes."""
        outcomes = set()
        self.save("measured")
        begin = time.monotonic()
        self.pawl("rm", "measured")
        duration = time.monotonic() - begin
        for attempt in range(16):
            run = f"r{attempt}"
            for n in range(3):
                self.save(run, {"n": n, "text": f"MARKER-{attempt}-"})
            process = self.start("rm", run)
            time.sleep(duration * attempt / 13)  # the last kills come too late
            process.kill()
            process.wait()
            if run in self.listed():
                outcomes.add("whole")
                self.assertEqual(json.loads(self.pawl("restore", run).stdout)["n"], 2)
            else:
                outcomes.add("removed")
                self.pawl("restore", run, status=2)
                self.save(f"next{attempt}")  # a writer finishes the removal
                self.assertEqual(self.files_with(f"MARKER-{attempt}-"), [])
            self.pawl("fsck")
        self.assertIn("removed", outcomes)


class Searching(StoreCase):
    def test_a_subfolder_uses_the_store_above(self):
        self.save("r", {"n": 1})
        deep = self.make("home/project/src/deep")
        self.assertIn('"run":"r"', self.pawl("list", "--json", cwd=deep).stdout)
        self.pawl("save", "s", cwd=deep, stdin="{}")
        self.assertEqual(sorted(self.listed()), ["r", "s"])
        self.assertFalse(os.path.exists(os.path.join(deep, ".pawl")))
        doctor = self.pawl("doctor", cwd=deep).stdout
        self.assertIn(os.path.join(self.project, ".pawl") + " (in a parent folder)", doctor)
        self.assertIn(os.path.join(self.project, ".pawl") + " (in a parent folder)", self.pawl("config", cwd=deep).stderr)
        self.assertIn("./.pawl (in the current folder)", self.pawl("doctor").stdout)
        # The nearest store is used; `init` creates one here.
        self.pawl("init", cwd=deep)
        self.assertEqual(json.loads(self.pawl("list", "--json", cwd=deep).stdout), [])

    def test_options_and_variables_win(self):
        self.save("r")
        deep = self.make("home/project/src")
        self.pawl("save", "s", "--store", "here", cwd=deep, stdin="{}")
        self.assertEqual(json.loads(self.pawl("list", "--json", cwd=deep, env={"PAWL_STORE": "here"}).stdout)[0]["run"], "s")
        self.assertIn("(from PAWL_STORE)", self.pawl("doctor", cwd=deep, env={"PAWL_STORE": "here"}).stdout)
        self.assertIn("(from --store)", self.pawl("--store", "here", "doctor", cwd=deep).stdout)

    def test_the_search_ends_with_the_home_folder(self):
        outside = self.make("home/..")
        self.pawl("save", "outside", cwd=outside, stdin="{}")
        self.pawl("list", status=2)  # a store above home is not used
        self.save("inside")
        self.assertTrue(os.path.exists(os.path.join(self.project, ".pawl")))
        shutil.rmtree(os.path.join(self.project, ".pawl"))
        self.pawl("save", "home", cwd=self.env["HOME"], stdin="{}")
        self.assertEqual(self.listed(), ["home"])

    def test_the_search_ends_at_another_users_folder(self):
        if os.geteuid() != 0:
            self.skipTest("needs a second user")
        self.save("r")
        middle = self.make("home/project/middle")
        deep = self.make("home/project/middle/deep")
        self.assertEqual(len(json.loads(self.pawl("list", "--json", cwd=deep).stdout)), 1)
        os.chown(middle, 1234, 1234)
        self.assertIn("PAWL-0103", self.pawl("list", cwd=deep, status=2).stderr)

    def test_reading_makes_no_store(self):
        for args in (["list"], ["list", "--resumable"], ["list", "--removed"], ["show", "r"], ["restore", "r"], ["diff", "r@1", "r@2"],
                     ["replay", "r"], ["logs", "r"], ["handoff", "r"], ["stats"], ["verify", "--all"], ["fsck"], ["audit", "list", "--all"],
                     ["export", "r", "-o", "x"], ["dlq", "list", "r"], ["rm", "r"], ["rm", "--older-than", "1d"], ["prune", "--keep", "1"],
                     ["erase", "r", "--reason", "x"], ["approve", "r"], ["signal", "r", "x"], ["cancel", "r"], ["resume"], ["fork", "r"],
                     ["rollback", "r", "1"], ["doctor"], ["config"]):
            subprocess.run([PROGRAM, *args], cwd=self.project, env=self.env, input=b"", capture_output=True, timeout=60)
            self.assertEqual(os.listdir(self.project), [], args)

    def test_storage_path_creates_its_parents(self):
        path = os.path.join(self.folder, "xdg/pawl")
        os.makedirs(path)
        with open(os.path.join(path, "config.yaml"), "w") as out:
            out.write("checkpoint: { storage_path: ~/data/pawl/store }\n")
        self.pawl("list", status=2)
        self.assertFalse(os.path.exists(os.path.join(self.env["HOME"], "data")))
        self.save("r")
        self.assertTrue(os.path.exists(os.path.join(self.env["HOME"], "data/pawl/store/store.json")))
        self.assertIn("(from checkpoint.storage_path)", self.pawl("doctor").stdout)
        # A path on the command line may be misspelt.
        self.pawl("--store", "no/such/folder", "save", "r", status=2, stdin="{}")


class Forking(StoreCase):
    def fork(self, change, *more, status=0):
        run = f"f{len(os.listdir(os.path.join(self.project, '.pawl/runs')))}"
        done = self.pawl("fork", "p", "--run-id", run, "--set", change, *more, status=status)
        return json.loads(self.pawl("restore", run).stdout) if status == 0 else done.stderr

    def test_the_pointer_that_diff_prints_is_taken(self):
        self.save("p", {"done": False, "todo": ["a", "b", "c"], "a.b": {"c/d": 1, "e~f": 2}, "x": {"y": 1}})
        self.save("p", {"done": True, "todo": ["a", "b", "z"], "a.b": {"c/d": 5, "e~f": 6}, "x": {"y": 3}})
        printed = self.pawl("diff", "p@1", "p@2", "--json").stdout
        for pointer in ("/done", "/todo/2", "/a.b/c~1d", "/a.b/e~0f", "/x/y"):
            self.assertIn(f'"{pointer}"', printed)
            self.assertIn('"set"', json.dumps(self.fork(f"{pointer}=set")))
        self.assertEqual(self.fork("/a.b/c~1d=9")["a.b"]["c/d"], 9)
        self.assertEqual(self.fork("x.y=9")["x"]["y"], 9)
        self.assertEqual(self.fork("todo[1]=9")["todo"][1], 9)

    def test_a_missing_path_is_refused(self):
        self.save("p", {"done": False, "todo": ["a"], "a.b": 1})
        for change, nearest in (("dome=1", "/done"), ("/todo/1=x", "/todo has 1 element"), ("a.b=2", "/a.b"), ("new=1", "--create")):
            said = self.fork(change, status=2)
            self.assertIn("PAWL-0030", said)
            self.assertIn(nearest, said)
            self.assertIn("--create", said)
        self.assertEqual(self.fork("/todo/1=x", "--create")["todo"], ["a", "x"])
        self.assertEqual(self.fork("/todo/-=x", "--create")["todo"], ["a", "x"])
        self.assertEqual(self.fork("a.b=2", "--create")["a"], {"b": 2})
        self.assertEqual(self.fork("/a.b=2")["a.b"], 2)


class Checking(StoreCase):
    def check(self, text, status):
        self.write("w.yaml", text)
        return self.pawl("check", "w.yaml", status=status)

    def test_an_output_that_nobody_captures_is_a_warning(self):
        text = "steps:\n  - { id: a, run: echo x }\n  - { id: b, run: 'echo ${steps.a.output}' }\n"
        self.assertRegex(self.check(text, 0).stdout, r"w\.yaml:3:\d+: warning: steps\.a\.output is null: step 'a' has no 'capture'")
        (warning,) = json.loads(self.pawl("check", "w.yaml", "--json").stdout)["warnings"]
        self.assertEqual(warning["line"], 3)
        for silent in ("run: echo x, capture: { format: text }", "run: 'echo {} >>$PAWL_RESULT'", "approve: go on"):
            out = self.check(f"steps:\n  - {{ id: a, {silent} }}\n  - {{ id: b, run: 'echo ${{steps.a.output}}' }}\n", 0).stdout
            self.assertNotIn("warning", out, silent)

    def test_syntax_of_other_tools_is_an_error_with_the_right_form(self):
        for command, form in (("echo ${{ vars.x }}", "${vars.x}"), ("echo ${len(x)}", "${length(vars.x)}"),
                              ("echo ${{ secrets.TOKEN }}", "$TOKEN"), ("echo ${{ steps.a.outputs.b }}", "${steps.a.output.b}")):
            said = self.check(f"vars: {{ x: [1] }}\nsteps:\n  - run: {command}\n", 2).stdout
            self.assertIn(form, said)
            self.assertRegex(said, r"^w\.yaml:3:\d+: ")
        self.check("steps:\n  - run: echo '$${{ literal }}'\n", 0)

    def test_no_text_of_the_yaml_parser_reaches_people(self):
        header = "/usr/include/yaml-cpp/exceptions.h"
        if not os.path.exists(header):
            self.skipTest("no headers of yaml-cpp")
        with open(header) as text:
            raw = ["".join(re.findall(r'"([^"]*)"', found)) for found in re.findall(r"const char\* const \w+ =\s*((?:\"[^\"]*\"\s*)+);", text.read())]
        self.assertGreater(len(raw), 40)
        broken = ["a: [1", "a: {b: 1", "a: [1}", "a: b: c", "a: @b", "a: *b", "a: \"\\q\"", "a: | text", "a: 'b", "- a\nb: c", "a:\n  b: 1\n c: 2",
                  "a: &", "a: !", "%YAML 9.9 x\n---\na: 1", "a: \"\\xzz\"", "? a\n- b", "a: *", "]", "}", "a:\n\t- b", "a: |0\n  x", "&a &b c", "a: - b"]
        for text in broken:
            out = self.check(text + "\n", 2).stdout
            for message in raw:
                self.assertNotIn(message, out, text)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
