#!/usr/bin/env python3
"""Tests what `pawl fsck --repair` may and must not do: it restores what can be derived, never hides a loss, creates no
damage, and does not disturb processes that are using the store.

  repairs.py PAWL [name of a test]...
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import time
import uuid

from damage_confined import Journal, listed, save, store
from workflow_case import equal, holds, run_tests

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Helpers.

def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def verified(case, status=0, aside=False):
    """Both verifiers agree, except about checkpoints that were set aside, which tools/verify_store.py does not know."""
    case.pawl("verify", "--all", status=status)
    if aside:
        return
    done = subprocess.run([sys.executable, "-B", os.path.join(REPOSITORY, "tools/verify_store.py"), case.env["PAWL_STORE"]],
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == (status == 0), f"verify_store.py exited with {done.returncode}\n{done.stdout}{done.stderr}"


def repaired(case, *words):
    """The damage is reported as one that can be repaired, the repair succeeds, and nothing is left of it."""
    holds(case.pawl("fsck", status=4).stdout, *words)
    verified(case, status=4)
    holds(case.pawl("fsck", "--repair", status=0).stdout, *words)
    case.pawl("fsck", status=0)
    verified(case)


def saved(case, run, numbers, **options):
    for number in numbers:
        save(case, run, number, status=0, **options)


def sealed(case, run, text):
    """The text with the checksum that files of the run have."""
    def crc(data, seed=0):
        value = seed ^ 0xffffffff
        for byte in data:
            value ^= byte
            for _ in range(8):
                value = (value >> 1) ^ (0x82f63b78 if value & 1 else 0)
        return value ^ 0xffffffff
    with open(store(case, "runs", run, "run.json")) as file:
        seed = crc(uuid.UUID(json.load(file)["uuid"]).bytes)
    return text.encode() + b',"crc":"%08x"}\n' % crc(text.encode(), seed)


# Lists of checkpoints.

TIME = "2026-01-11T14:30:02.000002Z"
FORK = "4247e814-fd78-453a-ade3-a3b3d6a8cb55"
IMPOSSIBLE = 18446744073709551615


def a_list_with_an_impossible_number_stops_only_its_run(case):
    """Such a file hung every command that looks at all runs."""
    def aside(last):
        return f'{{"pawl":1,"aside":[{{"at":"{TIME}","from":4,"to":{last},"back_to":3,"why":"x"}}]'

    def pruned(dropped, more=""):
        return f'{{"pawl":1,"at":"{TIME}","dropped":"{dropped}","closed":"{dropped}","kept":[]{more},"callers":0'

    saved(case, "a", range(1, 4))
    saved(case, "b", range(1, 4))
    shutil.copytree(store(case), os.path.join(case.folder, "sound"))
    for number in (2 ** 53 - 1, 2 ** 63, IMPOSSIBLE - 1, IMPOSSIBLE):
        lists = {"checkpoints/aside.json": aside(number)}
        if number >= 2 ** 53:
            lists["checkpoints/pruned.json"] = pruned(f"1-{number}")
            lists[f"forks/{FORK}.json"] = f'{{"pawl":1,"fork":"f","uuid":"{FORK}","at":{number}'
        for name, text in lists.items():
            shutil.rmtree(store(case))
            shutil.copytree(os.path.join(case.folder, "sound"), store(case))
            os.makedirs(store(case, "runs", "b", os.path.dirname(name)), exist_ok=True)
            write(store(case, "runs", "b", name), sealed(case, "b", text))
            timeout = {"timeout": 20}
            found = case.pawl("fsck", status=4, **timeout)
            holds(found.stdout, f"runs/b/{name}")
            assert "runs/a/" not in found.stdout, found.stdout
            case.pawl("list", status=0, **timeout)
            case.pawl("fsck", "--repair", status=4, **timeout)
            case.pawl("verify", "--all", **timeout)
            case.pawl("backup", "create", "--force", os.path.join(case.folder, "backup"), **timeout)
            case.pawl("prune", "--keep", "1", status=4, **timeout)
            case.pawl("restore", "a", status=0, **timeout)
            save(case, "a", 4, status=0, **timeout)
            case.pawl("restore", "b", **timeout)
            save(case, "b", 4, **timeout)


def an_impossible_number_that_a_list_may_still_name_costs_nothing(case):
    saved(case, "a", range(1, 4))
    highest = 2 ** 53 - 2
    write(store(case, "runs/a/checkpoints/aside.json"),
          sealed(case, "a", f'{{"pawl":1,"aside":[{{"at":"{TIME}","from":4,"to":{highest},"back_to":3,"why":"x"}}]'))
    case.pawl("fsck", timeout=20)
    holds(save(case, "a", 4, status=0, timeout=20).stdout, f"a@{highest + 1}")
    equal(save(case, "a", 5, status=4, timeout=20).stdout, "")
    equal(case.state("a")["n"], 4)
    for command in ("list", "fsck", "verify --all", "prune --keep 1", "fsck --repair"):
        case.pawl(*command.split(), timeout=20)


def a_damaged_list_of_what_was_set_aside_is_named(case):
    saved(case, "a", range(1, 3))
    write(store(case, "runs/a/checkpoints/aside.json"), b'{"pawl":1,"aside":[')
    found = case.pawl("fsck", status=4).stdout
    holds(found, "runs/a/checkpoints/aside.json")
    assert "pruned.json" not in found, found


def a_lock_that_cannot_be_opened_is_named(case):
    saved(case, "a", range(1, 3))
    saved(case, "b", range(1, 3))
    for name in ("runs/a/lock", "catalogue.lock", "journal/1/owner"):
        path = store(case, name)
        moved = os.path.join(case.folder, "moved")
        if os.path.exists(path):
            shutil.move(path, moved)
        for make in (os.mkdir, os.mkfifo):
            make(path)
            found = case.pawl("fsck", status=4, timeout=20).stdout
            holds(found, name, "move it out of the store")
            case.pawl("fsck", "--repair", timeout=20)
            os.rmdir(path) if os.path.isdir(path) else os.remove(path)
        if os.path.exists(moved):
            shutil.move(moved, path)
        case.pawl("fsck", status=0)
    os.remove(store(case, "runs/a/lock"))
    os.mkdir(store(case, "runs/a/lock"))
    save(case, "a", 3, status=4)
    holds(case.pawl("fsck", "a", status=4).stdout, "runs/a/lock")
    # The advice works as it is.
    shutil.move(store(case, "runs/a/lock"), os.path.join(case.folder, "lock"))
    save(case, "a", 3, status=0)
    case.pawl("fsck", status=0)


def every_damage_comes_with_advice(case):
    saved(case, "a", range(1, 3))
    case.pawl("save", "b", stdin='{"n":1}', status=0)
    shutil.copytree(store(case), os.path.join(case.folder, "sound"))
    events = [f"runs/a/events/{name}" for name in os.listdir(store(case, "runs/a/events"))] if os.path.isdir(store(case, "runs/a/events")) else []
    for name in ["runs/a/run.json", "runs/a/audit/audit_trail.jsonl", "runs/a/audit/merkle_roots.json", *events]:
        for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/null", path)):
            shutil.rmtree(store(case))
            shutil.copytree(os.path.join(case.folder, "sound"), store(case))
            if os.path.exists(store(case, name)):
                os.remove(store(case, name))
            make(store(case, name))
            lines = case.pawl("fsck", timeout=20).stdout.split("\n")
            for number, line in enumerate(lines):
                if line.startswith("damage"):
                    assert lines[number + 1].startswith("  "), f"no advice for {name}:\n" + "\n".join(lines)


# Merkle roots.

def damaged_roots(case, path):
    """Each kind of damage in turn. The file is what it was before each of them."""
    good = read(path)
    middle = len(good) // 2
    for content in (None, b"", good[:1], good[:middle], good[:-1], good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:], good + b"x"):
        if content is None:
            os.remove(path)
        else:
            write(path, content)
        yield
        equal(read(path), good)


def missing_or_damaged_roots_are_written_again(case):
    saved(case, "a", [1, 2, 3])
    saved(case, "b", [1])
    case.pawl("fsck", "--repair", status=0)
    for _ in damaged_roots(case, store(case, "runs/a/audit/merkle_roots.json")):
        repaired(case, "runs/a/audit/merkle_roots.json")
    saved(case, "a", [4])
    verified(case)


def roots_are_missed_although_a_journal_still_has_the_entries(case):
    """The writer published them with their roots when it exited."""
    saved(case, "a", [1, 2, 3])
    os.remove(store(case, "runs/a/audit/merkle_roots.json"))
    repaired(case, "runs/a/audit/merkle_roots.json", "the file is missing")


def roots_of_an_erased_run_are_written_again(case):
    saved(case, "a", [1, 2])
    saved(case, "gone", [1, 2])
    case.pawl("erase", "gone", "--yes", "--reason", "test", status=0)
    for _ in damaged_roots(case, store(case, "runs/gone/audit/merkle_roots.json")):
        holds(case.pawl("fsck", status=4).stdout, "runs/gone/audit/merkle_roots.json")
        case.pawl("fsck", "--repair", status=0)
        case.pawl("fsck", status=0)
        verified(case)


def roots_are_not_written_for_a_shorter_trail(case):
    """They would hide that entries are missing."""
    saved(case, "a", [1, 2, 3])
    case.pawl("fsck", "--repair", status=0)
    trail = store(case, "runs/a/audit/audit_trail.jsonl")
    write(trail, b"".join(read(trail).splitlines(keepends=True)[:-1]))
    for remove in (False, True):
        if remove:
            os.remove(store(case, "runs/a/audit/merkle_roots.json"))
        case.pawl("fsck", status=4)
        case.pawl("fsck", "--repair", status=4)
        case.pawl("fsck", "--repair", status=4)
        verified(case, status=4)
    assert not os.path.exists(store(case, "runs/a/audit/merkle_roots.json"))


def a_trail_that_differs_from_its_roots_is_found(case):
    saved(case, "a", [1, 2])
    case.pawl("fsck", "--repair", status=0)
    shutil.copytree(store(case, "runs/a/audit"), case.folder + "/before")
    saved(case, "a", [3])
    case.pawl("fsck", "--repair", status=0)
    shutil.copy(case.folder + "/before/audit_trail.jsonl", store(case, "runs/a/audit"))
    holds(case.pawl("fsck", status=4).stdout, "ends at entry 3, but the roots cover 4")
    case.pawl("fsck", "--repair", status=4)


# Erased runs.

def a_lost_entry_of_an_erased_run_stays_lost(case):
    """The entry about the erasure is not written in its place."""
    saved(case, "gone", [1, 2])
    case.pawl("erase", "gone", "--yes", "--reason", "test", status=0)
    trail = store(case, "runs/gone/audit/audit_trail.jsonl")
    whole = read(trail)
    lines = whole.splitlines(keepends=True)
    equal(len(lines), 4)
    for kept in range(3):
        for part in (0, 100):
            damaged = b"".join(lines[:kept]) + lines[kept][:part]
            write(trail, damaged)
            case.pawl("fsck", status=4)
            for _ in range(2):
                done = case.pawl("fsck", "--repair", status=4)
                assert "repaired" not in done.stdout and "mended" not in done.stdout, done.stdout
                equal(read(trail), damaged)
            verified(case, status=4)
    write(trail, b"".join(lines[:2] + lines[3:]))
    case.pawl("fsck", "--repair", status=4)
    write(trail, whole)
    case.pawl("fsck", status=0)


def the_entry_about_an_erasure_is_written_again(case):
    """It can be derived from erased.json, and the roots prove that nothing else is missing."""
    saved(case, "gone", [1, 2])
    case.pawl("erase", "gone", "--yes", "--reason", "test", status=0)
    trail = store(case, "runs/gone/audit/audit_trail.jsonl")
    whole = read(trail)
    for size in (len(whole) - 1, len(whole) - 100, sum(map(len, whole.splitlines(keepends=True)[:3]))):
        write(trail, whole[:size])
        case.pawl("fsck", status=4)
        case.pawl("fsck", "--repair", status=0)
        equal(read(trail), whole)
        case.pawl("fsck", status=0)
        verified(case)


# Damaged batches.

class Saved:
    """The files of a store. They are put back in place: a copied journal would not count as the original."""

    def __init__(self, case):
        self.folder = case.env["PAWL_STORE"]
        self.files = {path: read(path) for path in self.paths()}

    def paths(self):
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.folder) for name in names]

    def put_back(self):
        for path in self.paths():
            if path not in self.files:
                os.remove(path)
        for path, content in self.files.items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, content)


def records_of(journal, batch):
    """The offsets of the records of a batch."""
    at, _ = journal.batches()[batch]
    found, end = [], at + 64 + struct.unpack_from("<I", journal.bytes, at + 8)[0]
    at += 64
    while at < end:
        found.append(at)
        at += 64 + struct.unpack_from("<I", journal.bytes, at + 60)[0]
        at += 4 + struct.unpack_from("<I", journal.bytes, at)[0]
    return found


def damaged_batch(case):
    """A run with six checkpoints in files and two in a journal, each in a batch of its own."""
    saved(case, "beta", range(1, 7))
    case.pawl("fsck", "--repair", status=0)
    saved(case, "alpha", [1])
    files = store(case, "runs")
    shutil.copytree(files, case.folder + "/before")
    saved(case, "beta", [7, 8])


def flipped_headers(case, offsets):
    """Damages each of these bytes in the headers of the records that checkpoint 7 consists of."""
    before = Saved(case)
    slots = (int(name[:8]) for name in sorted(os.listdir(store(case, "journal/1"))) if name.endswith(".log"))
    slot = next(slot for slot in slots if Journal(case, slot=slot).batches())
    equal(len(Journal(case, slot=slot).batches()), 3)
    records = records_of(Journal(case, slot=slot), 1)
    equal(len(records), 2)
    for record in records:
        for offset in offsets:
            before.put_back()
            journal = Journal(case, slot=slot)
            journal.bytes[record + offset] ^= 1 << offset % 8
            journal.write()
            yield f"byte {offset} of the record at {record}"


def continues(case, what, aside=False):
    """After a repair, the store is consistent, and the run continues."""
    try:
        case.pawl("fsck", "--repair", status=0)
        case.pawl("fsck", status=0)
        verified(case, aside=aside)
        equal(case.state("alpha"), {"run": "alpha", "n": 1})
        saved(case, "beta", [9])
        equal(case.state("beta"), {"run": "beta", "n": 9})
        case.pawl("fsck", status=0)
        verified(case, aside=aside)
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}")


def a_published_batch_with_a_damaged_header_loses_nothing(case):
    damaged_batch(case)
    for what in flipped_headers(case, [0, 1, 4, 12, 20, 28, 36, 37, 60, 64]):
        for repair in (False, True):
            for number in (7, 8):
                equal(json.loads(case.pawl("restore", f"beta@{number}", status=0).stdout)["n"], number)
            equal(case.state("beta")["n"], 8)
            if not repair:
                holds(case.pawl("fsck", status=4).stdout, "nothing is lost")
                case.pawl("fsck", "--repair", status=0)
        continues(case, what)


def damaged_headers_are_not_trusted(case):
    """The journal has the only copy of the batch. What can't be read for certain is reported as lost."""
    damaged_batch(case)
    shutil.rmtree(store(case, "runs/beta"))
    shutil.copytree(case.folder + "/before/beta", store(case, "runs/beta"))
    with open(store(case, "journal/1/owner"), "r+b") as file:
        file.seek(576)
        file.write(bytes(64))
    kept = tried = 0
    for what in flipped_headers(case, range(0, 68, 1 if os.environ.get("PAWL_FLIPS") == "all" else 3)):
        case.pawl("fsck", status=4)
        first = case.pawl("fsck", "--repair")
        lost = first.returncode == 4
        assert lost or first.returncode == 0, f"{what}: {first}"
        number = case.state("beta")["n"]
        assert number == 8 or (lost and number == 6), f"{what}: the newest state is {number}"
        assert ("lost" in first.stdout) == lost, f"{what}: {first.stdout}"
        kept += not lost
        tried += 1
        continues(case, what, aside=lost)
    assert kept > tried / 4, f"only {kept} of {tried} batches could be used"  # many bytes of a header are not needed


# The catalogue.

def a_repair_that_is_killed_does_not_hide_what_is_lost(case):
    """Whenever it is killed, the next one reports the loss, or the audit trail has recorded it."""
    damaged_batch(case)
    shutil.rmtree(store(case, "runs/beta"))
    shutil.copytree(case.folder + "/before/beta", store(case, "runs/beta"))
    journal = Journal(case, slot=next(int(name[:8]) for name in sorted(os.listdir(store(case, "journal/1"))) if name.endswith(".log")))
    at, size = journal.batches()[1]
    for place in range(at, at + size, 100):
        journal.bytes[place] ^= 255
    journal.write(published=False)
    before, killed, told = Saved(case), 0, 0
    for call in ("pwrite64", "renameat", "fdatasync"):
        for when in range(1, 200, 5):
            before.put_back()
            command = ["strace", "-f", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={when}", case.program, "fsck", "--repair"]
            done = subprocess.run(command, cwd=case.folder, env=case.env, capture_output=True, timeout=60)
            if done.returncode == 4:
                break
            again = case.pawl("fsck", "--repair")
            recorded = "checkpoints_set_aside" in case.pawl("audit", "list", "beta", status=0).stdout
            assert recorded, f"{call} {when}: {again.stdout}"
            case.pawl("fsck", status=0)
            killed += 1
            told += again.returncode == 4
    assert killed > 5 and told > killed / 2, (killed, told)


def a_damaged_catalogue_is_rebuilt(case):
    """Also while the journals contain saves that it does not list yet: publishing them changes the damaged page."""
    for number in (1, 2, 3):
        for run in "ab":
            case.pawl("save", run, "--id", f"{run}{number}", stdin=json.dumps({"n": number}), status=0)
    case.pawl("fsck", "--repair", status=0)
    case.pawl("save", "a", "--id", "new", stdin='{"n": 4}', status=0)
    before = Saved(case)
    catalogue = store(case, "catalogue.db")
    size = os.path.getsize(catalogue)
    for at in (size - 2, size - 2000, size - 4096 - 2, 5000):
        for commands in ([], [["prune", "a", "--keep", "1"]], [["erase", "b", "--yes", "--reason", "test"]], [["list"]]):
            before.put_back()
            content = bytearray(before.files[catalogue])
            content[at] ^= 4
            write(catalogue, content)
            for command in commands:
                case.pawl(*command, status=0)
            if not commands:
                found = case.pawl("fsck", status=4).stdout
                holds(found, "mendable", "catalogue.db")
                assert "\\x0a" not in found and "Page " not in found and "code=" not in found, found
            case.pawl("fsck", "--repair", status=0)
            case.pawl("fsck", status=0)
            assert "repeated" in case.pawl("save", "a", "--id", "new", "--json", stdin='{"n": 4}', status=0).stdout
            rows = {row["run"]: row["latest"] for row in json.loads(case.pawl("list", "--json", status=0).stdout)}
            equal(rows["a"], 4)


def an_interrupted_import_is_not_damage(case):
    """Killed before each write and rename of the import: the store is intact, and the catalogue is rebuilt on demand."""
    saved(case, "arrives", range(1, 4))
    exported = os.path.join(case.folder, "arrives.pawl")
    case.pawl("export", "arrives", "--output", exported, status=0)
    shutil.rmtree(case.env["PAWL_STORE"])
    saved(case, "a", [1, 2])
    case.pawl("fsck", "--repair", status=0)
    before = Saved(case)
    noted = 0
    for call in ("pwrite64", "renameat", "fsync,fdatasync", "unlink,unlinkat"):
        for when in range(1, 200):
            before.put_back()
            shutil.rmtree(store(case, "runs/arrives"), ignore_errors=True)
            done = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={when}",
                                   case.program, "import", exported], cwd=case.folder, env=case.env, capture_output=True, timeout=60)
            found = case.pawl("fsck", status=0).stdout
            noted += "the next command that needs the catalogue rebuilds it" in found
            rows = {row["run"] for row in json.loads(case.pawl("list", "--json", status=0).stdout)}
            assert {"a"} <= rows <= {"a", "arrives"}, rows
            equal("arrives" in rows, os.path.exists(store(case, "runs/arrives/run.json")))
            if done.returncode == 0:
                break
        assert when < 199, call
    assert noted > 0, "no kill hit the time in which the catalogue is suspended"
    # An empty catalogue is not a suspended one.
    write(store(case, "catalogue.db"), b"")
    holds(case.pawl("fsck", status=4).stdout, "mendable", "catalogue.db")


def delayed(case, call, path, when, *args):
    """Starts a command that waits for a second before its n-th call of this kind with this path."""
    paths = ["-P", path] if path else []
    case.started.append(subprocess.Popen(
        ["strace", "-f", "-o", "/dev/null", *paths, "-e", f"trace={call}", "-e", f"inject={call}:delay_enter=1000000:when={when}", case.program, *args],
        cwd=case.folder, env=case.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return case.started[-1]


def succeeds(process):
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, f"{process.args} exited with {process.returncode}\n{out}{errors}"


def the_catalogue_is_never_missing(case):
    for number in (1, 2, 3):
        case.pawl("save", "a", "--id", f"a{number}", stdin=json.dumps({"n": number}), status=0)
    case.pawl("fsck", "--repair", status=0)
    case.write("state", "{}")
    for when in (1, 2, 3):
        repair = delayed(case, "renameat", "catalogue.db.tmp", 1, "fsck", "--repair")
        time.sleep(0.5)
        assert os.path.exists(store(case, "catalogue.db"))
        case.pawl("list", status=0)
        succeeds(repair)
        writer = delayed(case, "openat", "catalogue.db", when, "save", "a", "--id", f"new{when}", "--state", "state")
        time.sleep(0.5)
        case.pawl("fsck", "--repair", status=0)
        succeeds(writer)


# Temporary files.

def temporary_files(case):
    return sorted(os.path.relpath(os.path.join(folder, name), case.env["PAWL_STORE"])
                  for folder, _, names in os.walk(case.env["PAWL_STORE"]) for name in names if name.endswith(".tmp"))


def leftovers_of_killed_processes_are_removed(case):
    case.pawl("init", status=0)
    saved(case, "a", [1])
    saved(case, "gone", [1])
    case.pawl("erase", "gone", "--yes", "--reason", "test", status=0)
    names = ["store.json", "journal/1/00000009.log", "runs/a/run.json", "runs/a/key.json", "runs/a/checkpoints/checkpoint_00009.json",
             "runs/a/checkpoints/pruned.json", "runs/a/blobs/0123", "runs/a/audit/merkle_roots.json", "runs/a/inbox/1.json", "runs/a/forks/1.json",
             "runs/half/key.json", "runs/half/checkpoints/checkpoint_00001.json", "runs/gone/erased.json"]
    for name in names:
        path = store(case, name + ".tmp")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, b"unfinished")
    found = case.pawl("fsck", status=0).stdout
    holds(found, *(name + ".tmp" for name in names))
    case.pawl("fsck", "--repair", status=0)
    equal(temporary_files(case), [])
    case.pawl("fsck", status=0)


def files_of_living_processes_stay(case):
    case.write("big", json.dumps({"i": os.urandom(1500000).hex()}))
    for command in (["save", "r", "--state", "big"], ["prune", "r", "--keep", "1"], ["fork", "r", "--run-id", "f"],
                    ["erase", "r", "--yes", "--reason", "test"], ["rm", "r2", "--yes"]):
        saved(case, "r2", [1, 2, 3])
        if command[0] not in ("erase", "rm"):
            saved(case, "r", [1, 2, 3])
        if command[0] == "erase":
            case.pawl("erase", "f", "--yes", "--reason", "test", status=0)
        process = delayed(case, "renameat", None, 1, *command)
        time.sleep(0.6)
        case.pawl("fsck", "--repair", status=None)
        succeeds(process)
        case.pawl("fsck", "--repair", status=0)
        equal(temporary_files(case), [])


# Missing checkpoints.

def a_missing_checkpoint_is_damage_not_wrong_usage(case):
    saved(case, "a", [1, 2, 3])
    case.pawl("fsck", "--repair", status=0)
    os.remove(store(case, "runs/a/checkpoints/checkpoint_00001.jsonl"))
    for number in ("", "@2", "@3"):
        for command in ("restore", "show", "fork", "rollback", "fsck"):
            if command in ("rollback", "fork") and not number:
                continue
            case.pawl(command, "a" + number, status=4)
    for command in ("restore", "show", "fork", "rollback", "fsck"):
        holds(case.pawl(command, "a@4", status=2).stderr, "PAWL-0102")


def a_checkpoint_that_only_the_catalogue_lists_is_missing(case):
    saved(case, "a", [1, 2, 3])
    case.pawl("fsck", "--repair", status=0)
    shutil.copytree(store(case, "runs/a"), case.folder + "/older")
    saved(case, "a", [4])
    case.pawl("fsck", "--repair", status=0)
    shutil.rmtree(store(case, "runs/a"))
    shutil.copytree(case.folder + "/older", store(case, "runs/a"))
    for command in ("restore", "show", "fork", "rollback", "fsck"):
        case.pawl(command, "a@4", status=4)
        case.pawl(command, "a@5", status=2)


if __name__ == "__main__":
    run_tests(globals())
