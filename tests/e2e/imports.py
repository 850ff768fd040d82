#!/usr/bin/env python3
"""Tests imports and exports with the real program, with valid and with damaged samples of every format."""
import argparse
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = GOLDEN = None
ORCHESTRATION = "1/projects/PROJ-002/.jerry/orchestration/checkpoints/WF-ORCH-001"


def tree(folder):
    """Returns the bytes and times of every file."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                found[path] = (hashlib.sha256(file.read()).hexdigest(), os.stat(path).st_mtime_ns)
    return found


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-imports-")
        self.store = os.path.join(self.folder, "store")
        self.environment = {**os.environ, "PAWL_STORE": self.store, "NO_COLOR": "1", "XDG_CONFIG_HOME": os.path.join(self.folder, "xdg")}
        for name in ("PAWL_KEY", "PAWL_KEY_FILE", "PAWL_PASSPHRASE", "PAWL_EXPORT_KEY_FILE"):
            self.environment.pop(name, None)

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def pawl(self, *args, status=0, store=None, env=None, stdin=b""):
        environment = {**self.environment, **(env or {})}
        if store:
            environment["PAWL_STORE"] = store
        done = subprocess.run([PROGRAM, *args], cwd=self.folder, env=environment, input=stdin, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, status, f"pawl {' '.join(args)}\n{done.stdout[:3000].decode()}{done.stderr[:3000].decode()}")
        return done

    def json(self, *args, **more):
        return json.loads(self.pawl(*args, "--json", **more).stdout)

    def sample(self, number):
        """Copies a golden sample, so that a test can damage it."""
        target = self.path("source")
        shutil.copytree(os.path.join(GOLDEN, str(number)), target)
        return target

    def taken(self, report):
        return {run["run"]: run["written"] for run in report["runs"]}

    def codes(self, report):
        return {(entry["file"].rsplit("/", 1)[-1], entry["item"]): entry["code"] for entry in report["refused"]}

    def restored(self, address):
        return json.loads(self.pawl("restore", address).stdout)

    def resume(self, run, *executed):
        """Resumes the run and checks that exactly these steps ran."""
        log = self.path("log")
        if os.path.exists(log):
            os.remove(log)
        self.pawl("resume", run)
        with open(log) as lines:
            self.assertEqual(lines.read().split(), list(executed))
        self.assertEqual(self.restored(run)["status"], "completed")

    def workflow(self, *steps, stages=None, variables=""):
        text = "name: adopted\n" + variables
        step = "{indent}- id: {id}\n{indent}  run: echo {id} >> log\n"
        if stages:
            text += "stages:\n"
            for stage, inner in stages.items():
                text += f"  - id: {stage}\n    steps:\n" + "".join(step.format(indent=" " * 6, id=name) for name in inner)
        else:
            text += "steps:\n" + "".join(step.format(indent="  ", id=name) for name in steps)
        return self.write("workflow.yaml", text)


class Taking(Case):
    def test_orchestration_is_taken_and_resumed(self):
        source = self.sample(1)
        before = tree(source)
        workflow = self.workflow(stages={"design": ["ps-architect"], "review": ["ps-critic", "ps-writer"]}, variables="vars:\n  topic: none\n")
        report = self.json("import", source, "--workflow", workflow)
        self.assertEqual((report["format"], report["refused"]), ("orchestration", []))
        self.assertEqual(self.taken(report), {"WF-ORCH-001": 7})
        self.assertEqual(tree(source), before)
        state = self.restored("WF-ORCH-001@3")
        self.assertEqual(state["agent"]["output_payload"], {"artifact": "design.md", "findings": 3})
        self.assertEqual(state["workflow"]["global_context"], {"topic": "checkpoints"})
        shown = self.json("show", "WF-ORCH-001@6")
        self.assertEqual((shown["kind"], shown["status"], shown["stage"], shown["step"]), ("error", "failed", "review", "ps-critic"))
        imported = shown["metadata"]["imported"]
        self.assertEqual((imported["id"], imported["time"]), ("WF-ORCH-001/review/ps-critic/seq-00006", "2026-01-11T14:06:00.000123"))
        self.assertEqual(self.restored("WF-ORCH-001")["vars"], {"topic": "checkpoints"})
        self.resume("WF-ORCH-001", "ps-critic", "ps-writer")
        self.assertEqual([run["resumable"] for run in self.json("import", source, "--workflow", workflow)["runs"]], [False])
        self.assertEqual(self.restored("WF-ORCH-001")["steps"]["ps-architect"]["output"], {"artifact": "design.md", "findings": 3})
        self.pawl("fsck")

    def test_jerry_is_taken_with_events_and_audit_and_resumed(self):
        source = self.sample(2)
        before = tree(source)
        workflow = self.workflow("a", "b", "c", "d", "e", "f")
        report = self.json("import", os.path.join(source, ".jerry"), "--workflow", workflow)
        self.assertEqual((report["format"], report["refused"]), ("jerry", []))
        self.assertEqual(tree(source), before)
        self.assertEqual(self.restored("WF-2026-001@1")["context_summary"], "Started")
        self.assertEqual(self.restored("WF-2026-001@3")["agent_states"]["conductor"]["context_usage_pct"], 45.2)
        self.assertEqual(self.json("show", "WF-2026-001")["session"], "ps-orch-006-test")
        events = self.events("WF-2026-001")
        self.assertEqual([event["type"] for event in events][:5], ["run_started", "WORKFLOW_STARTED", "AGENT_SPAWNED", "CHECKPOINT_CREATED", "TASK_ASSIGNED"])
        trail = [event["data"] for event in events if event["type"] == "imported_audit"]
        self.assertEqual([entry["id"] for entry in trail], ["AE-001", "AE-002", "AE-003"])
        # Step 5 of 12 was in progress.
        self.resume("WF-2026-001", "e", "f")

    def events(self, run):
        self.pawl("fsck", "--repair")  # moves everything to the files
        folder = os.path.join(self.store, "runs", run, "events")
        found = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as lines:
                found += [json.loads(line) for line in lines]
        return found

    def test_phases_are_taken_and_resumed(self):
        source = self.sample(3)
        before = tree(source)
        workflow = self.workflow(stages={"phase1": ["plan"], "phase2": ["mercury_1", "mercury_2"]})
        report = self.json("import", source, "--workflow", workflow)
        self.assertEqual((report["format"], report["refused"]), ("phases", []))
        self.assertEqual(self.taken(report), {"task_20240102_143022": 3})
        self.assertEqual(tree(source), before)
        with open(os.path.join(source, "outputs/example_task/checkpoints/checkpoint_phase2_20240102_143522.json"), "rb") as original:
            self.assertEqual(self.pawl("restore", "task_20240102_143022@2").stdout, original.read())
        self.assertEqual([event["type"] for event in self.events("task_20240102_143022")], ["run_started", "decision"])
        self.resume("task_20240102_143022", "mercury_2")

    def test_dag_rows_are_taken_from_a_dump_and_from_an_export_and_resumed(self):
        source = self.sample(4)
        before = tree(source)
        workflow = self.workflow("fetch", "parse", "report")
        report = self.json("import", os.path.join(source, "checkpoints.sql"), "--workflow", workflow)
        self.assertEqual((report["format"], report["refused"], self.taken(report)), ("dag", [], {"wf-dag-1": 3}))
        state = self.restored("wf-dag-1@2")
        self.assertEqual(state["state"]["messages"], [{"role": "user", "content": "it's a \"test\"\twith\\backslash"}])
        again = self.json("import", os.path.join(source, "export.json"), "--run-id", "other")
        self.assertEqual((again["format"], self.taken(again)), ("dag", {"other": 2}))
        self.assertEqual(self.restored("other@2")["state"], state["state"])
        self.assertEqual(tree(source), before)
        self.resume("wf-dag-1", "report")
        self.assertEqual(self.restored("wf-dag-1")["steps"]["parse"]["output"], {"value": "parse"})

    def test_sessions_are_taken_with_history_and_old_formats_and_resumed(self):
        source = self.sample(5)
        before = tree(source)
        workflow = self.workflow("zero", "one", "two", "three")
        report = self.json("import", os.path.join(source, "repo"), "--workflow", workflow)
        self.assertEqual((report["format"], report["refused"]), ("sessions", []))
        self.assertEqual(self.taken(report), {"session-abc123": 4, "session-def456": 2, "session-old1": 2, "session-old2": 2, "mapreduce-xxx": 2})
        self.assertEqual(tree(source), before)
        with open(os.path.join(source, "repo/sessions/session-abc123/checkpoint.json"), "rb") as original:
            self.assertEqual(self.pawl("restore", "session-abc123@3").stdout, original.read())
        self.assertEqual(self.json("show", "session-abc123@3")["reason"], "step_failed")
        self.resume("session-abc123", "two", "three")
        self.resume("session-def456", "one", "two", "three")
        self.resume("session-old1", "one", "two", "three")
        self.resume("session-old2", "two", "three")
        self.pawl("fsck")

    def test_importing_again_is_answered_and_not_doubled(self):
        for number in (1, 2, 3, 5):
            source = os.path.join(GOLDEN, str(number))
            first = self.json("import", source)
            latest = {run["run"]: run["latest"] for run in first["runs"]}
            again = self.json("import", source)
            self.assertTrue(all(run["written"] == 0 and run["repeated"] > 0 for run in again["runs"]))
            self.assertEqual({run["run"]: run["latest"] for run in again["runs"]}, latest)

    def test_a_dry_run_writes_nothing_and_says_the_same(self):
        source = os.path.join(GOLDEN, "5")
        dry = self.json("import", source, "--dry-run")
        self.assertFalse(os.path.exists(self.store))
        wet = self.json("import", source)
        self.assertEqual(self.taken(dry), self.taken(wet))
        before = tree(self.store)
        self.json("import", source, "--dry-run")
        self.assertEqual(tree(self.store), before)

    def test_a_run_of_somebody_else_is_not_appended_to(self):
        self.pawl("save", "WF-2026-001", stdin=b"{}")
        report = self.json("import", os.path.join(GOLDEN, "2"), status=4)
        self.assertEqual([entry["code"] for entry in report["refused"]], ["PAWL-0207"])
        report = self.json("import", os.path.join(GOLDEN, "2"), "--run-id", "old")
        self.assertEqual(list(self.taken(report)), ["old"])

    def test_a_run_that_went_on_here_is_left_alone(self):
        source = self.sample(4)
        workflow = self.workflow("fetch", "parse", "report")
        self.json("import", os.path.join(source, "export.json"), "--workflow", workflow)
        self.resume("wf-dag-1", "report")
        again = self.json("import", os.path.join(source, "export.json"), "--workflow", workflow)
        self.assertEqual(self.taken(again), {"wf-dag-1": 0})
        with open(os.path.join(source, "export.json")) as file:
            text = file.read().rstrip()
        row = {**json.loads(text)[-1], "id": "new", "timestamp": "2026-01-01T00:00:00Z"}
        self.write("source/export.json", text[:-1].rstrip() + "," + json.dumps(row) + "]")
        report = self.json("import", os.path.join(source, "export.json"), status=4)
        self.assertEqual([entry["code"] for entry in report["refused"]], ["PAWL-0252"])

    def test_a_gate_is_never_taken_as_passed(self):
        workflow = self.write("workflow.yaml", "name: gated\nsteps:\n  - id: fetch\n    run: echo fetch >> log\n  - id: parse\n    approve: go on?\n  - id: report\n    run: echo report >> log\n")
        report = self.json("import", os.path.join(GOLDEN, "4", "export.json"), "--workflow", workflow)
        self.assertIn("parse", report["notes"][0]["text"])
        self.pawl("resume", "wf-dag-1", status=3)
        self.assertFalse(os.path.exists(self.path("log")))

    def test_a_workflow_without_a_completed_step_is_refused_and_the_checkpoints_are_taken(self):
        report = self.json("import", os.path.join(GOLDEN, "4", "export.json"), "--workflow", self.workflow("fetch", "report"), status=4)
        self.assertEqual([entry["code"] for entry in report["refused"]], ["PAWL-0254"])
        self.assertEqual(self.taken(report), {"wf-dag-1": 2})

    def test_a_format_can_be_forced_and_an_unknown_one_is_refused(self):
        self.write("nothing/readme.txt", "hello")
        done = self.pawl("import", "nothing", status=2)
        self.assertIn(b"PAWL-0033", done.stderr)
        self.pawl("import", "nothing", "--from", "nonsense", status=2)
        self.write("rows", "INSERT INTO workflow_checkpoints VALUES ('a','w','2025-01-01T00:00:00Z',1,'{}','{}','{}');")
        self.assertEqual(self.taken(self.json("import", "rows", "--from", "dag")), {"w": 1})

    def test_text_for_people_names_what_was_taken_and_what_not(self):
        source = self.sample(3)
        name = "source/outputs/example_task/checkpoints/checkpoint_phase1_20240102_143110.json"
        self.write(name, "{")
        done = self.pawl("import", source, status=4)
        self.assertRegex(done.stdout.decode(), r"refused: outputs/.*phase1.*PAWL-0004")
        self.assertIn(b"PAWL-0250", done.stderr)


class Refusing(Case):
    def broken(self, number, changes, folder="."):
        """Imports a sample with `changes` (path -> bytes or function of bytes). Returns the report and its codes."""
        source = self.sample(number)
        for name, change in changes.items():
            path = os.path.join(source, name)
            old = open(path, "rb").read() if os.path.exists(path) else b""
            self.write(os.path.relpath(path, self.folder), change(old) if callable(change) else change)
        before = tree(source)
        report = self.json("import", os.path.join(source, folder), status=4)
        self.assertEqual(tree(source), before)
        self.pawl("fsck")
        return report, self.codes(report)

    def test_orchestration(self):
        base = "projects/PROJ-002/.jerry/orchestration/checkpoints/WF-ORCH-001/"
        good = open(os.path.join(GOLDEN, ORCHESTRATION, "seq-00001.json")).read()
        report, codes = self.broken(1, {
            base + "design/ps-architect/seq-00002.json": lambda old: old[:len(old) // 2],
            base + "review/ps-critic/seq-00006.json": lambda old: old.replace(b'"sequence": 6', b'"sequence": 99999999999999999999'),
            base + "seq-00007.json": good.replace('"sequence": 1', '"sequence": 7').replace("WF-ORCH-001", "../../etc"),
            base + "seq-00008.json": good.replace('"sequence": 1', '"sequence": 8').replace('"stage_id": null', '"stage_id": "../../etc"'),
            base + "zother/seq-00001.json": good.replace('"stage_id": null', '"stage_id": "zother"'),
            base + "seq-00009.json": good,
            base + "seq-00010.json": good.replace('"sequence": 1', '"sequence": 10').replace('"1.0.0"', '"2.0.0"'),
            base + "seq-00011.json": good.replace('"sequence": 1', '"sequence": 11').replace('"workflow_start"', '"nonsense"'),
            base + "design/ps-architect/seq-00003.json.gz": lambda old: old[:-9],
        })
        self.assertEqual(codes[("seq-00002.json", "")], "PAWL-0004")
        self.assertEqual(codes[("seq-00006.json", "")], "PAWL-0008")
        self.assertEqual(codes[("seq-00007.json", "")], "PAWL-0002")
        self.assertEqual(codes[("seq-00008.json", "")], "PAWL-0012")
        self.assertEqual(codes[("seq-00009.json", "")], "PAWL-0034")
        self.assertEqual(codes[("seq-00010.json", "")], "PAWL-0401")
        self.assertEqual(codes[("seq-00011.json", "")], "PAWL-0034")
        self.assertEqual(codes[("seq-00003.json.gz", "")], "PAWL-0311")
        self.assertEqual(sum(code == "PAWL-0036" for code in codes.values()), 1)
        self.assertEqual(sum(code == "PAWL-0102" for code in codes.values()), 3)  # the index names the refused files
        self.assertEqual(self.taken(report), {"WF-ORCH-001": 3})

    def test_links_lead_nowhere(self):
        source = self.sample(1)
        secret = self.write("secret/seq-00009.json", open(os.path.join(GOLDEN, ORCHESTRATION, "seq-00001.json")).read())
        base = os.path.join(source, "projects/PROJ-002/.jerry/orchestration/checkpoints")
        os.symlink(secret, os.path.join(base, "WF-ORCH-001", "seq-00009.json"))
        os.symlink(os.path.dirname(secret), os.path.join(base, "WF-2"))
        os.symlink("/etc", os.path.join(base, "etc"))
        os.mkfifo(os.path.join(base, "WF-ORCH-001", "seq-00012.json"))
        report = self.json("import", source, status=4)
        codes = self.codes(report)
        for name in ("seq-00009.json", "WF-2", "etc", "seq-00012.json"):
            self.assertEqual(codes[(name, "")], "PAWL-0035")
        self.assertEqual(self.taken(report), {"WF-ORCH-001": 6})

    def test_jerry(self):
        base = ".jerry/checkpoints/WF-2026-001/"
        report, codes = self.broken(2, {
            base + "checkpoint_001.json": lambda old: old.replace(b'"Started"', b'"Changed"'),
            base + "checkpoint_003.json": lambda old: b"{",
            ".jerry/events/WF-2026-001/events_2026-01-11.jsonl": lambda old: old.replace(b'"seq":2', b'"seq":1').replace(b'"data":{"task"', b'"data":{"task'),
            ".jerry/audit/ps-orch-006-test/audit_trail.jsonl": lambda old: old.replace(b"0.92", b"0.99"),
        })
        self.assertEqual(codes[("checkpoint_001.json", "")], "PAWL-0302")
        self.assertEqual(codes[("checkpoint_003.json", "")], "PAWL-0004")
        self.assertEqual(codes[("events_2026-01-11.jsonl", "line 2")], "PAWL-0036")
        self.assertEqual(codes[("events_2026-01-11.jsonl", "line 4")], "PAWL-0004")
        self.assertEqual(codes[("audit_trail.jsonl", "line 3")], "PAWL-0302")
        self.assertEqual(len(report["runs"]), 1)

    def test_an_audit_trail_with_an_entry_dropped(self):
        report, codes = self.broken(2, {".jerry/audit/ps-orch-006-test/audit_trail.jsonl": lambda old: b"".join(old.splitlines(True)[::2])})
        self.assertEqual(codes, {("audit_trail.jsonl", "line 2"): "PAWL-0304"})

    def test_a_checkpoint_that_differs_from_the_manifest(self):
        base = ".jerry/checkpoints/WF-2026-001/"
        report, codes = self.broken(2, {base + "checkpoint_042.json": lambda old: old.replace(b'"size_bytes": 2048', b'"size_bytes": 2049')})
        self.assertEqual(codes, {("checkpoint_042.json", ""): "PAWL-0302"})

    def test_phases(self):
        base = "outputs/example_task/checkpoints/"
        good = open(os.path.join(GOLDEN, "3", base, "checkpoint_phase2_20240102_143522.json")).read()
        fresh = lambda n, text=good: text.replace("550e8400", f"{n:08x}")
        report, codes = self.broken(3, {
            base + "checkpoint_phase1_20240102_143110.json": lambda old: old[:100],
            base + "checkpoint_phase2_a.json": good,
            base + "checkpoint_phase3_a.json": fresh(3),
            base + "checkpoint_phase2_b.json": fresh(4).replace("task_20240102_143022", "../../etc/passwd"),
            base + "checkpoint_phase2_c.json": fresh(5).replace('"version": "1.0"', '"version": "1.0", "checksum": "' + "0" * 64 + '"'),
            base + "checkpoint_phase2_d.json": fresh(6).replace("18500", "1e999"),
            base + "checkpoint_phase2_e.json": fresh(7).replace('"phase": 2', '"phase": 2, "phase": 2'),
            base + "checkpoint_phase2_f.json": fresh(8).replace("2024-01-02T14:35:22Z", "yesterday"),
        })
        self.assertEqual({name: code for (name, _), code in codes.items()}, {
            "checkpoint_phase1_20240102_143110.json": "PAWL-0004", "checkpoint_phase2_a.json": "PAWL-0036", "checkpoint_phase3_a.json": "PAWL-0034",
            "checkpoint_phase2_b.json": "PAWL-0002", "checkpoint_phase2_c.json": "PAWL-0302", "checkpoint_phase2_d.json": "PAWL-0008",
            "checkpoint_phase2_e.json": "PAWL-0007", "checkpoint_phase2_f.json": "PAWL-0034"})
        self.assertEqual(self.taken(report), {"task_20240102_143022": 1})

    def test_dag_rows(self):
        row = "('{}','{}','2025-01-01T00:00:00Z',{},'{}','{{}}','{{}}')"
        rows = [row.format("a", "wf", 1, "{}"), row.format("b", "../../etc", 1, "{}"), row.format("c", "wf", "99999999999999999999", "{}"),
                row.format("a", "wf", 2, "{}"), row.format("d", "wf", 1, '{"a":'), "('e','wf')", row.format("f", "wf", 3, "{}"), "('g','wf','2025"]
        self.write("dump.sql", "INSERT INTO workflow_checkpoints VALUES\n" + ",\n".join(rows))
        report = self.json("import", "dump.sql", status=4)
        codes = {entry["item"]: entry["code"] for entry in report["refused"]}
        self.assertEqual(codes, {"line 3": "PAWL-0002", "line 4": "PAWL-0008", "line 5": "PAWL-0036", "line 6": "PAWL-0004", "line 7": "PAWL-0034", "line 9": "PAWL-0034"})
        self.assertEqual(self.taken(report), {"wf": 2})

    def test_a_dump_that_is_cut_short(self):
        text = open(os.path.join(GOLDEN, "4", "checkpoints.sql")).read()
        self.write("dump.sql", text[:text.index("\\.\n")])
        report = self.json("import", "dump.sql", status=4)
        self.assertEqual([entry["code"] for entry in report["refused"]], ["PAWL-0034"])
        self.assertEqual(self.taken(report), {"wf-dag-1": 2})

    def test_sessions(self):
        base = "repo/sessions/session-abc123/"
        good = open(os.path.join(GOLDEN, "5", base, "checkpoint.json")).read()
        report, codes = self.broken(5, {
            base + "checkpoint.json": lambda old: old.replace(b"500 error", b"501 error"),
            base + "history/checkpoint-20251126_100000.json": lambda old: old[:-50],
            base + "history/checkpoint-20251126_100031.json": good.replace("session-abc123", "session-zzz"),
            base + "history/checkpoint-20251126_100032.json": re.sub('"integrity_hash": ".*"', '"integrity_hash": ""', good).replace('"version": 1', '"version": 2'),
            "repo/sessions/session-def456/checkpoint.json": lambda old: old.replace(b'"step_index": 1,\n', b'"step_index": -1,\n'),
            "repo/sessions/bad id.json": b'{"current_step": 1}',
        })
        self.assertEqual(codes[("checkpoint.json", "")][:5], "PAWL-")
        self.assertEqual({name: code for (name, _), code in codes.items() if name != "checkpoint.json"}, {
            "checkpoint-20251126_100000.json": "PAWL-0004", "checkpoint-20251126_100031.json": "PAWL-0034", "checkpoint-20251126_100032.json": "PAWL-0401",
            "bad id.json": "PAWL-0002"})
        self.assertEqual(sorted(entry["code"] for entry in report["refused"] if entry["file"].endswith("/checkpoint.json")), ["PAWL-0302", "PAWL-0302"])
        self.assertEqual(self.taken(report)["session-abc123"], 1)

    def test_a_gzip_bomb_is_refused(self):
        base = "projects/PROJ-002/.jerry/orchestration/checkpoints/WF-ORCH-001/"
        report, codes = self.broken(1, {base + "design/ps-architect/seq-00003.json.gz": gzip.compress(b" " * (200 << 20), 9)})
        self.assertEqual(codes[("seq-00003.json.gz", "")], "PAWL-0311")


class Portable(Case):
    def make_run(self, run="nightly", saves=5, size=2000):
        for i in range(saves):
            self.pawl("save", run, "--id", f"job-{i}", "--name", f"n{i}", stdin=json.dumps({"i": i, "text": "x" * size}).encode())

    def run_files(self, store, run="nightly"):
        folder = os.path.join(store, "runs", run)
        found = {}
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.relpath(os.path.join(root, name), folder)
                if path not in ("lock", "key.json"):
                    found[path] = open(os.path.join(root, name), "rb").read()
        return found

    def test_a_run_comes_back_unchanged_in_another_store(self):
        self.make_run()
        self.pawl("export", "nightly", "-o", "nightly.pawl")
        other = self.path("other")
        report = self.json("import", "nightly.pawl", store=other)
        self.assertEqual((report["format"], self.taken(report)), ("pawl", {"nightly": 5}))
        self.assertEqual(self.run_files(other), self.run_files(self.store))
        for command in (["show", "nightly"], ["show", "nightly", "--checkpoints"]):
            self.assertEqual(self.json(*command, store=other), self.json(*command))
        for i in range(1, 6):
            self.assertEqual(self.pawl("restore", f"nightly@{i}", store=other).stdout, self.pawl("restore", f"nightly@{i}").stdout)
        self.pawl("fsck", store=other)
        self.assertEqual([run["run"] for run in self.json("list", store=other)], ["nightly"])
        # Saving continues with the next number, and a repeated save is not saved twice.
        self.pawl("save", "nightly", "--id", "job-2", "--name", "n2", store=other, stdin=json.dumps({"i": 2, "text": "x" * 2000}).encode())
        self.assertEqual(self.json("show", "nightly", store=other)["latest"]["sequence"], 5)
        self.pawl("save", "nightly", store=other, stdin=b"{}")
        self.assertEqual(self.json("show", "nightly", store=other)["latest"]["sequence"], 6)
        self.pawl("fsck", store=other)

    def test_the_same_run_becomes_the_same_bytes(self):
        self.make_run()
        self.pawl("export", "nightly", "-o", "a.pawl")
        piped = self.pawl("export", "nightly").stdout
        self.assertEqual(open(self.path("a.pawl"), "rb").read(), piped)
        other = self.path("other")
        self.pawl("import", "a.pawl", store=other)
        self.pawl("export", "nightly", "-o", "b.pawl", store=other)
        self.assertEqual(open(self.path("a.pawl"), "rb").read(), open(self.path("b.pawl"), "rb").read())

    def test_importing_again_is_answered_and_another_history_is_refused(self):
        self.make_run()
        self.pawl("export", "nightly", "-o", "a.pawl")
        other = self.path("other")
        self.pawl("import", "a.pawl", store=other)
        report = self.json("import", "a.pawl", store=other)
        self.assertEqual(self.taken(report), {"nightly": 0})
        third = self.path("third")
        self.pawl("save", "nightly", store=third, stdin=b"{}")
        done = self.pawl("import", "a.pawl", store=third, status=4)
        self.assertIn(b"PAWL-0207", done.stderr)
        self.pawl("import", "a.pawl", "--run-id", "x", store=self.path("fourth"), status=2)

    def test_every_changed_byte_is_found(self):
        self.make_run(saves=2, size=10)
        self.pawl("export", "nightly", "-o", "a.pawl")
        good = open(self.path("a.pawl"), "rb").read()
        self.pawl("init", store=(other := self.path("other")))  # without a store, an invalid file is not even unpacked
        for at in list(range(0, len(good), 97)) + [len(good) - 1]:
            self.write("bad.pawl", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            done = self.pawl("import", "bad.pawl", "--from", "pawl", store=other, status=4)
            self.assertNotIn(b"Traceback", done.stderr)
        for cut in (1, 100, len(good) // 2, len(good) - 1):
            self.write("bad.pawl", good[:-cut])
            self.assertIn(b"PAWL-0253", self.pawl("import", "bad.pawl", "--from", "pawl", store=other, status=4).stderr)
        self.write("bad.pawl", good + b"\n")
        self.assertIn(b"PAWL-0253", self.pawl("import", "bad.pawl", store=other, status=4).stderr)
        self.assertEqual(self.json("list", store=other), [])
        self.assertFalse(os.path.exists(os.path.join(other, "runs", ".import")))
        self.pawl("import", "a.pawl", store=other)

    def test_hostile_paths_in_a_portable_file_are_refused(self):
        header = b'{"pawl":"export/1","run":"x","uuid":"f204a1d5-8a93-4062-89ff-98071e9ca6ca"}\n'
        for name in ("../../../etc/x", "/etc/x", "a/../../x", "lock", "key.json", "a//b", "./x", "a/x.tmp", "a\\u0000b"):
            body = header + b'{"file":"%s","bytes":1}\nx\n' % name.encode()
            end = b'{"files":1,"bytes":%d,"sha256":"%s"}\n' % (len(body), hashlib.sha256(body).hexdigest().encode())
            self.write("bad.pawl", body + end)
            self.assertIn(b"PAWL-0253", self.pawl("import", "bad.pawl", status=4).stderr)
        self.assertFalse(os.path.exists(self.path("etc")))

    def test_a_run_whose_chain_was_changed_is_refused_although_the_file_has_its_checksum(self):
        self.make_run(saves=3)
        self.pawl("export", "nightly", "-o", "a.pawl")
        body = open(self.path("a.pawl"), "rb").read()
        body = body[:body.rindex(b'{"files":')].replace(b'"type":"checkpoint_saved","seq":2', b'"type":"checkpoint_saved","seq":1')
        end = b'{"files":%d,"bytes":%d,"sha256":"%s"}\n' % (body.count(b'{"file":'), len(body), hashlib.sha256(body).hexdigest().encode())
        self.write("bad.pawl", body + end)
        done = self.pawl("import", "bad.pawl", store=self.path("other"), status=4)
        self.assertIn(b"PAWL-03", done.stderr)
        self.assertEqual(self.json("list", store=self.path("other")), [])

    def test_a_pruned_run_with_blobs_and_logs_travels(self):
        self.make_run(saves=6, size=300000)
        self.pawl("prune", "nightly", "--keep", "2")
        self.pawl("save", "nightly", stdin=json.dumps({"blob": os.urandom(1500000).hex()}).encode())
        self.pawl("export", "nightly", "-o", "a.pawl")
        other = self.path("other")
        self.pawl("import", "a.pawl", store=other)
        self.assertEqual(self.json("show", "nightly", "--checkpoints", store=other), self.json("show", "nightly", "--checkpoints"))
        self.assertEqual(self.pawl("restore", "nightly", store=other).stdout, self.pawl("restore", "nightly").stdout)
        self.pawl("fsck", store=other)

    def test_a_workflow_run_goes_on_in_another_store(self):
        self.write("workflow.yaml", "name: w\nsteps:\n  - id: a\n    run: echo a >> log; echo printed\n  - id: b\n    run: echo b >> log; test -e go\n")
        self.pawl("run", "workflow.yaml", "--run-id", "r", status=1)
        self.pawl("export", "r", "-o", "r.pawl", "--logs")
        other = self.path("other")
        self.pawl("import", "r.pawl", store=other)
        self.write("go", "")
        self.pawl("resume", "r", store=other)
        self.assertEqual(open(self.path("log")).read().split(), ["a", "b", "b"])
        self.assertIn(b"printed", self.pawl("logs", "r", store=other).stdout)
        self.pawl("export", "r", "-o", "without.pawl")
        self.assertNotIn(b'"file":"logs/', open(self.path("without.pawl"), "rb").read())

    def test_an_encrypted_run_stays_encrypted_and_needs_the_key_of_the_journey(self):
        self.pawl("init", "--encrypt")
        self.pawl("save", "secret", stdin=b'{"password": "very secret words"}')
        done = self.pawl("export", "secret", "-o", "s.pawl", status=2)
        self.assertIn(b"PAWL_EXPORT_KEY_FILE", done.stderr)
        self.assertFalse(os.path.exists(self.path("s.pawl")))
        key = {"PAWL_EXPORT_KEY_FILE": self.write("export.key", os.urandom(32).hex())}
        os.chmod(self.path("export.key"), 0o600)
        self.pawl("export", "secret", "-o", "s.pawl", env=key)
        self.pawl("export", "secret", "-o", "s2.pawl", env=key)
        content = open(self.path("s.pawl"), "rb").read()
        self.assertEqual(content, open(self.path("s2.pawl"), "rb").read())
        self.assertNotIn(b"very secret", content)
        other = self.path("other")
        self.pawl("init", "--encrypt", store=other)
        self.assertIn(b"set PAWL_EXPORT_KEY_FILE to the key file that was used at the export", self.pawl("import", "s.pawl", store=other, status=2).stderr)
        wrong = {"PAWL_EXPORT_KEY_FILE": self.write("wrong.key", os.urandom(32).hex())}
        os.chmod(self.path("wrong.key"), 0o600)
        self.assertIn(b"PAWL-0215", self.pawl("import", "s.pawl", store=other, env=wrong, status=4).stderr)
        self.pawl("import", "s.pawl", store=other, env=key)
        self.assertEqual(self.pawl("restore", "secret", store=other).stdout, b'{"password": "very secret words"}')
        self.pawl("save", "secret", store=other, stdin=b"{}")
        self.pawl("fsck", store=other)
        self.assertIn(b"PAWL-0216", self.pawl("import", "s.pawl", store=self.path("plain"), env=key, status=4).stderr)
        self.assertFalse(os.path.exists(self.path("plain")))

    def test_a_run_that_is_written_to_is_refused(self):
        self.write("workflow.yaml", "name: w\nsteps:\n  - id: a\n    run: touch started; while [ ! -e end ]; do sleep 0.05; done\n")
        process = subprocess.Popen([PROGRAM, "run", "workflow.yaml", "--run-id", "r"], cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while not os.path.exists(self.path("started")) and time.monotonic() < end:
                time.sleep(0.02)
            self.assertIn(b"PAWL-0201", self.pawl("export", "r", "-o", "r.pawl", status=4).stderr)
        finally:
            self.write("end", "")
            process.wait(60)
        self.pawl("export", "r", "-o", "r.pawl")

    def test_a_file_per_checkpoint(self):
        self.make_run(saves=3)
        self.pawl("export", "nightly", "--files", "states")
        self.assertEqual(sorted(os.listdir(self.path("states"))), ["checkpoint_00001.json", "checkpoint_00002.json", "checkpoint_00003.json"])
        one = json.load(open(self.path("states", "checkpoint_00002.json")))
        self.assertEqual((one["sequence"], one["name"], one["state"]["i"]), (2, "n1", 1))
        self.pawl("export", "nightly", "--files", "states", status=2)

    def test_a_dry_run_of_a_portable_file_writes_nothing(self):
        self.make_run()
        self.pawl("export", "nightly", "-o", "a.pawl")
        report = self.json("import", "a.pawl", "--dry-run", store=self.path("other"))
        self.assertEqual([run["run"] for run in report["runs"]], ["nightly"])
        self.assertFalse(os.path.exists(self.path("other")))

    def test_killed_in_the_middle_it_is_there_whole_or_not_at_all(self):
        self.make_run(saves=8, size=600000)
        self.pawl("export", "nightly", "-o", "a.pawl")
        for attempt in range(25):
            other = self.path(f"other{attempt}")
            process = subprocess.Popen([PROGRAM, "import", "a.pawl"], cwd=self.folder, env={**self.environment, "PAWL_STORE": other}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.002 * attempt)
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.pawl("import", "a.pawl", store=other)
            self.assertEqual(self.run_files(other), self.run_files(self.store))
            self.pawl("fsck", store=other)
            self.assertFalse(os.path.exists(os.path.join(other, "runs", ".import")))
            shutil.rmtree(other)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--golden", required=True)
    parser.add_argument("rest", nargs="*")
    given = parser.parse_args()
    PROGRAM = os.path.abspath(given.program)
    GOLDEN = os.path.abspath(given.golden)
    unittest.main(argv=[sys.argv[0], *given.rest])
