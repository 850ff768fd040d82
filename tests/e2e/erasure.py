#!/usr/bin/env python3
"""Tests `pawl erase` with the real program: no saved data remains in any file of the store, other runs are unchanged,
and the audit trail is a valid chain that ends with the erasure."""
import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = KEEPER = None
PATIENCE = 60  # seconds to wait for something that must happen
WINDOW = 16
ALPHABET = string.ascii_letters + string.digits + "_-"


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def chain_fault(path):
    """Checks an audit trail without Pawl (docs/formats/checkpoint.md) and returns the errors."""
    previous = "0" * 64
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    if lines.pop() != b"":
        return "the last line is incomplete"
    for index, line in enumerate(lines, 1):
        entry = json.loads(line)
        body = line[: line.rindex(b',"hash"')]
        if entry["i"] != index or entry["prev"] != previous:
            return f"entry {index} does not follow the previous entry"
        if hashlib.sha256(bytes.fromhex(previous) + body).hexdigest() != entry["hash"]:
            return f"entry {index} does not match its hash"
        previous = entry["hash"]
    return None


class Erasure(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-erasure-")
        self.store = os.path.join(self.folder, "store")
        self.started = []
        self.dice = random.Random(self.id())
        self.markers = {}  # description -> text of 64 characters

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Helpers.

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
        # Uncompressed, so that unencrypted data can be found.
        return {**kept, "PAWL_STORE": self.store, "NO_COLOR": "1", "PAWL_CHECKPOINT_COMPRESSION": "none",
                "XDG_CONFIG_HOME": os.path.join(self.folder, "config")}

    def pawl(self, *args, status=0, stdin=""):
        done = subprocess.run([PROGRAM, *args], cwd=self.folder, env=self.environment(), input=stdin, capture_output=True, timeout=240, text=True)
        self.assertEqual(done.returncode, status, f"pawl {' '.join(args)[:300]}\n{done.stdout[:2000]}{done.stderr[:2000]}")
        return done

    def marker(self, what):
        self.markers[what] = "".join(self.dice.choice(ALPHABET) for _ in range(64))
        return self.markers[what]

    def save(self, run, state, *more):
        return self.pawl("save", run, *more, stdin=json.dumps(state))

    def restored(self, run):
        return self.pawl("restore", run).stdout

    def files(self):
        for path, _, names in os.walk(self.store):
            for name in names:
                yield os.path.join(path, name)

    def found(self, markers=None):
        """Returns (description, file) for each marker of which a file contains 16 consecutive bytes. They contain
        one of the marker's eight-byte pieces completely, so these are searched for first."""
        found = set()
        for path in self.files():
            with open(path, "rb") as file:
                content = file.read()
            for what, text in (self.markers if markers is None else markers).items():
                marker = text.encode()
                if any(self.has_window(content, marker, piece) for piece in range(0, len(marker), 8)):
                    found.add((what, os.path.relpath(path, self.store)))
            for name in path.split(os.sep):
                found.update((what, path) for what, text in self.markers.items() if text[:WINDOW] in name)
        return found

    @staticmethod
    def has_window(content, marker, piece):
        at = content.find(marker[piece : piece + 8])
        while at >= 0:
            begin, end = piece, piece + 8
            while begin > 0 and at - (piece - begin) > 0 and content[at - (piece - begin) - 1] == marker[begin - 1]:
                begin -= 1
            while end < len(marker) and at + end - piece < len(content) and content[at + end - piece] == marker[end]:
                end += 1
            if end - begin >= WINDOW:
                return True
            at = content.find(marker[piece : piece + 8], at + 1)
        return False

    def start(self, *args):
        process = subprocess.Popen(list(args), cwd=self.folder, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.started.append(process)
        return process

    def keep(self, use, run, state, other):
        keeper = self.start(KEEPER, self.store, use, run, json.dumps(state), other)
        self.assertEqual(keeper.stdout.readline(), b"ready\n", keeper.stderr.read() if keeper.poll() is not None else "")
        return keeper

    def end(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE), 0)

    def erase(self, run, *more, status=0):
        return json.loads(self.pawl("erase", run, "--reason", "request 17", "--json", *more, status=status).stdout)

    def check_trail(self, run, checkpoints):
        path = os.path.join(self.store, "runs", run, "audit", "audit_trail.jsonl")
        self.assertIsNone(chain_fault(path))
        with open(path) as file:
            entries = [json.loads(line) for line in file]
        last = entries[-1]
        self.assertEqual((last["type"], last["reason"], last["checkpoints"]), ("erased", "request 17", checkpoints))
        self.assertRegex(last["by"], "^[^@]+@[^@]+$")
        self.assertEqual([entry["type"] for entry in entries].count("erased"), 1)
        return entries

    def check_fsck(self):
        report = json.loads(self.pawl("fsck", "--json").stdout)
        self.assertEqual(report["findings"], [], report)
        if "verify" in self.pawl("--help").stdout.split():
            self.pawl("verify", "--all")

    def plant(self, run):
        """Puts data of the run into every place that can contain data of runs."""
        note = {name: self.marker(name) for name in ("state", "metadata", "name", "stage", "step", "caller")}
        for turn in range(3):
            self.save("beside", {"turn": turn, "kept": "k" * 100}, "--id", f"beside-{turn}")
            self.save(run, {"turn": turn, "text": note["state"]}, "--metadata", json.dumps({"about": note["metadata"]}), "--name", note["name"],
                      "--stage", note["stage"], "--step", note["step"], "--id", note["caller"] + str(turn))
        self.save(run, {"grown": [self.marker("difference"), note["state"]]})
        self.save(run, {"blob": [self.marker("blob")] + [f"{n:08x}" for n in range(150_000)]})
        self.assertTrue(os.listdir(os.path.join(self.store, "runs", run, "blobs")))
        self.save("beside", {"large": "b" * 600_000})
        # More than fits into a segment, so that segments are recycled.
        for turn in range(9):
            self.save(run, {"wide": [self.marker(f"recycled {turn}"), self.dice.randbytes(300_000).hex()]}, "--id", self.marker(f"caller {turn}"))
        self.pawl("prune", run, "--keep", "10")

    def plant_by_hand(self, run):
        """Simulates the files that a crash leaves behind."""
        text = f'{{"at":"2026-01-11T14:30:02.000002Z","code":"PAWL-0303","file":"runs/{run}/x","what":"{self.marker("failure")}"'
        other = '{"at":"2026-01-11T14:30:02.000002Z","code":"PAWL-0303","file":"runs/beside/x","what":"of another run"'
        os.makedirs(os.path.join(self.store, "recovery"), exist_ok=True)
        with open(os.path.join(self.store, "recovery", "failures.jsonl"), "a") as file:
            for line in (other, text, other.replace("beside", run + "-2")):
                file.write(f'{line},"crc":"{crc32c(line.encode()):08x}"}}\n')
        for name, what in ((f"recovery/torn-1-00-4096-1.bin", "torn"), (f"runs/{run}/checkpoints/checkpoint_00099.json.tmp", "temporary")):
            with open(os.path.join(self.store, name), "w") as file:
                file.write(self.marker(what))

    def kinds_found(self):
        return {what for what, _ in self.found()}

    # Tests.

    def leaves_nothing(self):
        self.plant("target")
        self.plant_by_hand("target")
        other = self.restored("beside")
        listed = self.pawl("show", "beside", "--checkpoints", "--json").stdout
        before = self.kinds_found()
        checkpoints = len(json.loads(self.pawl("show", "target", "--checkpoints", "--json", "--limit", "100").stdout))
        erased = self.erase("target", "--yes")
        self.assertEqual((erased["status"], erased["run"], erased["checkpoints"], erased["waiting_for"]), ("erased", "target", checkpoints, []))
        self.assertEqual(self.found(), set())
        entries = self.check_trail("target", checkpoints)
        self.assertEqual(len([entry for entry in entries if entry["type"] == "checkpoint_saved"]), 14)
        self.assertEqual(sorted(os.listdir(os.path.join(self.store, "runs", "target"))), ["audit", "erased.json", "lock", "run.json"])
        self.assertEqual(os.path.getsize(os.path.join(self.store, "runs", "target", "lock")), 0)
        with open(os.path.join(self.store, "runs", "target", "run.json")) as file:
            self.assertEqual(json.load(file)["salt"], "")
        with open(os.path.join(self.store, "recovery", "failures.jsonl")) as file:
            self.assertEqual([json.loads(line)["file"] for line in file], ["runs/beside/x", "runs/target-2/x"])
        self.check_fsck()
        self.assertEqual((self.restored("beside"), self.pawl("show", "beside", "--checkpoints", "--json").stdout), (other, listed))
        # Caller ids of other runs still work, and so does the store.
        again = self.pawl("save", "beside", "--id", "beside-1", "--json", stdin=json.dumps({"turn": 1, "kept": "k" * 100}))
        self.assertEqual(json.loads(again.stdout)["outcome"], "repeated")
        for turn in range(3):
            self.save("beside", {"after": turn})
        os.remove(os.path.join(self.store, "catalogue.db"))
        rows = {row["run"]: row["status"] for row in json.loads(self.pawl("list", "--json").stdout)}
        self.assertEqual(rows, {"target": "erased", "beside": "active"})
        self.check_fsck()
        self.assertEqual(self.found(), set())
        return before

    def test_nothing_of_a_plain_run_is_left(self):
        # All of it must have been readable before, except what was pruned; otherwise its absence proves nothing.
        self.assertEqual(self.leaves_nothing(), set(self.markers) - {"difference"})

    def test_nothing_of_an_encrypted_run_is_left(self):
        self.pawl("init", "--encrypt")
        before = self.leaves_nothing()
        self.assertNotIn("state", before)
        self.assertIn("name", before)  # labels are not encrypted
        self.assertFalse(os.path.exists(os.path.join(self.store, "runs", "target", "key.json")))

    def test_outputs_logs_events_and_messages_of_a_workflow_go(self):
        output, log, item = self.marker("output"), self.marker("log"), self.marker("item")
        with open(os.path.join(self.folder, "flow.yaml"), "w") as file:
            file.write(f"""
name: flow
steps:
- {{id: say, run: 'echo {output}', capture: {{format: text}}}}
- {{id: print, run: 'echo {log} >&2; seq 1 2000'}}
- {{id: each, map: {{items: ["{item}", "y"]}}, steps: [{{id: s, run: 'echo ${{item}}', capture: {{format: text}}}}]}}
- {{id: hold, wait_for: go}}
""")
        self.save("beside", {"kept": 1})
        self.pawl("run", "flow.yaml", "--run-id", "target", status=3)
        self.pawl("signal", "target", "go", "--json-payload", json.dumps({"x": self.marker("message")}))
        self.save("beside", {"kept": 2})
        self.assertEqual(self.kinds_found(), set(self.markers))
        self.erase("target")
        self.assertEqual(self.found(), set())
        self.check_fsck()
        for command in (["restore", "target"], ["show", "target"], ["resume", "target"], ["logs", "target"], ["signal", "target", "go"],
                        ["show", "target@1"], ["prune", "target", "--keep", "1"], ["cancel", "target"]):
            with self.subTest(command):
                said = self.pawl(*command, status=2).stderr
                self.assertRegex(said, r"erased on \d{4}-\d\d-\d\dT.* because request 17")
                self.assertIn("PAWL-0109", said)
        self.assertIn("PAWL-0109", self.pawl("save", "target", stdin="{}", status=2).stderr)
        self.assertIn("PAWL-0109", self.pawl("run", "flow.yaml", "--run-id", "target", status=2).stderr)
        self.pawl("prune", "--keep", "1")
        self.pawl("stats")
        self.assertIn("PAWL-0105", self.pawl("resume", status=2).stderr)
        self.assertEqual(json.loads(self.restored("beside")), {"kept": 2})

    def test_erasing_again_is_answered(self):
        self.save("target", {"text": self.marker("state")})
        first = self.erase("target")
        again = json.loads(self.pawl("erase", "target", "--reason", "another", "--json").stdout)
        self.assertEqual((again["status"], again["reason"], again["erased_at"]), ("already_erased", "request 17", first["erased_at"]))
        self.check_trail("target", 1)
        self.assertIn("PAWL-0101", self.pawl("erase", "missing", "--reason", "x", status=2).stderr)
        self.assertIn("--reason", self.pawl("erase", "target", status=2).stderr)
        self.pawl("erase", "target", "--reason", " ", status=2)

    def test_a_run_that_is_held_is_refused_with_its_owner(self):
        self.save("target", {"text": self.marker("state")})
        with open(os.path.join(self.folder, "flow.yaml"), "w") as file:
            file.write("name: flow\nsteps:\n- {id: go, run: 'echo up; exec sleep 600'}\n")
        owner = self.start(PROGRAM, "run", "flow.yaml", "--run-id", "held")
        end = time.monotonic() + PATIENCE
        while "held" not in self.pawl("list").stdout:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        said = self.pawl("erase", "held", "--reason", "x", status=4).stderr
        self.assertIn("PAWL-0201", said)
        self.assertIn(str(owner.pid), said)
        owner.send_signal(signal.SIGINT)
        owner.wait(PATIENCE)

    def test_pending_while_a_journal_of_a_living_process_holds_it(self):
        keeper = self.keep("one_shot", "target", {"text": self.marker("state")}, "beside")
        pending = self.erase("target", status=3)
        self.assertEqual(pending["status"], "pending")
        self.assertIn(str(keeper.pid), " ".join(pending["waiting_for"]))
        self.assertTrue({path.split("/")[0] for _, path in self.found()} <= {"journal"})
        self.assertIn("PAWL-0109", self.pawl("restore", "target", status=2).stderr)
        self.assertIn("not finished", self.pawl("fsck").stdout)
        self.assertEqual(self.erase("target", status=3)["status"], "pending")
        self.end(keeper)  # it erases what its journal holds
        self.assertEqual(self.found(), set())
        self.assertEqual(self.erase("target")["status"], "already_erased")
        self.assertEqual(json.loads(self.restored("beside")), {"kept": 1})
        self.check_trail("target", 1)
        self.check_fsck()

    def test_what_is_pending_is_finished_by_fsck_and_by_the_next_writer(self):
        for finish in (lambda: self.pawl("fsck", "--repair"), lambda: self.save("beside", {"kept": 2})):
            shutil.rmtree(self.store, ignore_errors=True)
            keeper = self.keep("one_shot", "target", {"text": self.marker("state")}, "beside")
            self.assertEqual(self.erase("target", status=3)["status"], "pending")
            keeper.kill()
            keeper.wait()
            self.assertNotEqual(self.found(), set())
            finish()
            self.assertEqual(self.found(), set())
            self.assertEqual(self.erase("target")["status"], "already_erased")
            self.check_fsck()

    def test_a_service_finishes_what_its_journal_holds(self):
        self.keep("service", "target", {"text": self.marker("state")}, "beside")
        erased = json.loads(subprocess.run([PROGRAM, "erase", "target", "--reason", "request 17", "--json"], env=self.environment(),
                                           capture_output=True, timeout=PATIENCE).stdout)
        self.assertIn(erased["status"], ("pending", "erased"))
        end = time.monotonic() + PATIENCE
        while self.found():
            self.assertLess(time.monotonic(), end, "the service does not clean its journal")
            time.sleep(0.1)
        self.assertEqual(json.loads(self.restored("beside")), {"kept": 1})

    def test_forks_refuse_or_go_first(self):
        self.save("target", {"text": self.marker("state")})
        self.pawl("fork", "target@1", "--run-id", "fork")
        self.save("fork", {"text": self.marker("fork")})
        self.save("beside", {"kept": 1})
        self.pawl("fsck", "--repair")  # everything is in files now
        said = self.pawl("erase", "target", "--reason", "request 17", status=4).stderr
        self.assertIn("PAWL-0255", said)
        self.assertIn("fork", said)
        self.assertEqual(json.loads(self.restored("target"))["text"], self.markers["state"])
        self.assertEqual(self.erase("target", "--cascade")["forks"], ["fork"])
        self.assertEqual(self.found(), set())
        self.check_trail("target", 1)
        self.check_trail("fork", 2)  # its own entries: the creation and the save
        self.assertEqual(json.loads(self.restored("beside")), {"kept": 1})
        self.check_fsck()

    def test_killed_at_any_moment_it_is_finished_later(self):
        for turn in range(12):
            shutil.rmtree(self.store, ignore_errors=True)
            self.markers = {}
            for number in range(4):
                self.save("target", {"text": self.marker(f"state {number}")}, "--id", self.marker(f"caller {number}"))
                self.save("beside", {"kept": number})
            eraser = self.start(PROGRAM, "erase", "target", "--reason", "request 17")
            time.sleep(self.dice.random() * 0.04)
            eraser.kill()
            eraser.wait()
            done = subprocess.run([PROGRAM, "restore", "target"], env=self.environment(), capture_output=True, timeout=PATIENCE)
            self.assertIn(done.returncode, (0, 2), done.stderr)
            if done.returncode == 0:  # killed before the erasure started, so the run is intact
                self.assertEqual(json.loads(done.stdout)["text"], self.markers["state 3"])
            else:
                self.assertIn(b"PAWL-0109", done.stderr)
            if done.returncode == 2 and turn % 2 == 0:
                self.save("beside", {"kept": "by the next writer"})
            else:
                self.pawl("erase", "target", "--reason", "request 17")
            self.assertEqual(self.found(), set())
            self.check_trail("target", 4)
            self.check_fsck()

    def test_what_is_pruned_leaves_its_hashes(self):
        for number in range(40):
            self.save("target", {"n": number, "text": self.marker(f"state {number}") + "p" * 20_000})
        path = os.path.join(self.store, "runs", "target", "audit", "audit_trail.jsonl")
        sums = {row["sequence"]: row["checksum"] for row in json.loads(self.pawl("show", "target", "--checkpoints", "--json", "--limit", "100").stdout)}
        self.pawl("prune", "target", "--keep", "2")
        self.pawl("fsck", "--repair")
        self.assertIsNone(chain_fault(path))
        with open(path) as file:
            self.assertEqual({entry["seq"]: entry["payload"] for entry in map(json.loads, file) if entry.get("seq")}, sums)
        self.check_fsck()
        # The check detects a change.
        with open(path, "rb") as file:
            text = file.read()
        with open(path, "wb") as file:
            file.write(text.replace(b'"seq":20,', b'"seq":21,'))
        self.assertEqual(chain_fault(path), "entry 21 does not match its hash")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--keeper", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM, KEEPER = os.path.abspath(options.program), os.path.abspath(options.keeper)
    unittest.main(argv=[sys.argv[0], *rest])
