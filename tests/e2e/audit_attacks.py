#!/usr/bin/env python3
"""Attacks the files of settled and unsettled runs. `pawl verify` and tools/verify_store.py must find each attack and
name the first bad entry. PAWL_ATTACKS=full tries every position for every kind of change.

The attacks don't use Pawl's code. Each of the many similar runs in a store gets another attack; one call checks all.
"""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = None
ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("PAWL_ATTACKS") == "full"
RUNS = 48
STEP = 1 if FULL else 7  # between positions where bytes are inserted or removed, or the file is truncated

spec = importlib.util.spec_from_file_location("verify_store", ROOT / "tools/verify_store.py")
independent = importlib.util.module_from_spec(spec)
spec.loader.exec_module(independent)


class Store:
    """A store with small runs."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.path = self.folder / "store"
        self.config = self.folder / "config"

    def pawl(self, *args, status=0, stdin=b"", config=None):
        environment = {**os.environ, "PAWL_STORE": str(self.path), "XDG_CONFIG_HOME": str(config or self.config), "NO_COLOR": "1"}
        done = subprocess.run([PROGRAM, *args], input=stdin, env=environment, capture_output=True, timeout=300)
        assert status is None or done.returncode == status, f"pawl {' '.join(args)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done

    def make(self, name):
        self.pawl("save", name, stdin=b'{"items":[1],"note":"a first state"}')
        self.pawl("audit", "add", name, "--type", "reviewed", "--agent", "ann", "--data", '{"verdict":"fine"}')
        self.pawl("save", name, stdin=b'{"items":[1,2],"note":"a first state"}')

    def settle(self):
        self.pawl("fsck", "--repair")

    def run(self, name):
        return self.path / "runs" / name

    def verdicts(self, *more, config=None):
        done = self.pawl("verify", "--all", "--json", *more, status=None, config=config)
        assert done.returncode in (0, 4), done.stderr
        return done.returncode, {run["run"]: run for run in json.loads(done.stdout)["runs"]}


def judged(folder, anchored=None):
    """Returns the error that the independent verifier finds, or None."""
    try:
        independent.Run(folder).verify(anchored)
    except independent.Bad as bad:
        return bad
    return None


def lines_with_ends(data):
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", data)


def attacks_on(data):
    """Yields (description, changed bytes) for every attack on the bytes of a file."""
    for at in range(len(data)):
        for mask in ((0x01, 0x20, 0x80) if FULL else (0x01,)):
            yield f"byte {at} ^ {mask:#x}", data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
    for at in range(0, len(data), STEP):
        yield f"cut at {at}", data[:at]
        yield f"without byte {at}", data[:at] + data[at + 1 :]
    for at in range(0, len(data) + 1, STEP):
        yield f"a byte more at {at}", data[:at] + b"7" + data[at:]
    lines = lines_with_ends(data)
    for i, line in enumerate(lines):
        yield f"without line {i + 1}", b"".join(lines[:i] + lines[i + 1 :])
        yield f"line {i + 1} twice", b"".join(lines[: i + 1] + lines[i:])
        yield f"cut after line {i + 1}", b"".join(lines[: i + 1]) if i + 1 < len(lines) else data[:-1]
        if i > 0 and lines[i - 1] != line:
            yield f"lines {i} and {i + 1} swapped", b"".join(lines[: i - 1] + [line, lines[i - 1]] + lines[i + 1 :])


FILES = ["run.json", "audit/audit_trail.jsonl", "audit/merkle_roots.json", "checkpoints/checkpoint_00001.json", "checkpoints/checkpoint_00001.jsonl"]
# run_created, checkpoint 1, reviewed, checkpoint 2, checkpoint 3
ENTRY_OF_CHECKPOINT = {1: 2, 2: 4, 3: 5}


def expected_entry(file, data, changed):
    """Returns the first entry that an attack can affect, or None if it depends."""
    same = len(os.path.commonprefix([data, changed]))
    if file == "run.json":
        return 1
    if file.endswith("trail.jsonl"):
        return data[:same].count(b"\n") + 1
    if file.endswith("00001.json"):
        return ENTRY_OF_CHECKPOINT[1]
    if file.endswith("00001.jsonl") and same < len(data):
        return ENTRY_OF_CHECKPOINT[min(3, data[:same].count(b"\n") + 2)]
    return None


class Attacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="pawl-attacks-")
        cls.store = Store(cls.folder)
        cls.names = [f"run-{i:02}" for i in range(RUNS)]
        for i, name in enumerate(cls.names):
            cls.store.make(name)
            if i == RUNS // 2:
                cls.store.settle()  # the records of the other runs stay in the journal as well

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_what_nobody_touched_verifies(self):
        status, verdicts = self.store.verdicts()
        self.assertEqual(status, 0)
        self.assertEqual(set(verdicts), set(self.names))
        for name in self.names:
            self.assertTrue(verdicts[name]["ok"])
            self.assertEqual((verdicts[name]["entries"], verdicts[name]["checkpoints"], verdicts[name]["events"], verdicts[name]["settled"]), (5, 3, 1, 5))
            self.assertIsNone(judged(self.store.run(name)))

    def attack(self, file):
        """Runs every attack on `file`, spread over the runs."""
        whole = {name: (self.store.run(name) / file).read_bytes() for name in self.names}
        lists = {name: list(attacks_on(data)) for name, data in whole.items()}
        count = min(map(len, lists.values()))
        tried = 0
        for begin in range(0, count, RUNS):
            batch = {}
            for i, name in zip(range(begin, count), self.names):
                what, changed = lists[name][i]
                if changed == whole[name]:
                    continue
                (self.store.run(name) / file).write_bytes(changed)
                batch[name] = (what, changed)
            _, verdicts = self.store.verdicts()
            for name, (what, changed) in batch.items():
                with self.subTest(file=file, what=what):
                    bad, found = verdicts[name]["bad"], judged(self.store.run(name))
                    self.assertIsNotNone(bad, "pawl verify finds nothing")
                    self.assertIsNotNone(found, "the independent verifier finds nothing")
                    self.assertIn(f"runs/{name}/", bad["file"])
                    self.assertGreater(bad["entry"], 0)
                    expected = expected_entry(file, whole[name], changed)
                    if expected is not None:
                        self.assertEqual(bad["entry"], expected, bad)
                        self.assertEqual(found.entry, expected, str(found))
                (self.store.run(name) / file).write_bytes(whole[name])
                tried += 1
        self.assertGreater(tried, 100)
        self.assertEqual(self.store.verdicts()[0], 0)

    def test_vc_003_integrity_changes_of_the_audit_trail_are_found(self):
        self.attack("audit/audit_trail.jsonl")

    def test_vc_003_integrity_changes_of_the_merkle_roots_are_found(self):
        self.attack("audit/merkle_roots.json")

    def test_vc_003_integrity_changes_of_whole_checkpoints_are_found(self):
        self.attack("checkpoints/checkpoint_00001.json")

    def test_vc_003_integrity_changes_of_differences_are_found(self):
        self.attack("checkpoints/checkpoint_00001.jsonl")

    def test_vc_003_integrity_changes_of_run_json_are_found(self):
        self.attack("run.json")

    def test_changes_of_events_are_found(self):
        name = next((self.store.run(self.names[0]) / "events").iterdir()).name
        self.attack(f"events/{name}")

    def test_records_that_are_forged_with_right_checksums_are_found(self):
        """Only the audit entries reveal these changes: a state with its old or a new checksum, run.json, an event."""
        kept = {}

        def forge(name, file, old, new, sum_too=False, seeded=True):
            path = self.store.run(name) / file
            kept[path] = text = path.read_bytes()
            run = json.loads((self.store.run(name) / "run.json").read_bytes())
            self.assertEqual(text.count(old), 1, text)
            covered = text.replace(old, new)[: -len(b',"crc":"01234567"}\n')]
            if sum_too:
                covered = covered[: -len(b',"sum":"sha256:"') - 64]
                covered += b',"sum":"sha256:' + independent.sha(run["salt"].encode(), covered).hex().encode() + b'"'
            seed = independent.crc32c(bytes.fromhex(run["uuid"].replace("-", ""))) if seeded else 0
            path.write_bytes(covered + b',"crc":"%08x"}\n' % independent.crc32c(covered, seed))

        event = next((self.store.run(self.names[3]) / "events").iterdir()).name
        forge(self.names[0], "checkpoints/checkpoint_00001.json", b"a first state", b"a forged stat")
        forge(self.names[1], "checkpoints/checkpoint_00001.json", b"a first state", b"a forged stat", sum_too=True)
        forge(self.names[2], "run.json", b'"durability":"sync"', b'"durability":"exit"', seeded=False)
        forge(self.names[3], f"events/{event}", b"fine", b"poor")
        try:
            status, verdicts = self.store.verdicts()
            self.assertEqual(status, 4)
            for name, entry in zip(self.names, (2, 2, 1, 3)):
                self.assertFalse(verdicts[name]["ok"], name)
                self.assertEqual(verdicts[name]["bad"]["entry"], entry, verdicts[name])
                self.assertIsNotNone(judged(self.store.run(name)), name)
            self.assertTrue(verdicts[self.names[4]]["ok"])
        finally:
            for path, text in kept.items():
                path.write_bytes(text)

    def test_files_that_are_gone_are_missed(self):
        for name, file in zip(self.names, FILES):
            path = self.store.run(name) / file
            data = path.read_bytes()
            path.unlink()
            _, verdicts = self.store.verdicts()
            self.assertFalse(verdicts[name]["ok"], file)
            self.assertIsNotNone(judged(self.store.run(name)), file)
            path.write_bytes(data)

    def test_files_of_another_run_are_refused(self):
        one, other = self.names[:2]
        for file in FILES:
            path = self.store.run(one) / file
            data = path.read_bytes()
            path.write_bytes((self.store.run(other) / file).read_bytes())
            _, verdicts = self.store.verdicts()
            self.assertFalse(verdicts[one]["ok"], file)
            self.assertIsNotNone(judged(self.store.run(one)), file)
            path.write_bytes(data)


class Forger:
    """Rewrites the history of a run with valid checksums, hashes and roots, which the chain alone can't detect."""

    def __init__(self, folder):
        self.folder = folder
        self.run = json.loads((folder / "run.json").read_text())
        self.salt = self.run["salt"].encode()
        self.seed = independent.crc32c(bytes.fromhex(self.run["uuid"].replace("-", "")))
        self.trail = [json.loads(line) for line in (folder / "audit/audit_trail.jsonl").read_text().splitlines()]

    def seal(self, body):
        return body + b',"crc":"%08x"}' % independent.crc32c(body, self.seed)

    def write(self):
        head, peaks, text = b"\0" * 32, [], b""
        for index, entry in enumerate(self.trail, 1):
            entry = {**entry, "i": index, "prev": head.hex()}
            entry.pop("hash")
            body = json.dumps(entry, separators=(",", ":")).encode()[:-1]
            head = independent.sha(head, body)
            text += body + b',"hash":"%s"}\n' % head.hex().encode()
            peak, count = independent.sha(b"\0", head), index - 1
            while count & 1:
                peak, count = independent.sha(b"\1", peaks.pop(), peak), count >> 1
            peaks.append(peak)
        (self.folder / "audit/audit_trail.jsonl").write_bytes(text)
        root = {"size": len(self.trail), "at": self.trail[-1]["at"], "bytes": len(text), "head": head.hex(), "root": independent.root_of(peaks).hex(), "frontier": [p.hex() for p in peaks]}
        body = json.dumps(root, separators=(",", ":")).encode()[:-1]
        (self.folder / "audit/merkle_roots.json").write_bytes(b"[\n" + self.seal(body) + b"\n]\n")

    def change_first_state(self):
        path = self.folder / "checkpoints/checkpoint_00001.json"
        covered = path.read_bytes()[:-99].replace(b"a first state", b"a final state")
        total = independent.sha(self.salt, covered).hex()
        path.write_bytes(self.seal(covered + b',"sum":"sha256:%s"' % total.encode()) + b"\n")
        self.trail[1]["payload"] = "sha256:" + total

    def cut_last_checkpoint(self):
        path = self.folder / "checkpoints/checkpoint_00001.jsonl"
        path.write_bytes(b"".join(lines_with_ends(path.read_bytes())[:-1]))
        self.trail.pop()


class Anchors(unittest.TestCase):
    """Histories that are valid in themselves but differ from the anchor."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-anchor-")
        self.store = Store(self.folder)
        for name in ("kept", "victim"):
            self.store.make(name)
        self.anchor = Path(self.folder) / "anchor.json"
        self.store.pawl("audit", "anchor", "-o", str(self.anchor))
        self.anchored = {run["run"]: run for run in json.loads(self.anchor.read_text())["runs"]}

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def verify(self, *more, status=4, config=None):
        return self.store.pawl("verify", "--all", "--anchor", str(self.anchor), *more, status=status, config=config)

    def assert_found_against_the_anchor_alone(self, entry, text):
        self.assertEqual(self.store.verdicts()[0], 0, "the forgery is not good enough")
        self.assertIsNone(judged(self.store.run("victim")))
        done = self.verify().stderr.decode()
        self.assertIn("PAWL-0341", done)
        self.assertIn(f"run 'victim', entry {entry}", done)
        self.assertIn(text, done)
        found = judged(self.store.run("victim"), self.anchored["victim"])
        self.assertEqual(found.entry, entry, str(found))

    def test_an_untouched_store_fits_its_anchor_and_may_grow(self):
        self.verify(status=0)
        self.store.pawl("save", "victim", stdin=b'{"later":1}')
        self.store.pawl("save", "newer", stdin=b"{}")
        self.assertIn("newer: newer than the anchor", self.verify(status=0).stdout.decode())
        self.assertEqual(os.stat(self.store.config / "pawl/signing.key").st_mode & 0o777, 0o600)

    def test_a_tail_that_was_cut_is_found(self):
        forger = Forger(self.store.run("victim"))
        forger.cut_last_checkpoint()
        forger.write()
        self.assert_found_against_the_anchor_alone(5, "entries were removed from its end")

    def test_a_chain_that_was_rebuilt_is_found(self):
        forger = Forger(self.store.run("victim"))
        forger.change_first_state()
        forger.write()
        self.assert_found_against_the_anchor_alone(5, "the chain was rebuilt")

    def test_an_anchor_signed_with_another_key_is_refused(self):
        forger = Forger(self.store.run("victim"))
        forger.change_first_state()
        forger.write()
        stranger = Path(self.folder) / "stranger"
        public = (self.store.config / "pawl/signing.pub").read_text()
        self.store.pawl("audit", "anchor", "-o", str(self.anchor), config=stranger)
        done = self.verify().stderr.decode()
        self.assertIn("PAWL-0342", done)
        self.assertIn("signed with key", done)
        key = Path(self.folder) / "trusted.pub"
        key.write_text(public)
        # On another machine, with no key or a different key.
        for config in (stranger, Path(self.folder) / "empty"):
            self.assertIn("PAWL-0342", self.verify("--public-key", str(key), config=config).stderr.decode())
        self.assertIn("--public-key", self.verify(config=Path(self.folder) / "empty").stderr.decode())

    def test_an_anchor_that_was_changed_is_refused(self):
        text = self.anchor.read_bytes()
        for changed in (text.replace(b'"entries":5', b'"entries":4', 1), text[:-1], text + b"\n", text.replace(b'"kept"', b'"sept"'), b"{}", b""):
            self.anchor.write_bytes(changed)
            self.assertIn("PAWL-0342", self.verify().stderr.decode())

    def test_a_run_that_is_gone_is_missed(self):
        shutil.rmtree(self.store.run("victim"))
        (self.store.path / "catalogue.db").unlink(missing_ok=True)
        self.assertEqual(self.store.verdicts()[0], 0)
        done = self.verify().stderr.decode()
        self.assertIn("PAWL-0341", done)
        self.assertIn("run 'victim' is in the anchor, but no longer in the store", done)
        self.assertEqual(independent.main([str(self.store.path), "--anchor", str(self.anchor)]), 4)

    def test_another_run_in_its_place_is_found(self):
        self.store.settle()
        shutil.rmtree(self.store.run("victim"))
        (self.store.path / "catalogue.db").unlink()
        self.store.make("victim")
        self.store.pawl("save", "victim", stdin=b'{"more":1}')
        self.store.settle()
        self.assertEqual(self.store.verdicts()[0], 0)
        self.assertIn("PAWL-0341", self.verify().stderr.decode())


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
