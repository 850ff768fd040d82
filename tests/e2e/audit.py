#!/usr/bin/env python3
"""Tests the audit trail with the real program: entries, offline verification, reports, anchors and recorded reads."""
import csv
import html.parser
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

PROGRAM = None
PATIENCE = 60

GATE = """name: ship
steps:
  - id: build
    run: echo built
  - id: review
    approve: ship it?
  - id: publish
    run: echo published
"""


class Page(html.parser.HTMLParser):
    """Counts elements that a browser would fetch or execute."""

    def __init__(self):
        super().__init__()
        self.outside, self.text, self.open = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "link", "img", "iframe", "object") or any(name in ("src", "href") or name.startswith("on") for name, _ in attributes):
            self.outside.append((tag, attributes))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


class Audit(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pawl-audit-"))
        self.store = self.folder / "store"
        self.environment = {**os.environ, "PAWL_STORE": str(self.store), "NO_COLOR": "1", "HOME": str(self.folder), "USER": "tester"}
        self.environment.pop("XDG_CONFIG_HOME", None)
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for path in [self.folder, *self.folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(self.folder, ignore_errors=True)

    def pawl(self, *args, status=0, stdin=b"", **more):
        done = subprocess.run([PROGRAM, *args], cwd=self.folder, env={**self.environment, **more}, input=stdin, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, status, f"pawl {' '.join(args)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done

    def entries(self, *args, **more):
        return json.loads(self.pawl("audit", "list", *args, "--json", **more).stdout)

    def types(self, *args):
        return [entry["type"] for entry in self.entries(*args)]

    def verdict(self, run, status=0, **more):
        return json.loads(self.pawl("verify", run, "--json", status=status, **more).stdout)["runs"][0]

    # Entries.

    def test_vc_006_compliance_decisions_are_recorded_with_who_made_them_and_can_be_queried(self):
        (self.folder / "workflow.yaml").write_text(GATE)
        self.pawl("run", "--run-id", "ship", status=3)
        self.pawl("approve", "ship", "review", "--by", "alice", "--comment", "read it")
        self.pawl("resume", "ship")
        self.pawl("audit", "add", "ship", "--type", "released", "--agent", "bob", "--data", '{"ticket":"REL-7"}')
        types = self.types("ship")
        self.assertEqual(types[0], "run_created")
        self.assertEqual([t for t in types if t not in ("run_created", "checkpoint_saved", "run_resumed")], ["approved", "released"])
        approved = self.entries("ship", "--type", "approved")[0]
        self.assertEqual((approved["agent"], approved["data"]["comment"], approved["data"]["step"]), ("alice", "read it", "review"))
        self.assertTrue(approved["user"] and approved["host"])
        self.assertEqual([e["type"] for e in self.entries("ship", "--agent", "bob")], ["released"])
        self.assertEqual([e["type"] for e in self.entries("--all", "--text", "REL-7")], ["released"])
        self.assertEqual(self.entries("ship", "--until", "2020-01-01"), [])
        self.assertEqual(len(self.entries("ship", "--since", "2020-01-01")), len(types))
        self.assertIn("--since: not a time: 'yesterday'", self.pawl("audit", "list", "ship", "--since", "yesterday", status=2).stderr.decode())
        verdict = self.verdict("ship")
        self.assertTrue(verdict["ok"])
        self.assertEqual(verdict["entries"], len(types))

    def test_a_refused_decision_and_accepted_changes_are_recorded(self):
        (self.folder / "workflow.yaml").write_text(GATE)
        self.pawl("run", "--run-id", "ship", status=3)
        self.pawl("approve", "ship", "review", "--by", "alice")
        (self.folder / "workflow.yaml").write_text(GATE.replace("ship it?", "ship it now?"))
        self.pawl("resume", "ship", status=4)
        self.pawl("resume", "ship", "--accept-changes", status=3)
        types = self.types("ship")
        self.assertIn("workflow_changed", types)
        self.assertIn("message_refused", types)
        self.assertNotIn("approved", types)
        self.pawl("reject", "ship", "review", "--by", "carol", "--comment", "no")
        self.pawl("resume", "ship", status=1)
        self.assertEqual(self.entries("ship", "--type", "rejected")[0]["agent"], "carol")
        self.pawl("cancel", "ship", "--reason", "given up")
        self.assertIn("run_cancelled", self.types("ship"))
        self.verdict("ship")

    def test_an_entry_for_a_run_that_is_executed_goes_through_its_inbox(self):
        (self.folder / "workflow.yaml").write_text("name: slow\nsteps:\n  - id: wait\n    run: while [ ! -e go ]; do sleep 0.05; done\n")
        process = subprocess.Popen([PROGRAM, "run", "--run-id", "slow"], cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not (self.store / "runs/slow/run.json").exists():
            if subprocess.run([PROGRAM, "show", "slow"], cwd=self.folder, env=self.environment, capture_output=True).returncode == 0:
                break
            time.sleep(0.05)
        added = json.loads(self.pawl("audit", "add", "slow", "--type", "noted", "--agent", "dan", "--json").stdout)
        self.assertTrue(added["asked"])
        while time.monotonic() < deadline and not self.entries("slow", "--type", "noted"):
            time.sleep(0.05)
        (self.folder / "go").touch()
        process.wait(PATIENCE)
        self.assertEqual([e["agent"] for e in self.entries("slow", "--type", "noted")], ["dan"])
        self.verdict("slow")

    def test_a_user_who_is_also_the_agent_is_named_once(self):
        self.pawl("save", "r", stdin=b"{}")
        self.pawl("audit", "add", "r", "--type", "seen")
        user = self.entries("r", "--type", "seen")[0]["user"]
        self.pawl("audit", "add", "r", "--type", "again", "--agent", user)
        listed = self.pawl("audit", "list", "r", "--type", "again").stdout.decode()
        self.assertIn(f"  {user}@", listed)
        self.assertNotIn(f"{user} {user}@", listed)

    def test_entries_keep_the_state_and_the_counts_of_a_run(self):
        self.pawl("save", "plain", "--name", "one", stdin=b'{"a": 1}\n')
        self.pawl("audit", "add", "plain", "--type", "seen")
        self.assertEqual(self.pawl("restore", "plain").stdout, b'{"a": 1}\n')
        self.environment["PAWL_RUN"] = "steps"
        long = "x" * 6000
        for name in ("a", "b"):
            self.assertEqual(self.pawl("step", name, "--", "echo", long).stdout.decode().strip(), long)
            self.pawl("audit", "add", "steps", "--type", "seen")
        for name in ("a", "b"):
            self.assertEqual(self.pawl("step", name, "--", "echo", long).stdout.decode().strip(), long)
        self.verdict("steps")

    def test_entries_are_checked_and_masked(self):
        self.pawl("save", "r", stdin=b"{}")
        for bad in (["--type", ""], ["--type", "checkpoint_saved"], ["--type", "run_created"], ["--type", "approved"], ["--type", "workflow_changed"], ["--type", "a\nb"], ["--type", "x", "--data", "[1]"],
                    ["--type", "x", "--data", "{"], ["--type", "x" * 300], ["--type", "x", "--data", json.dumps({"a": "b" * 70000})]):
            self.pawl("audit", "add", "r", *bad, status=2)
        self.pawl("audit", "add", "missing", "--type", "x", status=2)
        self.assertFalse((self.store / "runs/missing").exists())
        token = "ghp_" + "a1B2" * 9
        self.pawl("audit", "add", "r", "--type", "leak", "--data", json.dumps({"token": token}))
        self.assertNotIn(token, json.dumps(self.entries("r")))
        for path in self.store.rglob("*"):
            if path.is_file():
                self.assertNotIn(token.encode(), path.read_bytes(), path)

    def test_reads_are_recorded_where_the_settings_say_so(self):
        self.pawl("save", "r", stdin=b'{"a":1}')
        self.pawl("restore", "r")
        self.assertNotIn("checkpoint_read", self.types("r"))
        (self.store / "config.yaml").write_text("audit:\n  reads: true\n")
        self.assertEqual(self.pawl("restore", "r@1").stdout, b'{"a":1}')
        read = self.entries("r", "--type", "checkpoint_read")
        self.assertEqual([(e["data"]["checkpoint"], e["data"]["command"]) for e in read], [(1, "restore")])
        self.assertTrue(read[0]["user"])

    # Verification.

    def fill(self, run, count=5):
        for n in range(count):
            self.pawl("save", run, stdin=json.dumps({"n": n, "items": list(range(n))}).encode())

    def test_vc_003_integrity_is_verified_in_journals_and_files_alike(self):
        self.fill("r")
        self.assertEqual(self.verdict("r")["settled"], 6)
        self.pawl("fsck", "--repair")
        settled = self.verdict("r")
        self.assertEqual((settled["entries"], settled["checkpoints"], settled["settled"]), (6, 5, 6))
        self.fill("r")
        grown = self.verdict("r")
        self.assertEqual((grown["checkpoints"], grown["settled"]), (10, 11))
        self.pawl("fsck", "--repair")
        roots = json.loads((self.store / "runs/r/audit/merkle_roots.json").read_text())
        self.assertEqual([root["size"] for root in roots], [6, 11])
        self.assertEqual(roots[-1]["root"], self.verdict("r")["root"])

    def test_vc_003_integrity_a_changed_copy_in_a_file_is_found_although_the_journal_is_right(self):
        self.fill("r")
        trail = self.store / "runs/r/audit/audit_trail.jsonl"
        trail.write_bytes(trail.read_bytes().replace(b'"i":3', b'"i":9'))
        bad = self.verdict("r", status=4)["bad"]
        self.assertEqual(bad["entry"], 3)
        message = self.pawl("verify", "r", status=4).stderr.decode()
        self.assertIn("run 'r', entry 3", message)
        self.assertIn("hint:", message)

    def test_a_store_that_may_only_be_read_is_verified(self):
        self.fill("r")
        self.pawl("fsck", "--repair")
        self.fill("r")
        before = {path: path.stat().st_mtime_ns for path in self.store.rglob("*")}
        for path in [self.store, *self.store.rglob("*")]:
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        self.assertTrue(self.verdict("r")["ok"])
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.store.rglob("*")})
        for path in [self.store, *self.store.rglob("*")]:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)

    def test_an_encrypted_store_is_verified_without_its_key(self):
        key = self.folder / "store.key"
        self.pawl("init", "--encrypt", "--key-file", str(key))
        self.pawl("save", "r", stdin=json.dumps({"secret": "nobody may know"}).encode())
        self.pawl("audit", "add", "r", "--type", "noted", "--data", '{"why":"nobody may know either"}')
        self.assertEqual(self.entries("r", "--type", "noted")[0]["data"]["why"], "nobody may know either")
        for path in self.store.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"nobody may", path.read_bytes())
        key.rename(self.folder / "elsewhere")
        self.pawl("restore", "r", status=2)
        self.assertTrue(self.verdict("r")["ok"])

    def test_what_was_pruned_leaves_its_hashes(self):
        self.environment["PAWL_CHECKPOINT_COMPRESSION"] = "none"
        for n in range(12):
            self.pawl("save", "r", *(["--name", "mark"] if n == 3 else []), stdin=json.dumps({"n": n, "text": os.urandom(90_000).hex()}).encode())
        self.pawl("prune", "r", "--keep", "2")
        verdict = self.verdict("r")
        self.assertTrue(verdict["ok"])
        self.assertGreater(verdict["pruned"], 5)
        self.assertEqual(verdict["pruned"] + verdict["checkpoints"], 12)
        self.pawl("fsck", "--repair")
        self.assertTrue(self.verdict("r")["ok"])
        kept = next((self.store / "runs/r/checkpoints").glob("kept_*.json"))
        kept.write_bytes(kept.read_bytes().replace(b'"n"', b'"m"'))
        self.assertEqual(self.verdict("r", status=4)["bad"]["sequence"], 4)

    def test_large_states_are_verified_with_their_blobs(self):
        self.pawl("save", "r", stdin=json.dumps({"text": os.urandom(1_600_000).hex()}).encode(), PAWL_CHECKPOINT_COMPRESSION="none")
        self.assertTrue(self.verdict("r")["ok"])
        blob = next((self.store / "runs/r/blobs").iterdir())
        data = bytearray(blob.read_bytes())
        data[1_000_000] ^= 1
        blob.write_bytes(data)
        self.assertIn(blob.name, self.verdict("r", status=4)["bad"]["file"])

    def test_usage(self):
        self.fill("r", 1)
        self.pawl("verify", status=2)
        self.pawl("verify", "r", "--all", status=2)
        self.pawl("verify", "missing", status=2)
        self.pawl("audit", "list", status=2)
        self.pawl("audit", "proof", "r", "9", status=2)
        self.pawl("verify", "r", "--anchor", "nowhere.json", status=2)
        self.assertIn("fine", self.pawl("verify", "--all").stdout.decode())

    # Reports.

    def test_reports_hold_everything_and_the_page_needs_nothing_else(self):
        self.fill("r", 3)
        self.pawl("audit", "add", "r", "--type", "=cmd()", "--agent", "<b>eve</b>", "--data", '{"note":"</pre><script>alert(1)</script>, \\"quoted\\""}')
        entries = self.entries("r")
        document = json.loads(self.pawl("audit", "report", "r", "--format", "json").stdout)
        self.assertEqual(document["entries"], entries)
        self.assertTrue(document["verification"]["ok"])
        rows = list(csv.DictReader(io.StringIO(self.pawl("audit", "report", "r", "--format", "csv").stdout.decode(), newline="")))
        self.assertEqual([row["hash"] for row in rows], [entry["hash"] for entry in entries])
        self.assertEqual(rows[-2]["type"], "'=cmd()")
        self.assertEqual(json.loads(rows[-2]["data"]), entries[-2]["data"])
        self.pawl("audit", "report", "r", "--format", "html", "-o", "audit.html")
        page = Page()
        page.feed((self.folder / "audit.html").read_text())
        self.assertEqual(page.outside, [])
        self.assertEqual(page.open, [])
        text = "".join(page.text)
        for expected in ("Verified.", "<b>eve</b>", "<script>alert(1)</script>", "@1 to @3", entries[-1]["hash"]):
            self.assertIn(expected, text)
        self.pawl("audit", "report", "r", "--format", "pdf", status=2)

    def test_the_program_in_the_documentation_checks_proofs(self):
        page = (Path(__file__).resolve().parent.parent.parent / "docs/formats/audit.md").read_text()
        program = compile(page.split("```python\n")[1].split("```")[0], "audit.md", "exec")

        def is_valid(proof):
            with unittest.mock.patch("sys.stdin", io.StringIO(json.dumps(proof))), self.assertRaises(SystemExit) as exit:
                exec(program, {})
            return not exit.exception.code

        for saves in (1, 2, 6):
            for number in range(saves):
                self.pawl("save", "r", stdin=json.dumps({"saves": saves, "n": number}).encode())
            size = len(self.entries("r"))
            for number in range(1, size + 1):
                for arguments in ([str(number)], ["--since", str(number)]):
                    proof = json.loads(self.pawl("audit", "proof", "r", *arguments).stdout)
                    self.assertTrue(is_valid(proof), proof)
                    if proof["proof"]:
                        last = proof["proof"][-1]
                        self.assertFalse(is_valid({**proof, "proof": proof["proof"][:-1] + [last[::-1]]}), proof)
                        self.assertFalse(is_valid({**proof, "proof": proof["proof"] + [last]}), proof)
                    self.assertFalse(is_valid({**proof, "root": proof["root"][::-1]}), proof)
                    name = "hash" if "hash" in proof else "earlier_root"
                    self.assertFalse(is_valid({**proof, name: proof[name][::-1]}), proof)

    def test_advice_about_proofs_and_anchors_works_as_printed(self):
        self.pawl("save", "r", stdin=b"{}")
        self.assertIn("missing argument: ENTRY", self.pawl("audit", "proof", "r", status=2).stderr.decode())
        self.pawl("audit", "anchor", "-o", "anchor.json")
        example = next(line for line in self.pawl("audit", "anchor", "--help").stdout.decode().splitlines() if line.startswith("  pawl verify"))
        self.pawl(*example.split()[1:])

    def test_a_proof_of_inclusion_leads_to_the_root(self):
        import hashlib
        self.fill("r", 6)
        for entry in self.entries("r"):
            proof = json.loads(self.pawl("audit", "proof", "r", str(entry["entry"])).stdout)
            self.assertEqual(proof["root"], self.verdict("r")["root"])
            node, last = entry["entry"] - 1, proof["size"] - 1
            value = hashlib.sha256(b"\0" + bytes.fromhex(entry["hash"])).digest()
            for other in map(bytes.fromhex, proof["proof"]):
                left = node & 1 or node == last
                value = hashlib.sha256(b"\1" + (other + value if left else value + other)).digest()
                while left and node and not node & 1:
                    node, last = node >> 1, last >> 1
                node, last = node >> 1, last >> 1
            self.assertEqual(value.hex(), proof["root"])

    def test_the_signing_key_is_the_users_own(self):
        self.fill("r", 1)
        self.pawl("audit", "anchor", "-o", "anchor.json")
        key = self.folder / ".config/pawl/signing.key"
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        self.pawl("verify", "--all", "--anchor", "anchor.json")
        first = json.loads((self.folder / "anchor.json").read_text())["public_key"]
        self.assertEqual(first, (self.folder / ".config/pawl/signing.pub").read_text().strip())
        self.pawl("audit", "anchor", status=2, PAWL_SIGNING_KEY_FILE="nowhere.key")
        key.chmod(0o644)
        self.assertIn("chmod 600", self.pawl("audit", "anchor", status=2).stderr.decode())
        key.chmod(0o600)
        self.pawl("verify", "--all", "--anchor", "anchor.json", PAWL_SIGNING_KEY_FILE=str(key))

    def test_verifying_beside_a_writer_finds_nothing(self):
        self.fill("r", 1)
        script = f"for i in $(seq 60); do echo '{{\"n\":'$i'}}' | '{PROGRAM}' save r > /dev/null; done"
        process = subprocess.Popen(["sh", "-c", script], cwd=self.folder, env=self.environment)
        self.started.append(process)
        while process.poll() is None:
            self.assertTrue(self.verdict("r")["ok"])
        self.assertEqual(self.verdict("r")["checkpoints"], 61)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(verbosity=2)
