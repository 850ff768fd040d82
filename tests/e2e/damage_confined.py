#!/usr/bin/env python3
"""Tests that damage stops the runs it touches and no other, that it is named, and that there is a way out.

  damage_confined.py PAWL [name of a test]...
"""
import json
import glob
import os
import shutil
import struct
import subprocess

from workflow_case import equal, holds, run_tests

HEADER = 4096
GARBAGE = b"\xa5"


class Journal:
    """The first segment of a journal, as bytes."""

    def __init__(self, case, number=1, slot=1):
        self.folder = os.path.join(case.env["PAWL_STORE"], "journal", str(number))
        self.path = os.path.join(self.folder, f"{slot:08}.log")
        with open(self.path, "rb") as file:
            self.bytes = bytearray(file.read())

    def batches(self):
        """The offset and the size of each batch."""
        generation = max((struct.unpack_from("<QQ", self.bytes, copy + 40) for copy in (0, 2048)))[1]
        found, at = [], HEADER
        while struct.unpack_from("<Q", self.bytes, at)[0] == generation:
            size = (64 + struct.unpack_from("<I", self.bytes, at + 8)[0] + 7) // 8 * 8
            found.append((at, size))
            at += size
        return found

    def write(self, published=True):
        with open(self.path, "r+b") as file:
            file.write(self.bytes)
        if not published:
            with open(os.path.join(self.folder, "owner"), "r+b") as file:
                file.seek(576)
                file.write(bytes(64))


def store(case, *names):
    return os.path.join(case.env["PAWL_STORE"], *names)


def save(case, run, number, **options):
    return case.pawl("save", run, stdin=json.dumps({"run": run, "n": number}), **options)


def make_runs(case, rounds=3, runs="abc"):
    for number in range(1, rounds + 1):
        for run in runs:
            save(case, run, number, status=0)


def unpublished(case, work):
    """Does `work`, and puts the files of the runs back to how they were: only the journal has what was saved."""
    before = os.path.join(case.folder, "before")
    shutil.copytree(store(case, "runs"), before)
    work()
    shutil.rmtree(store(case, "runs"))
    shutil.move(before, store(case, "runs"))


def listed(case, status):
    return {row["run"]: row for row in json.loads(case.pawl("list", "--json", status=status).stdout)}


def others_work(case, damaged, others):
    """Everything that concerns the other runs works, and what concerns all runs reports the damaged one."""
    rows = listed(case, 0)
    equal({run for run in rows if rows[run]["status"] == "damaged"}, {damaged})
    equal(set(rows), {damaged, *others})
    text = case.pawl("list", status=0)
    holds(text.stdout, *others)
    holds(text.stderr, "can't be read", damaged)
    stats = case.pawl("stats", "--json", status=0)
    assert {row["run"] for row in json.loads(stats.stdout)["runs"]} >= set(others), stats.stdout
    pruned = case.pawl("prune", "--keep", "1000", "--json", status=4)
    assert {row["run"] for row in json.loads(pruned.stdout)["runs"]} >= set(others), pruned.stdout
    case.pawl("doctor", status=None)
    for run in others:
        equal(case.state(run)["run"], run)
        case.pawl("show", run, status=0)
        case.pawl("fsck", run, status=0)
        case.pawl("verify", run, status=0)
        fork = f"fork-{run}-{os.urandom(4).hex()}"
        case.pawl("fork", f"{run}@1", "--run-id", fork, status=0)
        case.pawl("rm", fork, "--yes", "--force", status=None)
        case.pawl("export", run, "--output", os.path.join(case.folder, f"{run}.export"), status=0)
        save(case, run, 100, status=0)
    case.pawl("restore", damaged, status=4)
    equal(save(case, damaged, 100).returncode, 4)


def destroy_a_batch_of_b(case):
    """Its header stays, with the filter of the runs that it contains."""
    make_runs(case)
    unpublished(case, lambda: save(case, "b", 4, status=0))
    save(case, "c", 4, status=0)
    journal = Journal(case)
    at, size = journal.batches()[9]
    journal.bytes[at + 64:at + size] = GARBAGE * (size - 64)
    journal.write(published=False)
    return journal, at, size


def a_destroyed_batch_stops_only_its_run(case):
    destroy_a_batch_of_b(case)
    others_work(case, "b", ["a", "c"])
    equal(case.pawl("restore", "b@3", status=0).stdout, '{"run": "b", "n": 3}')
    found = case.pawl("fsck", status=4)
    holds(found.stdout, "journal/1/00000001.log", "affected: b", "--repair")


def a_repair_passes_over_an_erased_run(case):
    """Without a header, a batch may have contained any run, also one that is erased."""
    make_runs(case)
    save(case, "gone", 1, status=0)
    case.pawl("erase", "gone", "--yes", "--reason", "test", status=0)
    unpublished(case, lambda: save(case, "b", 4, status=0))
    save(case, "c", 4, status=0)
    segments = (Journal(case, slot=int(os.path.basename(path)[:8])) for path in sorted(glob.glob(store(case, "journal/1/*.log"))))
    journal = next(segment for segment in segments if segment.batches())
    at, size = journal.batches()[0]
    journal.bytes[at:at + size] = GARBAGE * size
    journal.write(published=False)
    case.pawl("fsck", status=4)
    holds(case.pawl("fsck", "--repair").stderr, "PAWL-0260")
    save(case, "a", 9, status=0)
    save(case, "new", 1, status=0)


def a_repair_sets_the_batch_aside_and_says_what_is_lost(case):
    journal, at, size = destroy_a_batch_of_b(case)
    repaired = case.pawl("fsck", "--repair", status=4)
    holds(repaired.stderr, "PAWL-0260", "b")
    holds(repaired.stdout, "the run continues from 3", "recovery/journal-1-")
    kept = [name for name in os.listdir(store(case, "recovery")) if name.startswith("journal-1-")]
    with open(store(case, "recovery", kept[0]), "rb") as file:
        assert bytes(journal.bytes[at:at + size]) in file.read(), "the damaged bytes are kept"
    with open(store(case, "recovery", "failures.jsonl")) as file:
        holds(file.read(), "PAWL-0260", '"run":"b"')
    case.pawl("fsck", status=0)
    equal({row["status"] for row in listed(case, 0).values()}, {"active"})
    equal(case.state("b")["n"], 3)
    equal(case.state("c")["n"], 4)
    saved = save(case, "b", 5, status=0).stdout.strip()
    assert int(saved.split("@")[1]) > 4, f"{saved}: the number of a lost checkpoint is not used again"
    equal(case.state("b")["n"], 5)
    case.pawl("fsck", status=0)
    case.pawl("verify", "b", status=0)
    holds(case.pawl("audit", "list", "b", status=0).stdout, "set_aside")


def a_flipped_bit_damages_one_record_at_most(case):
    """A batch whose records are still readable one by one, or whose header alone is damaged, loses nothing else."""
    make_runs(case)
    unpublished(case, lambda: save(case, "b", 4, status=0))
    save(case, "c", 4, status=0)
    journal = Journal(case)
    at, size = journal.batches()[9]
    for offset in list(range(0, 64)) + list(range(64, size, 37)):
        journal.bytes[at + offset] ^= 4
        journal.write(published=False)
        rows = listed(case, None)
        equal((offset, rows["a"]["status"], rows["c"]["status"]), (offset, "active", "active"))
        equal((case.state("a")["n"], case.state("c")["n"]), (3, 4))
        found = case.pawl("fsck", "--json", status=None)
        holds(found.stdout, "journal/1/00000001.log")
        b = case.pawl("restore", "b", status=None)
        if b.returncode == 0:
            equal(json.loads(b.stdout)["n"], 4)
        else:
            equal(b.returncode, 4)
            holds(b.stderr, "journal/1/00000001.log")
        journal.bytes[at + offset] ^= 4
    journal.write(published=False)
    case.pawl("fsck", status=0)


def a_damaged_old_batch_does_not_hide_a_newer_one(case):
    save(case, "b", 1, status=0)
    save(case, "a", 1, status=0)

    def work():
        for number in range(2, 14):
            case.pawl("save", "b", stdin=json.dumps({"n": number, "noise": os.urandom(20000).hex()}), status=0)
    unpublished(case, work)
    journal = Journal(case)
    at, size = journal.batches()[2]
    journal.bytes[at + 64:at + size] = GARBAGE * (size - 64)
    journal.write(published=False)
    equal(case.state("a")["n"], 1)
    equal(case.state("b")["n"], 13)
    equal(save(case, "b", 14).returncode, 4)
    case.pawl("fsck", "--repair", status=4)
    equal(case.state("b")["n"], 13)
    case.pawl("fsck", status=0)
    case.pawl("verify", "b", status=0)
    saved = save(case, "b", 15, status=0).stdout.strip()
    assert int(saved.split("@")[1]) > 13, saved
    case.pawl("fsck", status=0)


def records_that_the_files_have_are_not_lost(case):
    make_runs(case)
    journal = Journal(case)
    at, size = journal.batches()[4]
    journal.bytes[at + 64:at + size] = GARBAGE * (size - 64)
    journal.write()
    equal({row["status"] for row in listed(case, 0).values()}, {"active"})
    holds(case.pawl("fsck", status=4).stdout, "nothing is lost")
    holds(case.pawl("fsck", "--repair", status=0).stdout, "ok")
    case.pawl("fsck", status=0)
    for run in "abc":
        equal(save(case, run, 4, status=0).stdout.strip(), f"{run}@4")


def a_destroyed_header_stops_the_runs_without_later_records(case):
    make_runs(case)
    unpublished(case, lambda: save(case, "b", 4, status=0))
    save(case, "c", 4, status=0)
    journal = Journal(case)
    at, size = journal.batches()[9]
    journal.bytes[at + 8:at + size] = bytes(size - 8)
    journal.write(published=False)
    rows = listed(case, 0)
    equal((rows["b"]["status"], rows["c"]["status"]), ("damaged", "active"))
    equal(case.state("c")["n"], 4)
    save(case, "c", 5, status=0)
    holds(case.pawl("fsck", status=4).stdout, "any of these runs may be affected")
    holds(case.pawl("fsck", "--repair", status=4).stderr, "PAWL-0260")
    case.pawl("fsck", status=0)
    for run in "abc":
        save(case, run, 7, status=0)
        equal(case.state(run)["n"], 7)
    case.pawl("fsck", status=0)


def a_damaged_segment_header_loses_nothing(case):
    make_runs(case)
    unpublished(case, lambda: save(case, "b", 4, status=0))
    journal = Journal(case)
    journal.bytes[20] ^= 1
    journal.write(published=False)
    equal(case.state("b")["n"], 4)
    equal({row["status"] for row in listed(case, 0).values()}, {"active"})
    save(case, "a", 4, status=0)
    holds(case.pawl("fsck", status=4).stdout, "nothing is lost")
    case.pawl("fsck", "--repair", status=0)
    case.pawl("fsck", status=0)
    equal((case.state("b")["n"], save(case, "b", 5, status=0).stdout.strip()), (4, "b@5"))


def a_segment_of_another_store_is_not_read(case):
    make_runs(case)
    other = os.path.join(case.folder, "other")
    case.pawl("save", "z", "--store", other, stdin="1", status=0)
    shutil.copy(os.path.join(other, "journal/1/00000001.log"), store(case, "journal/1/00000002.log"))
    assert "z" not in listed(case, None)
    found = case.pawl("fsck", status=4)
    holds(found.stdout, "PAWL-0261", "journal/1/00000002.log")
    case.pawl("restore", "z", status=2 if case.pawl("restore", "z").returncode == 2 else 4)
    case.pawl("fsck", "--repair", status=None)
    case.pawl("fsck", status=0)
    for run in "abc":
        save(case, run, 4, status=0)
    assert "z" not in listed(case, 0)


def a_damaged_run_file_stops_only_its_run(case):
    make_runs(case)
    case.pawl("fsck", "--repair", status=0)  # settles, so that the journal has no copy
    for text in ("{", "", "\x00" * 100, "{}"):
        with open(store(case, "runs/b/run.json"), "r+") as file:
            before = file.read()
            file.seek(0)
            file.truncate()
            file.write(text)
        others_work(case, "b", ["a", "c"])
        os.remove(store(case, "catalogue.db"))
        others_work(case, "b", ["a", "c"])
        holds(case.pawl("fsck", status=4).stdout, "runs/b/run.json")
        with open(store(case, "runs/b/run.json"), "w") as file:
            file.write(before)
    case.pawl("fsck", status=0)


def flip(path, at=40):
    with open(path, "r+b") as file:
        file.seek(at)
        middle = file.read(3)
        file.seek(at)
        file.write(bytes(byte ^ 1 for byte in middle))


def a_damaged_full_checkpoint_is_one_finding(case):
    """Those that depend on it are neither missing nor findings of their own."""
    for number in range(1, 21):
        save(case, "a", number, status=0)
    case.pawl("fsck", "--repair", status=0)  # settles, so that the journal has no copy
    folder = store(case, "runs/a/checkpoints")
    equal(sorted(os.listdir(folder)), ["checkpoint_00001.json", "checkpoint_00001.jsonl"])
    one_finding(case, os.path.join(folder, "checkpoint_00001.json"), 1, list(range(2, 21)))
    with open(os.path.join(folder, "checkpoint_00001.jsonl"), "rb") as file:
        third = len(file.readline() + file.readline()) + 40
    one_finding(case, os.path.join(folder, "checkpoint_00001.jsonl"), 4, list(range(5, 21)), third)
    case.pawl("prune", "a", "--keep", "5", status=0)
    for number in range(21, 24):
        save(case, "a", number, status=0)
    case.pawl("fsck", "--repair", status=0)
    kept = sorted(name for name in os.listdir(folder) if name.startswith("kept_") and name.endswith(".json"))[0]
    base = int(kept[5:10])
    with open(os.path.join(folder, kept + "l")) as file:
        tail = [number for number in range(base + 1, base + 1 + len(file.readlines())) if number >= 16]
    assert tail, os.listdir(folder)
    one_finding(case, os.path.join(folder, kept), base, tail)


def one_finding(case, path, damaged, affected, at=40):
    with open(path, "rb") as file:
        before = file.read()
    flip(path, at)
    found = json.loads(case.pawl("fsck", "--json", status=4).stdout)["findings"]
    equal([(row["severity"], row["sequence"], row["affected"], row["file"]) for row in found],
          [("damage", damaged, affected, os.path.relpath(path, store(case)))])
    text = case.pawl("fsck", status=4).stdout
    holds(text, f"checkpoints {affected[0]} to {affected[-1]} depend on it and can't be read")
    assert "missing" not in text, text
    one = json.loads(case.pawl("fsck", f"a@{affected[0]}", "--json", status=4).stdout)["findings"]
    equal([row["sequence"] for row in one], [damaged])
    with open(path, "wb") as file:
        file.write(before)
    case.pawl("fsck", status=0)


def an_unfinished_erasure_is_listed_and_verified(case):
    if shutil.which("strace") is None:
        print("skipped: strace is not installed")
        return
    make_runs(case, rounds=2, runs="ab")
    shutil.copytree(store(case), os.path.join(case.folder, "base"))
    for call in range(1, 40):
        shutil.rmtree(store(case))
        shutil.copytree(os.path.join(case.folder, "base"), store(case))
        done = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
                               f"inject=fsync,fdatasync:signal=KILL:when={call}", case.program, "erase", "a", "--yes", "--reason", "x"],
                              cwd=case.folder, env=case.env, capture_output=True)
        if done.returncode == 0:
            break
        rows = listed(case, 0)
        assert rows.get("a", {}).get("status") in ("active", "erased"), f"call {call}: {rows}"
        verified = case.pawl("verify", "--all")
        equal((call, verified.returncode, verified.stderr), (call, 0, ""))
    assert call > 10, call


def settled(case):
    """Erasing a run empties the journals: afterwards only the files have the other runs."""
    for number in (1, 2, 3):
        case.pawl("save", "a", stdin=json.dumps({"n": number}), status=0)
        case.pawl("save", "b", stdin=json.dumps({"n": number}), status=0)
    case.pawl("step", "--run", "steps", "one", "--", "sh", "-c", "echo one >> log", status=0)
    case.pawl("step", "--run", "steps", "two", "--", "sh", "-c", "echo two >> log", status=0)
    case.pawl("audit", "add", "b", "--type", "reviewed", "--data", '{"by": "ada"}', status=0)
    case.write("flow.yaml", "steps: [{ id: one, run: 'true' }, { id: two, run: 'true' }]")
    case.pawl("run", "flow.yaml", "--run-id", "flow", status=0)
    case.pawl("save", "gone", stdin="{}", status=0)
    case.pawl("erase", "gone", "--yes", "--reason", "test", status=0)
    return case.env["PAWL_STORE"]


def lost_events_are_missed(case):
    store = settled(case)
    for run in ("b", "steps", "flow"):
        files = sorted(glob.glob(f"{store}/runs/{run}/events/*"))
        with open(files[-1], "rb") as file:
            lines = file.readlines()
        with open(files[-1], "wb") as file:
            file.writelines(lines[:-1])
        holds(case.pawl("fsck", status=4).stdout, "are missing after event")
        if run == "flow":
            case.pawl("show", run, "--events", status=4)
        with open(files[-1], "wb") as file:
            file.writelines(lines)
        case.pawl("fsck", status=0)


def the_number_of_a_lost_event_is_not_used_again(case):
    store = settled(case)
    for path in glob.glob(f"{store}/runs/b/events/*"):
        os.unlink(path)
    case.pawl("audit", "add", "b", "--type", "reviewed", "--data", '{"by": "eve"}')
    listed = case.pawl("audit", "list", "b", "--json")
    assert listed.returncode == 4 or '"eve"' not in listed.stdout.split('"reviewed"')[1], listed.stdout


def a_cut_audit_trail_is_missed(case):
    store = settled(case)
    path = f"{store}/runs/a/audit/audit_trail.jsonl"
    with open(path, "rb") as file:
        lines = file.readlines()
    for kept in (0, 1, len(lines) - 1):
        with open(path, "wb") as file:
            file.writelines(lines[:kept])
        case.pawl("audit", "list", "a", status=4)
        case.pawl("save", "a", stdin='{"n": 7}', status=4)
        case.pawl("fsck", status=4)
    case.pawl("restore", "a", status=0)


def an_older_copy_of_a_run_is_missed(case):
    """A repair does not hide the loss, and a save that was lost is not answered as saved."""
    store = case.env["PAWL_STORE"]
    case.pawl("save", "r", stdin='{"n": 1}', status=0)
    case.pawl("fsck", "--repair", status=0)
    shutil.copytree(store + "/runs/r", case.folder + "/old")
    for number in (2, 3):
        case.pawl("save", "r", "--id", f"id{number}", stdin=json.dumps({"n": number}), status=0)
    case.pawl("save", "other", stdin="{}", status=0)
    case.pawl("fsck", "--repair", status=0)
    shutil.rmtree(store + "/runs/r")
    shutil.copytree(case.folder + "/old", store + "/runs/r")
    for args in (["fsck"], ["fsck", "--repair"], ["fsck"]):
        holds(case.pawl(*args, status=4).stdout, "the newest one here is 1")
    for more in ([], ["--id", "id2"]):
        holds(case.pawl("save", "r", *more, stdin='{"n": 2}', status=4).stderr, "PAWL-0304")
    case.pawl("save", "other", stdin='{"n": 2}', status=0)


def ids_of_pruned_saves_that_cant_be_read_are_not_forgotten(case):
    """A repair, a new catalogue, a copy and a backup: what is not known is not saved again."""
    store = case.env["PAWL_STORE"]
    for number in range(1, 7):
        case.pawl("save", "c", "--id", f"k{number}", stdin=json.dumps({"i": number}), status=0)
    case.pawl("prune", "c", "--keep", "1", status=0)
    callers = store + "/runs/c/checkpoints/pruned_callers.jsonl"
    with open(callers) as file:
        lines = file.read()
    with open(callers, "w") as file:
        file.write(lines.replace('"n":1', '"n":9', 1))

    def save(number, status):
        return case.pawl("save", "c", "--id", f"k{number}", stdin=json.dumps({"i": number}), status=status)

    equal(save(4, 0).stdout, "c@4\n")
    case.pawl("fsck", "--repair", status=4)
    equal(save(4, 0).stdout, "c@4\n")  # from the old catalogue
    holds(save(7, 4).stderr, "PAWL-0308")
    os.unlink(store + "/catalogue.db")
    holds(save(4, 4).stderr, "PAWL-0308")
    case.pawl("save", "c", stdin="{}", status=0)  # without an id
    case.pawl("backup", "create", case.folder + "/b.tar.zst")
    case.pawl("backup", "restore", case.folder + "/b.tar.zst", "--to", case.folder + "/restored")
    shutil.copytree(store, case.folder + "/copied")
    for other in ("restored", "copied"):
        found = case.pawl("--store", case.folder + "/" + other, "save", "c", "--id", "k4", stdin='{"i": 4}', status=4)
        holds(found.stderr, "PAWL-0308")
    with open(callers, "w") as file:
        file.write(lines)
    equal(save(4, 0).stdout, "c@4\n")
    equal(save(7, 0).stdout, "c@8\n")
    case.pawl("fsck", status=0)


def a_lost_run_is_not_begun_again(case):
    store = settled(case)
    case.pawl("list", status=0)  # so that the catalogue has it
    shutil.rmtree(store + "/runs/steps")
    case.pawl("step", "--run", "steps", "one", "--", "sh", "-c", "echo one >> log", status=4)
    equal(case.log("log"), ["one", "two"])
    case.pawl("fsck", status=4)
    case.pawl("fsck", "--repair", status=4)
    case.pawl("fsck", status=4)
    equal({row["run"]: row["status"] for row in json.loads(case.pawl("list", "--json", status=0).stdout)}["steps"], "damaged")
    os.makedirs(store + "/runs/steps/logs")
    equal({row["run"]: row["status"] for row in json.loads(case.pawl("list", "--json", status=0).stdout)}["steps"], "damaged")
    case.pawl("fsck", status=4)
    case.pawl("save", "new", stdin="{}", status=0)


def a_run_replaced_by_an_older_copy_is_found(case):
    store = settled(case)
    shutil.copytree(store + "/runs/a", case.folder + "/older")
    case.pawl("save", "a", stdin='{"n": 4}', status=0)
    case.pawl("save", "gone2", stdin="{}", status=0)
    case.pawl("erase", "gone2", "--yes", "--reason", "test", status=0)
    shutil.rmtree(store + "/runs/a")
    os.rename(case.folder + "/older", store + "/runs/a")
    holds(case.pawl("fsck", status=4).stdout, "the newest one here is 3")


if __name__ == "__main__":
    run_tests(globals())
