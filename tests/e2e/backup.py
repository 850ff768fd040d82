#!/usr/bin/env python3
"""Backups with the real program: beside writers, of every kind of run, hostile files, kill -9, and docs/backup.md as it is
printed."""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = None
SECRET_KEY = "9f" * 32

WORKFLOW = """
name: gated
steps:
  - id: before
    run: echo once >> ran.txt
  - id: gate
    approve: "Go on?"
  - id: after
    run: echo after >> ran.txt
"""


class Backup(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pawl-backup-"))
        self.store = self.folder / "store"
        self.env = {**os.environ, "PAWL_STORE": str(self.store), "NO_COLOR": "1", "PAWL_CHECKPOINT_KEEP": "all",
                    "XDG_CONFIG_HOME": str(self.folder / "xdg")}
        self.env.pop("PAWL_RUN", None)

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def pawl(self, *args, status=0, stdin=b"", env=None):
        done = subprocess.run([PROGRAM, *map(str, args)], cwd=self.folder, env={**self.env, **(env or {})}, input=stdin, capture_output=True,
                              timeout=120)
        self.assertEqual(done.returncode, status, f"pawl {' '.join(map(str, args))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done

    def save(self, run, state, *more, **kwargs):
        return json.loads(self.pawl("save", run, "--json", *more, stdin=json.dumps(state).encode(), **kwargs).stdout)["sequence"]

    def back_up(self, name="b.tar.zst", **kwargs):
        return json.loads(self.pawl("backup", "create", name, "--json", **kwargs).stdout)

    def restore(self, name="b.tar.zst", to="copy", **kwargs):
        return json.loads(self.pawl("backup", "restore", name, "--to", to, "--json", **kwargs).stdout)

    def all_of(self, store, env=None):
        """Every checkpoint of every run, and the list."""
        found = {}
        for run in json.loads(self.pawl("--store", store, "list", "--json", "--limit", "1000", env=env).stdout):
            if run["status"] == "erased":
                found[run["run"]] = "erased"
                continue
            rows = json.loads(self.pawl("--store", store, "show", run["run"], "--checkpoints", "--limit", "10000", "--json", env=env).stdout)
            found[run["run"]] = {row["sequence"]: self.pawl("--store", store, "restore", f"{run['run']}@{row['sequence']}", env=env).stdout
                                 for row in rows}
        return found

    def unpacked(self, name="b.tar.zst"):
        folder = self.folder / "unpacked"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        subprocess.run(["tar", "--zstd", "-xf", self.folder / name, "-C", folder], check=True)
        return folder

    # What a backup contains.

    def fill(self):
        for number in range(5):
            self.save("plain", {"n": number, "text": "x" * 300}, "--id", f"call-{number}")
        self.save("named", {"n": 1}, "--name", "first")
        self.save("blob", {"rows": [f"row {number:06}" for number in range(150_000)]})
        self.pawl("fork", "plain@3", "--run-id", "fork")
        self.save("fork", {"n": "own"})
        for number in range(8):
            self.save("pruned", {"n": number, "text": hashlib.sha256(str(number).encode()).hexdigest() * 40})
        self.pawl("prune", "pruned", "--keep", "2")
        self.save("gone", {"secret": "personal data of gone"})
        self.pawl("erase", "gone", "--reason", "a request")
        self.save("removed", {"secret": "personal data of removed"})
        self.pawl("rm", "removed", "--force", "--yes")
        (self.folder / "w.yaml").write_text(WORKFLOW)
        self.pawl("run", "w.yaml", "--run-id", "waits", status=3)
        self.pawl("step", "large", "--run", "script", "--", "seq", "1", "200000")

    def test_every_kind_of_run_comes_back(self):
        self.fill()
        before = self.all_of(self.store)
        made = self.back_up()
        self.assertEqual((made["runs"], made["erased"]), (8, 1))
        self.assertEqual(made["omitted"], [])
        restored = self.restore()
        self.assertEqual(restored["id"], made["id"])
        self.assertEqual(restored["damaged"], 0)
        copy = self.folder / "copy"
        self.assertEqual(self.all_of(copy), before)
        self.pawl("--store", copy, "fsck")
        self.pawl("--store", copy, "verify", "--all")
        subprocess.run([sys.executable, "-B", ROOT / "tools/verify_store.py", copy], check=True, capture_output=True)
        self.assertEqual(self.pawl("--store", copy, "restore", "gone", status=2).stderr.count(b"PAWL-0109"), 1)
        self.assertIn(b"removed", self.pawl("--store", copy, "list", "--removed").stdout)
        # A repeated save is answered, a new one gets the next number.
        again = json.loads(self.pawl("--store", copy, "save", "plain", "--id", "call-4", "--json",
                                     stdin=json.dumps({"n": 4, "text": "x" * 300}).encode()).stdout)
        self.assertEqual((again["sequence"], again["outcome"]), (5, "repeated")) if "outcome" in again else self.assertEqual(again["sequence"], 5)
        self.assertEqual(json.loads(self.pawl("--store", copy, "save", "plain", "--json", stdin=b"6").stdout)["sequence"], 6)
        # The waiting run continues, and its completed step does not run again.
        self.pawl("--store", copy, "approve", "waits")
        if json.loads(self.pawl("--store", copy, "show", "waits", "--json").stdout)["status"] != "completed":
            self.pawl("--store", copy, "resume", "waits")
        self.assertEqual((self.folder / "ran.txt").read_text().split(), ["once", "after"])
        self.assertEqual(self.pawl("--store", copy, "step", "large", "--run", "script", "--", "seq", "1", "200000").stdout,
                         subprocess.run(["seq", "1", "200000"], capture_output=True).stdout)

    def test_nothing_erased_or_pruned_is_in_the_file(self):
        self.fill()
        self.back_up()
        for path in self.unpacked().rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                self.assertNotIn(b"personal data", content, path)
                for number in range(6):
                    self.assertNotIn(hashlib.sha256(str(number).encode()).hexdigest().encode() * 2, content, path)

    def test_keys_in_other_forms_are_never_included(self):
        key = self.folder / "k"
        key.write_text("8fa1" + SECRET_KEY[4:])
        key.chmod(0o600)
        raw = bytes.fromhex(key.read_text())
        base64 = subprocess.run(["base64", "-w0"], input=raw, capture_output=True, check=True).stdout
        forms = {"lower": raw.hex().encode(), "upper": raw.hex().upper().encode(), "base64": base64, "raw": raw,
                 "line": b"export PAWL_KEY=" + base64 + b"\n", "middle": b"x" * 2_000_000 + raw.hex().encode() + b"y" * 2_000_000,
                 "url": base64.replace(b"+", b"-").replace(b"/", b"_")}
        self.pawl("init", "--encrypt", "--key-file", key)
        for known in (True, False):
            env = {"PAWL_KEY_FILE": str(key)} if known else {}
            self.save("a", {"n": 1}, env={"PAWL_KEY_FILE": str(key)})
            logs = self.store / "runs/a/logs"
            logs.mkdir(exist_ok=True)
            (self.store / "recovery").mkdir(exist_ok=True)
            places = {}
            for name, content in forms.items():
                if not known and name in ("raw", "middle"):
                    continue  # nothing says that these bytes are the key
                for path in (logs / f"{name}.1.log", logs / f"{name}.1.out", self.store / "recovery" / name):
                    path.write_bytes(content)
                    places[str(path.relative_to(self.store))] = path
            (self.store / "config.yaml").write_text(f"# {key.read_text()}\n")
            (logs / "fine.1.log").write_text("sum " + "0" * 64 + "\n")
            made = self.back_up(f"b-{known}", env=env)
            unpacked = self.unpacked(f"b-{known}")
            found = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
            self.assertEqual(found & (set(places) | {"config.yaml"}), set())
            self.assertEqual(set(made["omitted"]), set(places) | {"config.yaml"})
            self.assertIn("runs/a/logs/fine.1.log", found)
            shutil.rmtree(unpacked)
            for path in places.values():
                path.unlink()

    def test_not_into_the_store(self):
        self.save("a", {"n": 1})
        os.symlink(self.store / "runs", self.folder / "link")
        (self.folder / "named").symlink_to(self.store / "b.tar.zst")
        for name in (self.store / "runs/b.tar.zst", self.store / "b", self.folder / "link/b", self.folder / "named", "store/runs/a/b"):
            done = self.pawl("backup", "create", name, status=2)
            self.assertIn(b"choose a file outside of the store", done.stderr)
        self.pawl("backup", "create", self.folder / "b")
        self.assertEqual(sorted(path.name for path in (self.store / "runs").iterdir()), ["a"])

    def test_pruned_data_in_recovery(self):
        """A repair sets a damaged segment aside, which contains what is pruned afterwards."""
        for letter in "ABC":
            self.save("secret", {"v": f"MARK{letter}" * 8})
            self.save("other", {"v": letter})
        segment = self.store / "journal/1/00000001.log"
        content = bytearray(segment.read_bytes())
        content[content.rfind(b"other", 0, content.rfind(b'{"v":"C"}') - 200) + 120] ^= 4
        segment.write_bytes(content)
        self.pawl("fsck", "--repair")
        aside = list((self.store / "recovery").glob("journal-*"))
        self.assertEqual(len(aside), 1)
        (self.store / "recovery/mine.txt").write_text("secret notes of a person")
        done = self.pawl("prune", "secret", "--keep", "1")
        self.assertIn(aside[0].name.encode(), done.stderr)
        for path in self.store.rglob("*"):
            if path.is_file():
                for mark in (b"MARKA", b"MARKB"):
                    self.assertNotIn(mark, path.read_bytes(), path)
        self.assertTrue((self.store / "recovery/mine.txt").exists())
        self.pawl("fsck")

    def test_keys_are_never_included(self):
        key = self.store / "store.key"
        self.store.mkdir()
        key.write_text(SECRET_KEY + "\n")
        key.chmod(0o600)
        self.pawl("init", "--encrypt", "--key-file", key)
        signing = self.store / "signing.pem"
        signing.write_text("-----BEGIN PRIVATE KEY-----\nsigning\n")
        self.save("r", {"n": "sealed text"})
        self.save("r", {"n": "sealed text 2"})
        for place in ("recovery/my.key", "runs/r/logs/my.key", "runs/r/logs/step-x.out"):
            copy = self.store / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(f"  {SECRET_KEY}  \n" if place.endswith(".out") else SECRET_KEY)
        (self.store / "runs/r/logs/digest.out").write_text("0" * 64 + "\n")
        self.back_up()
        unpacked = self.unpacked()
        self.assertTrue((unpacked / "runs/r/logs/digest.out").exists())
        names = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
        self.assertNotIn("store.key", names)
        self.assertNotIn("signing.pem", names)
        for name in names:
            content = (unpacked / name).read_bytes()
            for secret in (SECRET_KEY.encode(), bytes.fromhex(SECRET_KEY), b"PRIVATE KEY", b"sealed text"):
                self.assertNotIn(secret, content, name)
        moved = self.folder / "elsewhere.key"
        key.rename(moved)
        env = {"PAWL_KEY_FILE": str(moved)}
        self.restore(env={})
        self.assertEqual(json.loads(self.pawl("--store", self.folder / "copy", "restore", "r", env=env).stdout), {"n": "sealed text 2"})
        self.pawl("--store", self.folder / "copy", "fsck", env=env)
        self.pawl("--store", self.folder / "copy", "save", "r", stdin=b"3", env=env)

    def test_beside_writers(self):
        """Several processes save, prune and erase; each backup has what was acknowledged before it started."""
        stop = threading.Event()
        acknowledged = {f"w{number}": {} for number in range(3)}
        errors = []

        def write(run):
            number = 0
            while not stop.is_set():
                number += 1
                state = {"n": number, "text": hashlib.sha256(f"{run}{number}".encode()).hexdigest() * (1 + number % 40)}
                done = subprocess.run([PROGRAM, "save", run, "--json"], env=self.env, input=json.dumps(state).encode(), capture_output=True)
                if done.returncode != 0:
                    errors.append(done.stderr)
                    return
                acknowledged[run][json.loads(done.stdout)["sequence"]] = json.dumps(state).encode()

        def tidy():
            number = 0
            while not stop.is_set():
                number += 1
                name = f"short{number}"
                subprocess.run([PROGRAM, "save", name], env=self.env, input=b'{"personal":1}', capture_output=True)
                subprocess.run([PROGRAM, "erase", name, "--reason", "x"], env=self.env, capture_output=True)
                subprocess.run([PROGRAM, "prune", "w0", "--keep", "5"], env=self.env, capture_output=True)

        self.save("still", {"n": 0})
        threads = [threading.Thread(target=write, args=(run,)) for run in acknowledged] + [threading.Thread(target=tidy)]
        for thread in threads:
            thread.start()
        try:
            for number in range(4):
                time.sleep(0.3)
                before = {run: dict(states) for run, states in acknowledged.items()}
                self.back_up(f"live{number}.tar.zst")
                restored = self.restore(f"live{number}.tar.zst", f"copy{number}")
                self.assertEqual(restored["damaged"], 0)
                copy = self.folder / f"copy{number}"
                found = self.all_of(copy)
                after = {run: dict(states) for run, states in acknowledged.items()}
                for run, states in before.items():
                    latest = max(found[run]) if run in found else 0
                    self.assertGreaterEqual(latest, max(states, default=0), run)
                    for sequence, state in after[run].items():
                        if sequence in found.get(run, {}):
                            self.assertEqual(found[run][sequence], state)
                        elif sequence <= latest:
                            self.assertEqual(run, "w0", "only w0 is pruned")
                self.pawl("--store", copy, "fsck")
                self.pawl("--store", copy, "verify", "--all")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(errors, [])

    # Files and folders that exist, and hostile files.

    def test_an_existing_file_and_a_folder_in_use_are_refused(self):
        self.save("r", {"n": 1})
        self.back_up()
        before = (self.folder / "b.tar.zst").read_bytes()
        self.assertIn(b"PAWL-0267", self.pawl("backup", "create", "b.tar.zst", status=4).stderr)
        self.assertEqual((self.folder / "b.tar.zst").read_bytes(), before)
        self.pawl("backup", "create", "b.tar.zst", "--force")
        (self.folder / "used").mkdir()
        (self.folder / "used/x").write_text("x")
        self.assertIn(b"PAWL-0268", self.pawl("backup", "restore", "b.tar.zst", "--to", "used", status=4).stderr)
        self.assertIn(b"PAWL-0268", self.pawl("backup", "restore", "b.tar.zst", "--to", "used/x", status=4).stderr)
        self.assertEqual(os.listdir(self.folder / "used"), ["x"])
        (self.folder / "empty").mkdir()
        self.pawl("backup", "restore", "b.tar.zst", "--to", "empty")
        self.pawl("backup", "restore", "b.tar.zst", "--to", "with/slash/", status=5)
        self.pawl("backup", "restore", "none.tar.zst", "--to", "c", status=2)
        self.pawl("--store", "nothing", "backup", "create", "x.tar.zst", status=2)
        self.assertFalse((self.folder / "x.tar.zst").exists())
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])

    def hostile(self, entries, totals=None):
        """Writes a backup as somebody else could: (name, type, content) of each entry, otherwise as `pawl` writes it."""
        def block(name, kind, size):
            header = bytearray(512)
            header[0:len(name[:100])] = name[:100].encode()
            header[100:124] = b"0000600\0" + b"0000000\0" * 2
            header[124:136] = b"%011o\0" % size
            header[136:148] = b"%011o\0" % 0
            header[148:156] = b" " * 8
            header[156:157] = kind
            header[257:265] = b"ustar\x0000"
            header[148:156] = b"%06o\0 " % sum(header)
            return bytes(header)

        sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, _, content in entries).encode()
        raw = b""
        for name, kind, content in [*entries, ("backup.sha256", b"0", sums)]:
            raw += block(name, kind, len(content)) + content + bytes(-len(content) % 512)
        raw += bytes(1024)
        body = subprocess.run(["zstd", "-q", "-c", f"--stream-size={len(raw)}"], input=raw, capture_output=True, check=True).stdout
        files, size = totals or (len(entries), sum(len(content) for _, _, content in entries))
        text = f"pawl backup/1 files {files:020} bytes {size:020}".ljust(79) + "\n"
        (self.folder / "evil.tar.zst").write_bytes(body + b"\x50\x2a\x4d\x18\x50\0\0\0" + text.encode())

    def refused(self, code=b"PAWL-0265"):
        done = self.pawl("backup", "restore", "evil.tar.zst", "--to", "copy", status=4)
        self.assertIn(code, done.stderr)
        self.assertFalse((self.folder / "copy").exists())
        self.assertFalse((self.folder / "outside").exists())
        self.assertFalse(os.path.exists("/tmp/pawl-outside"))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])
        return done.stderr.decode()

    ABOUT = ("backup.json", b"0",
             b'{"pawl":"backup/1","store":"238d9491-9855-4cdb-9d45-35ed7d92bc78","at":"2026-01-11T14:30:00.000000Z"}\n')

    def test_hostile_files_are_refused(self):
        for name in ("../outside", "/tmp/pawl-outside", "runs/../../outside", "runs/r/../../../outside", "runs/r/logs/../../../../outside",
                     "catalogue.db", "runs/r/lock", "evil.sh", "journal/2/00000001.log", "runs/.import/run.json", "", "runs/r", "store.json/x"):
            self.hostile([self.ABOUT, (name, b"0", b"escaped")])
            self.assertIn("not part of a store", self.refused(), name)
        for kind in b"123456gLKS":
            self.hostile([self.ABOUT, ("store.json", bytes([kind]), b"")])
            self.assertIn("do not have", self.refused())
        self.hostile([("store.json", b"0", b"x")])
        self.assertIn("not the first entry", self.refused())
        self.hostile([self.ABOUT, ("store.json", b"0", b"x"), ("store.json", b"0", b"y")])
        self.assertIn("twice", self.refused())
        self.hostile([self.ABOUT, ("store.json", b"0", b"x")], totals=(2, 9000))
        self.assertIn("less than it says", self.refused())
        self.hostile([self.ABOUT])
        self.refused(b"PAWL-")

    def test_a_bomb_is_refused_before_anything_is_written(self):
        for size in (1 << 60, 100 << 30):
            self.hostile([self.ABOUT], totals=(1, size))
            self.refused(b"PAWL-0266")
        # One that lies about its size: many zeros.
        self.hostile([self.ABOUT, ("store.json", b"0", bytes(300 << 20))], totals=(2, 1000))
        self.refused()

    def test_killed_at_any_moment(self):
        for number in range(30):
            self.save(f"r{number % 5}", {"n": number, "text": "y" * 20_000})
        for number in range(15):
            process = subprocess.Popen([PROGRAM, "backup", "create", "k.tar.zst", "--force"], cwd=self.folder, env=self.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.Random(number).random() * 0.05)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if (self.folder / "k.tar.zst").exists():
                target = f"k{number}"
                process = subprocess.Popen([PROGRAM, "backup", "restore", "k.tar.zst", "--to", target], cwd=self.folder, env=self.env,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(random.Random(number).random() * 0.08)
                process.send_signal(signal.SIGKILL)
                process.wait()
                if not (self.folder / target).exists():
                    self.restore("k.tar.zst", target)
                self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(f".{target}.")], [])
                self.pawl("--store", target, "fsck")
                self.assertEqual(len(self.all_of(self.folder / target)), 5)
                shutil.rmtree(self.folder / target)
        self.pawl("backup", "create", "k.tar.zst", "--force")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".k.tar.zst")], [])

    # The page.

    # Where results go, and what is left out.

    def test_only_regular_files_are_replaced_and_links_are_followed(self):
        self.save("r", {"n": 1})
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        done = self.pawl("backup", "create", "pipe", "--force", status=2)
        self.assertIn(b"not a regular file", done.stderr)
        self.assertTrue(pipe.is_fifo())
        for command in (["export", "r", "-o", "pipe"], ["audit", "report", "r", "-o", "pipe"], ["restore", "r", "-o", "pipe"]):
            read = []
            reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
            reader.start()
            self.pawl(*command)
            reader.join(timeout=10)
            self.assertTrue(read and read[0], command)
            self.assertTrue(pipe.is_fifo(), command)
        (self.folder / "other").mkdir()
        for command in (["backup", "create", "link", "--force"], ["export", "r", "-o", "link"], ["audit", "report", "r", "-o", "link"]):
            link, target = self.folder / "link", self.folder / "other" / "target"
            link.unlink(missing_ok=True)
            link.symlink_to("other/target")
            target.write_text("old")
            self.pawl(*command)
            self.assertTrue(link.is_symlink(), command)
            self.assertNotEqual(target.read_bytes(), b"old", command)
            self.assertEqual([entry.name for entry in target.parent.iterdir()], ["target"], command)

    def test_others_save_while_an_export_is_read(self):
        for number in range(3):
            self.save("r", {"n": number, "text": os.urandom(100_000).hex()})
        os.mkfifo(self.folder / "pipe")
        process = subprocess.Popen([PROGRAM, "export", "r", "-o", "pipe"], cwd=self.folder, env=self.env, stdout=subprocess.DEVNULL)
        with open(self.folder / "pipe", "rb") as pipe:
            content = pipe.read(1000)
            self.save("r", {"n": 3})
            content += pipe.read()
        self.assertEqual(process.wait(60), 0)
        (self.folder / "r.pawl").write_bytes(content)
        self.pawl("--store", "other", "import", "r.pawl")
        self.assertEqual(json.loads(self.pawl("--store", "other", "restore", "r").stdout)["n"], 2)
        self.assertEqual(json.loads(self.pawl("restore", "r").stdout)["n"], 3)
        self.pawl("fsck")

    def test_nothing_is_restored_into_a_store(self):
        self.save("r", {})
        self.back_up()
        for inside in (self.store / "sub", self.store / "runs" / "sub"):
            refused = self.pawl("backup", "restore", "b.tar.zst", "--to", inside, status=2)
            self.assertIn(b"can't be restored into the folder of a store", refused.stderr)
            self.assertFalse(inside.exists())
        (self.folder / "store.json").write_text("{}")  # not one of Pawl
        self.restore(to="beside")
        self.pawl("fsck")

    def test_a_backup_and_what_is_restored_are_private(self):
        self.save("r", {"n": 1})
        before = os.umask(0o022)
        try:
            self.back_up()
            self.restore()
        finally:
            os.umask(before)
        self.assertEqual((self.folder / "b.tar.zst").stat().st_mode & 0o777, 0o600)
        copy = self.folder / "copy"
        for path in [copy, *copy.rglob("*")]:
            self.assertEqual(path.stat().st_mode & 0o777, 0o700 if path.is_dir() else 0o600, path)

    def test_a_signal_leaves_nothing(self):
        self.save("r", {"n": 1})
        logs = self.store / "runs" / "r" / "logs"
        logs.mkdir(exist_ok=True)
        with open(logs / "large.log", "wb") as file:
            for at in range(0, 4 << 30, 32 << 20):  # no hole that would be refused
                file.seek(at)
                file.write(b"x")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = subprocess.Popen([PROGRAM, "backup", "create", "b.tar.zst"], cwd=self.folder, env=self.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = time.monotonic() + 30
            while not list(self.folder.glob(".b.tar.zst.backup-*")) and time.monotonic() < end:
                time.sleep(0.005)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=30), -number)
            self.assertEqual([entry.name for entry in self.folder.iterdir() if "b.tar.zst" in entry.name], [])

    def test_an_older_format_is_copied_as_it_is(self):
        golden = ROOT / "tests" / "golden" / "format_1"
        for found in sorted(golden.rglob("store.json"))[:3]:
            shutil.rmtree(self.store, ignore_errors=True)
            shutil.copytree(found.parent, self.store)
            before = (self.store / "store.json").read_bytes()
            self.pawl("backup", "create", "b.tar.zst", "--force")
            self.assertEqual((self.store / "store.json").read_bytes(), before)
            self.assertEqual((self.unpacked() / "store.json").read_bytes(), before)

    def test_damage_is_named_and_the_rest_is_copied(self):
        for run in ("a", "gone", "linked"):
            self.save(run, {"run": run})
            self.save(run, {"run": run, "n": 2})
        self.pawl("prune", "a", "--keep", "1")  # settles the journals
        (self.store / "runs" / "gone" / "run.json").unlink()
        (self.store / "runs" / "linked").rename(self.folder / "elsewhere")
        (self.store / "runs" / "linked").symlink_to(self.folder / "elsewhere")
        (self.store / "runs" / "a" / "blobs").write_text("not a folder")
        done = self.pawl("backup", "create", "b.tar.zst", "--json", status=4)
        document = json.loads(done.stdout)
        self.assertEqual([row["file"] for row in document["damage"]], ["runs/a/blobs", "runs/gone", "runs/linked"])
        self.assertEqual(document["runs"], 1)
        self.pawl("backup", "restore", "b.tar.zst", "--to", "copy", status=4)
        self.assertEqual(json.loads(self.pawl("--store", "copy", "restore", "a").stdout), {"run": "a", "n": 2})

    def test_a_run_that_a_process_holds_has_no_pruned_states_in_it(self):
        script = self.folder / "hold.yaml"
        script.write_text("name: held\nsteps:\n" + "".join(f"  - {{id: s{i}, run: 'echo secret-{i}-end'}}\n" for i in range(8)) +
                          "  - {id: wait, run: 'touch ready; while ! test -e stop; do sleep 0.05; done'}\n")
        process = subprocess.Popen([PROGRAM, "run", "hold.yaml", "--run-id", "held"], cwd=self.folder, env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 30
            while not (self.folder / "ready").exists() and time.monotonic() < end:
                time.sleep(0.02)
            done = self.pawl("prune", "held", "--keep", "1")
            self.assertIn(b"has the run open", done.stderr)
            kept = set(self.all_of(self.store)["held"])
            self.back_up()
            self.restore()
            self.assertEqual(set(self.all_of("copy")["held"]), kept)
        finally:
            (self.folder / "stop").touch()
            self.assertEqual(process.wait(timeout=30), 0)
        self.pawl("fsck")

    def test_verify_checks_without_writing(self):
        self.save("r", {"n": 1})
        self.save("s", {"n": 1})
        self.pawl("erase", "s", "--reason", "x", "--yes")
        written = self.back_up()
        before = sorted(path.name for path in self.folder.iterdir())
        checked = json.loads(self.pawl("backup", "verify", "b.tar.zst", "--json").stdout)
        for member in ("id", "at", "runs", "erased", "files", "content_bytes"):
            self.assertEqual(checked[member], written[member], member)
        self.assertIn(b"b.tar.zst: ok, 2 runs (1 erased), ", self.pawl("backup", "verify", "b.tar.zst").stdout)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
        restored = self.restore()
        counts = {(written["runs"], written["erased"]), (restored["runs"], restored["erased"])}
        fsck = json.loads(self.pawl("fsck", "--json").stdout)
        total = json.loads(self.pawl("stats", "--json").stdout)["total"]
        counts |= {(fsck["runs"], fsck["erased"]), (total["runs"], total["erased"])}
        self.assertEqual(counts, {(2, 1)})
        self.assertIn(b"2 runs (1 erased)", self.pawl("doctor").stdout)
        content = bytearray((self.folder / "b.tar.zst").read_bytes())
        for at in range(0, len(content), max(1, len(content) // 40)):
            damaged = bytearray(content)
            damaged[at] ^= 1
            (self.folder / "bad").write_bytes(damaged)
            # A few bits of a compressed file have no meaning.
            content_of = [subprocess.run(["zstd", "-dcq", self.folder / name], capture_output=True).stdout for name in ("bad", "b.tar.zst")]
            if content_of[0] == content_of[1]:
                continue
            self.assertIn(b"PAWL-", self.pawl("backup", "verify", "bad", status=4).stderr, at)
        self.pawl("backup", "verify", "missing", status=2)

    def test_the_page_as_it_is_printed(self):
        page = (ROOT / "docs/backup.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 7)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "pawl").symlink_to(Path(PROGRAM).resolve())
        work = self.folder / "work"
        work.mkdir()
        env = {**self.env, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
        env.pop("PAWL_STORE")
        setup = "for n in 1 2 3; do echo \"{\\\"n\\\": $n}\" | pawl save nightly; done\n"
        for script in [setup, *blocks]:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=work, env=env, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")
        for store in ("look", "restored", "broken", "moved", "copied", "untarred/.pawl"):
            done = subprocess.run([PROGRAM, "--store", store, "restore", "nightly"], cwd=work, env=env, capture_output=True)
            self.assertEqual(json.loads(done.stdout), {"n": 3}, store)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
