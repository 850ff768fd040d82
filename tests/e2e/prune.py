#!/usr/bin/env python3
"""Tests pruning with the real program: what is removed, what is kept, and the space freed, next to writers and under
kill -9."""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = WRITER = None
KILLS = 60
PATIENCE = 60  # seconds to wait for something that must happen


class Prune(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-prune-")
        self.store = os.path.join(self.folder, "store")
        self.started = []
        self.dice = random.Random(7)
        self.saved = {}  # run -> sequence -> bytes

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Helpers.

    def environment(self):
        return {**os.environ, "PAWL_STORE": self.store, "NO_COLOR": "1", "PAWL_CHECKPOINT_COMPRESSION": "none",
                "PAWL_CHECKPOINT_KEEP": "all"}

    def pawl(self, *args, status=0, stdin=b""):
        done = subprocess.run([PROGRAM, *args], cwd=self.folder, env=self.environment(), input=stdin, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, status, f"pawl {' '.join(args)}\n{done.stdout[:2000]}{done.stderr[:2000]}")
        return done

    def save(self, run, size, *more):
        state = json.dumps({"n": self.dice.random(), "text": self.dice.randbytes(size // 2).hex()}).encode()
        done = self.pawl("save", run, "--json", *more, stdin=state)
        sequence = json.loads(done.stdout)["sequence"]
        self.saved.setdefault(run, {})[sequence] = state
        return sequence

    def fill(self, run, count, size, named=()):
        for number in range(1, count + 1):
            self.save(run, size, *(["--name", f"n{number}"] if number in named else []))

    def listed(self, run):
        return [row["sequence"] for row in json.loads(self.pawl("show", run, "--checkpoints", "--limit", "100000", "--json").stdout)]

    def size(self, run):
        """Returns the size of all files of the run."""
        total = 0
        for folder, _, names in os.walk(os.path.join(self.store, "runs", run)):
            for name in names:
                try:
                    total += os.path.getsize(os.path.join(folder, name))
                except FileNotFoundError:
                    pass
        return total

    def assert_sound(self, run, kept=None):
        there = self.listed(run)
        if kept is not None:
            self.assertEqual(there, kept)
        for sequence in there:
            self.assertEqual(self.pawl("restore", f"{run}@{sequence}").stdout, self.saved[run][sequence], f"{run}@{sequence}")
        self.pawl("fsck")

    # Tests.

    def test_a_dry_run_says_what_would_go_and_changes_nothing(self):
        self.fill("r", 30, 40_000, named=(7,))
        before = {path: os.stat(path).st_size for path in self.files()}
        planned = json.loads(self.pawl("prune", "r", "--keep", "3", "--dry-run", "--json").stdout)
        self.assertTrue(planned["dry_run"])
        self.assertEqual(before, {path: os.stat(path).st_size for path in self.files()})
        self.assertEqual(self.listed("r"), list(range(1, 31)))
        size = self.size("r")
        done = json.loads(self.pawl("prune", "r", "--keep", "3", "--json").stdout)
        self.assertEqual(planned["runs"][0]["removed"], done["runs"][0]["removed"])
        freed = size - self.size("r")
        self.assertEqual(done["freed_bytes"], freed)
        self.assertAlmostEqual(planned["freed_bytes"], freed, delta=200)

    def files(self):
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.store) for name in names if not name.startswith("catalogue")]

    def test_space_comes_back_and_what_is_kept_restores(self):
        self.fill("r", 60, 60_000, named=(13, 27, 44))
        before = self.size("r")
        self.assertGreater(before, 60 * 60_000)
        self.pawl("prune", "--keep", "2")
        self.assert_sound("r", [13, 27, 44, 59, 60])
        # Three named checkpoints, and at most the newest group and one of its size.
        self.assertLess(self.size("r"), 3 * 70_000 + 2 * 400_000)
        gone = self.pawl("restore", "r@14", status=2).stderr.decode()
        self.assertIn("PAWL-0108", gone)
        self.assertIn("hint: ", gone)
        # Saving continues. The journal still contains the pruned checkpoints but does not bring them back.
        self.assertEqual(self.save("r", 60_000), 61)
        for _ in range(30):
            self.save("r", 200_000)
        self.assertEqual(self.listed("r")[:3], [13, 27, 44])
        self.assertNotIn(20, self.listed("r"))
        self.pawl("prune", "--keep", "1")
        self.assert_sound("r", [13, 27, 44, 91])

    def test_large_states_give_their_files_back(self):
        self.fill("r", 8, 1_500_000, named=(3,))
        blobs = os.path.join(self.store, "runs", "r", "blobs")
        self.assertEqual(len(os.listdir(blobs)), 8)
        self.pawl("prune", "--keep", "1")
        self.assert_sound("r", [3, 8])
        self.save("r", 1_500_000)
        self.pawl("prune", "--keep", "1")
        self.assert_sound("r", [3, 9])
        self.assertLessEqual(len(os.listdir(blobs)), 3)

    def test_without_a_limit_an_example_is_shown(self):
        self.save("r", 10)
        self.assertIn("pawl prune --keep 10 --dry-run", self.pawl("prune", status=2).stderr.decode())

    def test_a_run_of_another_process_is_pruned_while_it_saves(self):
        log = os.path.join(self.folder, "log")
        self.save("live", 100, "--name", "first")
        writer = subprocess.Popen([WRITER, "write", self.store, log, "3", "live", "other"], env=self.environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.started.append(writer)
        freed, turns, before = 0, 0, 0
        end = time.monotonic() + 8
        while time.monotonic() < end:
            before = max(before, self.size("live"))
            freed += json.loads(self.pawl("prune", "live", "--keep", "5", "--json").stdout)["freed_bytes"]
            turns += 1
            self.assertIsNone(writer.poll(), writer.stderr.read() if writer.poll() is not None else "")
        written = os.path.getsize(log)
        writer.kill()
        writer.communicate()
        self.assertGreater(written, 0)
        self.assertGreater(turns, 1)
        self.pawl("prune", "live", "--keep", "1")
        hashes = {}
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                found = re.fullmatch(r"live@(\d+) ([0-9a-f]{64})\n", line)
                if found:
                    hashes[int(found[1])] = found[2]
        self.assertGreater(freed, 0)
        for sequence in self.listed("live"):
            state = self.pawl("restore", f"live@{sequence}").stdout
            if sequence in hashes:
                self.assertEqual(hashlib.sha256(state).hexdigest(), hashes[sequence])
        self.pawl("restore", "live@name:first")
        # The other run was not pruned, so every acknowledged save is there.
        others = os.path.join(self.folder, "others")
        with open(log, encoding="utf-8") as lines, open(others, "w", encoding="utf-8") as out:
            out.writelines(line for line in lines if line.startswith("other@") and line.endswith("\n"))
        subprocess.run([WRITER, "verify", self.store, others], check=True, stdout=subprocess.DEVNULL, timeout=120)
        self.pawl("fsck")

    def flip(self, *names, at=100):
        with open(os.path.join(self.store, "runs", *names), "r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 1]))

    def test_a_damaged_named_checkpoint_stays_and_the_others_are_pruned(self):
        self.fill("r", 20, 40_000, named=(9,))
        self.pawl("prune", "r", "--keep", "5")
        self.assertTrue(os.path.exists(os.path.join(self.store, "runs/r/checkpoints/kept_00009.json")))
        self.flip("r", "checkpoints/kept_00009.json", at=1000)
        for _ in range(10):
            self.save("r", 40_000)
        done = self.pawl("prune", "r", "--keep", "5")
        self.assertIn(b"removed", done.stdout)
        self.assertIn(b"checkpoint 9", done.stderr)
        self.assertIn(b"damaged", done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.store, "runs/r/checkpoints/kept_00009.json")))
        for sequence in range(26, 31):
            self.assertEqual(self.pawl("restore", f"r@{sequence}").stdout, self.saved["r"][sequence])
        self.pawl("restore", "r@25", status=2)
        found = self.pawl("fsck", status=4).stdout.decode()
        self.assertEqual(found.count("damage PAWL"), 1, found)
        self.assertIn("kept_00009.json", found)

    def test_a_damaged_checkpoint_that_the_limits_drop_is_removed(self):
        for number in range(1, 21):
            self.save("r", 40_000, "--stage", "a" if number <= 10 else "b")
        # The end of the stage "a" is kept on its own by a limit per stage.
        self.pawl("prune", "r", "--keep-per-stage", "1")
        self.assertEqual(self.listed("r"), [10, 20])
        self.flip("r", "checkpoints/kept_00010.json", at=1000)
        self.pawl("prune", "r", "--keep", "1")
        self.assertEqual(self.listed("r"), [20])
        self.assertFalse(os.path.exists(os.path.join(self.store, "runs/r/checkpoints/kept_00010.json")))
        self.assert_sound("r", [20])

    def test_doctor_names_a_run_that_cannot_be_pruned(self):
        for number in range(1, 8):
            self.pawl("save", "r", stdin=b'{"n":%d}' % number)
        self.pawl("save", "other", stdin=b'{"n":1}')
        self.pawl("fsck", "--repair")
        self.pawl("prune", "r", "--keep", "6")
        limit = {**self.environment(), "PAWL_CHECKPOINT_KEEP": "2"}

        def doctor():
            return subprocess.run([PROGRAM, "doctor"], cwd=self.folder, env=limit, capture_output=True, text=True, timeout=60).stdout

        self.assertNotIn("can't be pruned", doctor())
        self.flip("r", "checkpoints/kept_00002.jsonl")
        found = doctor()
        self.assertIn("pruning: run 'r' can't be pruned", found)
        self.assertNotIn("'other'", found)
        self.assertIn("checkpoint 3", self.pawl("prune", "r", "--keep", "2", status=4).stderr.decode())

    def test_what_was_set_aside_is_gone_after_a_prune(self):
        for number in range(1, 13):
            self.pawl("save", "a", stdin=b'{"n":"PRIVATE-%d-"}' % number)
        self.pawl("prune", "a", "--keep", "11")
        tail = os.path.join(self.store, "runs/a/checkpoints/kept_00002.jsonl")
        self.flip("a", "checkpoints/kept_00002.jsonl", at=os.path.getsize(tail) - 50)
        self.pawl("rollback", "a@9")
        for number in range(13, 16):
            self.pawl("save", "a", stdin=b'{"n":"PRIVATE-%d-"}' % number)
        self.pawl("prune", "a", "--keep", "1")
        found = set()
        for path in self.files():
            with open(path, "rb") as file:
                found |= set(re.findall(rb"PRIVATE-\d+-", file.read()))
        self.assertEqual(found, {b"PRIVATE-15-"})
        self.pawl("fsck")
        self.pawl("verify", "a")
        self.assertEqual(self.listed("a"), [max(self.listed("a"))])

    def test_the_audit_trail_of_a_pruned_run_shrinks_and_stays_verifiable(self):
        entries = 700
        for number in range(1, entries):
            self.pawl("save", "r", stdin=b'{"n":%d}' % number)
        listed = self.pawl("audit", "list", "r", "--json").stdout
        self.pawl("prune", "--keep", "1")
        audit = os.path.join(self.store, "runs", "r", "audit")
        trail = [name for name in os.listdir(audit) if name.startswith("audit_trail")]
        self.assertEqual(len(trail), 2, trail)
        self.assertLess(sum(os.path.getsize(os.path.join(audit, name)) for name in trail), 100 * entries)
        self.assertEqual(self.pawl("audit", "list", "r", "--json").stdout, listed)
        verify = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "verify_store.py")

        def sound():
            self.pawl("verify", "--all")
            self.pawl("fsck")
            return subprocess.run([sys.executable, verify, self.store], capture_output=True, text=True, timeout=120)

        self.assertEqual(sound().returncode, 0)
        self.save("r", 100)
        self.pawl("export", "r", "-o", "r.pawl")
        self.pawl("--store", "other", "import", "r.pawl")
        self.pawl("--store", "other", "verify", "--all")
        self.pawl("fsck", "--repair")
        self.assertEqual(sound().returncode, 0)
        # A changed byte is found by all three.
        [archive] = [os.path.join(audit, name) for name in trail if name.endswith(".gz")]
        with open(archive, "r+b") as file:
            file.seek(os.path.getsize(archive) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        self.assertIn(b"audit_trail_1-", self.pawl("verify", "r", status=4).stdout)
        self.assertIn(b"audit_trail_1-", self.pawl("fsck", "r", status=4).stdout)
        done = subprocess.run([sys.executable, verify, self.store], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 4)
        self.assertIn("audit_trail_1-", done.stdout)
        self.pawl("restore", "r")
        os.remove(archive)
        self.pawl("verify", "r", status=4)
        self.pawl("fsck", "r", status=4)

    def test_killed_at_any_moment_it_loses_nothing_that_is_kept(self):
        self.fill("r", 40, 60_000, named=(9, 18, 31))
        started = time.monotonic()
        self.pawl("prune", "--keep", "39")
        whole = max(time.monotonic() - started, 0.004)
        keep = 39
        for turn in range(KILLS):
            keep = max(2, keep - 1)
            process = subprocess.Popen([PROGRAM, "prune", "--keep", str(keep)], cwd=self.folder, env=self.environment(),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.started.append(process)
            time.sleep(self.dice.uniform(0, 2.5 * whole))
            process.kill()
            process.wait()
            if turn % 5 == 0:
                self.save("r", 60_000)
            there = self.listed("r")
            latest = max(self.saved["r"])
            expected = {9, 18, 31} | set(range(latest - 1, latest + 1))
            self.assertTrue(expected <= set(there), f"{expected} in {there}")
            if turn % 10 == 9:
                self.assert_sound("r")
        self.pawl("prune", "--keep", "1")
        self.assert_sound("r", [9, 18, 31, max(self.saved["r"])])
        left = os.listdir(os.path.join(self.store, "runs", "r", "checkpoints"))
        self.assertEqual([name for name in left if name.endswith(".tmp")], [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--kills", type=int, default=KILLS)
    arguments, rest = parser.parse_known_args()
    PROGRAM, WRITER, KILLS = os.path.abspath(arguments.program), os.path.abspath(arguments.writer), arguments.kills
    unittest.main(argv=[sys.argv[0], *rest])
