#!/usr/bin/env python3
"""Tests that copies of a store that is being written open without a false alarm, and that they are usable.

  live_copies.py PAWL [name of a test]...

Set PAWL_COPY_ROUNDS for more rounds than 6.
"""
import json
import os
import shutil
import subprocess
import threading

from workflow_case import equal, holds, run_tests, wait_for

ROUNDS = int(os.environ.get("PAWL_COPY_ROUNDS", "6"))


def cp(source, target):
    return ["cp", "-a", source, target]


def tar(source, target):
    return ["sh", "-c", f"mkdir '{target}' && tar -C '{source}' -cf - . | tar -C '{target}' -xf -"]


def rsync(source, target):
    return ["rsync", "-a", source + "/", target]


class Writers:
    """Processes that save until they are told to stop. Knows the last acknowledged number of each run."""

    def __init__(self, case, count, bytes_each):
        self.case, self.stopping, self.failures = case, False, []
        self.acknowledged = {f"w{i}": 0 for i in range(count)}
        self.threads = [threading.Thread(target=self.work, args=(run, bytes_each)) for run in self.acknowledged]

    def work(self, run, size):
        number = 0
        while not self.stopping:
            number += 1
            state = json.dumps({"n": number, "noise": os.urandom(size // 2).hex()})
            done = self.case.pawl("save", run, "--id", f"id-{number}", stdin=state)
            if done.returncode != 0:
                self.failures.append(f"{run}, save {number}: {done.stdout}{done.stderr}")
                return
            self.acknowledged[run] = number

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures


def check_copy(case, folder, before, tool):
    """`before` has the last acknowledged number of each run before the copy was begun."""
    found = case.pawl("--store", folder, "fsck", "--json")
    assert found.returncode == 0, f"{tool}: {found.stdout}{found.stderr}"
    rows = {row["run"]: row for row in json.loads(case.pawl("--store", folder, "list", "--json", status=0).stdout)}
    for run, number in before.items():
        if number == 0:
            continue
        assert run in rows, f"{tool}: {run} is missing"
        state = json.loads(case.pawl("--store", folder, "restore", run, status=0).stdout)
        assert state["n"] >= number, f"{tool}: {run} has {state['n']}, but {number} was acknowledged before"
        equal(state["n"], rows[run]["latest"])
        repeated = case.pawl("--store", folder, "save", run, "--id", f"id-{state['n']}", stdin=json.dumps(state), status=0)
        equal((tool, repeated.stdout.strip()), (tool, f"{run}@{state['n']}"))
        saved = case.pawl("--store", folder, "save", run, stdin=json.dumps({"n": -1}), status=0)
        equal((tool, saved.stdout.strip()), (tool, f"{run}@{state['n'] + 1}"))
    found = case.pawl("--store", folder, "fsck")
    assert found.returncode == 0, f"{tool}, after saving: {found.stdout}{found.stderr}"
    case.pawl("--store", folder, "verify", "--all", status=0)


def copy_while_writing(case, tool, size, rounds):
    store = case.env["PAWL_STORE"]
    save(case, "first", 1, store)
    with Writers(case, 3, size) as writers:
        for turn in range(rounds):
            target = os.path.join(case.folder, f"copy-{turn}")
            before = dict(writers.acknowledged)
            done = subprocess.run(tool(store, target), capture_output=True, text=True)
            assert os.path.isdir(target), done.stderr
            check_copy(case, target, before, f"{tool.__name__} {turn}")
            shutil.rmtree(target)


def copies_by_cp_are_usable(case):
    copy_while_writing(case, cp, 400, ROUNDS)


def copies_by_cp_of_large_states_are_usable(case):
    copy_while_writing(case, cp, 9000, ROUNDS)


def copies_by_tar_are_usable(case):
    copy_while_writing(case, tar, 3000, ROUNDS)


def copies_by_rsync_are_usable(case):
    if shutil.which("rsync") is None:
        print("skipped: rsync is not installed")
        return
    copy_while_writing(case, rsync, 3000, ROUNDS)


def save(case, run, number, folder):
    return case.pawl("--store", folder, "save", run, stdin=json.dumps({"n": number}), status=0)


def a_watermark_ahead_of_its_copied_segment_is_not_damage(case):
    """The owner file of the copy is newer than its journal."""
    store, copy = case.env["PAWL_STORE"], os.path.join(case.folder, "copy")
    save(case, "a", 1, store)
    subprocess.run(cp(store, copy), check=True)
    for number in range(2, 6):
        save(case, "a", number, store)
    shutil.copy(os.path.join(store, "journal/1/owner"), os.path.join(copy, "journal/1/owner"))
    holds(case.pawl("--store", copy, "fsck", status=0).stdout, "ok")
    equal(json.loads(case.pawl("--store", copy, "restore", "a", status=0).stdout), {"n": 1})
    equal(save(case, "a", 7, copy).stdout.strip(), "a@2")


def each_file_may_come_from_another_moment(case):
    """Every combination of an old or a new journal, trail, checkpoints and catalogue opens, and nothing older is lost."""
    store, old = case.env["PAWL_STORE"], os.path.join(case.folder, "old")
    for number in (1, 2):
        save(case, "a", number, store)
    case.pawl("list", status=0)
    subprocess.run(cp(store, old), check=True)
    for number in (3, 4):
        save(case, "a", number, store)
    parts = ("journal/1/00000001.log", "journal/1/owner", "runs/a/audit", "runs/a/checkpoints", "catalogue.db")
    for mask in range(1 << len(parts)):
        mixed = os.path.join(case.folder, f"mixed-{mask}")
        subprocess.run(cp(old, mixed), check=True)
        for index, part in enumerate(parts):
            source, target = os.path.join(store, part), os.path.join(mixed, part)
            if not mask >> index & 1 or not os.path.exists(source):
                continue
            if os.path.isdir(source):
                shutil.rmtree(target)
                subprocess.run(cp(source, target), check=True)
            else:
                subprocess.run(["cp", "-a", source, target], check=True)
        found = case.pawl("--store", mixed, "fsck")
        assert found.returncode == 0, f"mask {mask}: {found.stdout}{found.stderr}"
        newest = json.loads(case.pawl("--store", mixed, "restore", "a", status=0).stdout)["n"]
        assert newest >= 2, f"mask {mask}: {newest}"
        equal((mask, save(case, "a", 9, mixed).stdout.strip()), (mask, f"a@{newest + 1}"))
        found = case.pawl("--store", mixed, "fsck")
        assert found.returncode == 0, f"mask {mask}: {found.stdout}{found.stderr}"
        case.pawl("--store", mixed, "verify", "a", status=0)


def a_half_copied_catalogue_is_rebuilt(case):
    store, copy = case.env["PAWL_STORE"], os.path.join(case.folder, "copy")
    for run in "abc":
        save(case, run, 1, store)
    case.pawl("list", status=0)
    case.pawl("fsck", "--repair", status=0)
    subprocess.run(cp(store, copy), check=True)
    database = os.path.join(copy, "catalogue.db")
    with open(database, "r+b") as file:
        size = os.path.getsize(database)
        file.truncate(size // 2 // 4096 * 4096)
    with open(database + "-journal", "wb") as file:
        file.write(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    equal({row["run"] for row in json.loads(case.pawl("--store", copy, "list", "--json", status=0).stdout)}, set("abc"))
    case.pawl("--store", copy, "fsck", status=0)


def damage_in_a_copy_is_still_found(case):
    """A flipped bit in the middle of the copied journal, or in a copied file, is not taken for an unfinished copy."""
    store, copy = case.env["PAWL_STORE"], os.path.join(case.folder, "copy")
    for number in range(1, 5):
        save(case, "a", number, store)
    for name, at in (("journal/1/00000001.log", 4096 + 100), ("runs/a/checkpoints/checkpoint_00001.json", 40)):
        subprocess.run(cp(store, copy), check=True)
        if name.startswith("runs"):
            case.pawl("--store", copy, "fsck", "--repair", status=0)
            subprocess.run(cp(copy, copy + "2"), check=True)
            shutil.rmtree(copy)
            os.rename(copy + "2", copy)
        with open(os.path.join(copy, name), "r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 1]))
        holds(case.pawl("--store", copy, "fsck", status=4).stdout, name)
        shutil.rmtree(copy)


def resuming_a_copy_leaves_the_processes_of_the_original_alone(case):
    """The runs of a copy have the same UUIDs, and its locks look as if their holders had died."""
    store, copy = case.env["PAWL_STORE"], os.path.join(case.folder, "copy")
    case.write("wait.yaml", "steps:\n  - { id: one, run: 'test -e fast || { echo $$ > step.pid; exec sleep 60; }' }\n")
    command = ("step", "--run", "script", "one", "--", "sh", "-c", "test -e fast || { echo $$ > call.pid; exec sleep 60; }")
    running = [case.start("run", "wait.yaml", "--run-id", "flow"), case.start(*command)]
    wait_for(lambda: case.log("step.pid") and case.log("call.pid"), "both steps to start")
    pids = [int(case.log(name)[0]) for name in ("step.pid", "call.pid")]
    subprocess.run(cp(store, copy), check=True)
    case.write("fast", "")
    case.pawl("--store", copy, "resume", "flow", status=0)
    case.pawl("--store", copy, *command, status=0)
    case.pawl("--store", copy, "cancel", "flow")
    for pid in pids:
        os.kill(pid, 0)
    for process in running:
        process.terminate()
        process.wait()


def copy_in_two_parts(case, first, between):
    """Copies `first` of the store, then calls `between`, then copies everything else, as cp does while others save."""
    store, copy = case.env["PAWL_STORE"], os.path.join(case.folder, "copy")
    for path in first:
        target = os.path.join(copy, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        subprocess.run(cp(os.path.join(store, path), target), check=True)
    between()
    for name in os.listdir(store):
        if not os.path.exists(os.path.join(copy, name)):
            subprocess.run(cp(os.path.join(store, name), os.path.join(copy, name)), check=True)
    return copy


def is_sound(case, copy):
    for command in (["fsck"], ["verify", "--all"]):
        done = case.pawl("--store", copy, *command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def runs_of(case, copy):
    return {row["run"] for row in json.loads(case.pawl("--store", copy, "list", "--json", status=0).stdout)}


def a_fork_whose_note_was_not_copied_keeps_what_it_needs(case):
    """The folder of the parent is older than the fork, which is in the journal."""
    store, noise = case.env["PAWL_STORE"], os.urandom(3000).hex()
    for number in range(1, 5):
        case.pawl("save", "r", stdin=json.dumps({"n": number, "noise": noise}), status=0)

    def fork():
        case.pawl("fork", "r@2", "--run-id", "f", status=0)
        case.pawl("save", "f", stdin=json.dumps({"n": 5, "noise": noise}), status=0)
    copy = copy_in_two_parts(case, ["runs"], fork)
    holds(case.pawl("--store", copy, "prune", "r", "--keep", "1", status=0).stdout, "r")
    equal(len(os.listdir(os.path.join(copy, "runs/r/forks"))), 1)
    equal(json.loads(case.pawl("--store", copy, "restore", "f@2", status=0).stdout)["n"], 2)
    equal(json.loads(case.pawl("--store", copy, "restore", "f", status=0).stdout)["n"], 5)
    is_sound(case, copy)


def a_fork_without_a_note_keeps_what_it_needs(case):
    """An older version may have opened a copy without writing the note. The catalogue or the journal knows the fork."""
    store, noise = case.env["PAWL_STORE"], os.urandom(3000).hex()
    for number in range(1, 5):
        case.pawl("save", "r", stdin=json.dumps({"n": number, "noise": noise}), status=0)
    for number, fork in ((2, "listed"), (3, "journaled")):
        case.pawl("fork", f"r@{number}", "--run-id", fork, status=0)
        if fork == "listed":
            case.pawl("fsck", "--repair", status=0)  # rebuilds the catalogue
            for state in (1, 2):
                save(case, "x", state, store)
            case.pawl("prune", "x", "--keep", "1", status=0)  # empties the journals
    shutil.rmtree(os.path.join(store, "runs/r/forks"))
    case.pawl("prune", "r", "--keep", "1", status=0)
    for number, fork in ((2, "listed"), (3, "journaled")):
        equal(json.loads(case.pawl("restore", f"{fork}@{number}", status=0).stdout)["n"], number)


def a_new_run_whose_key_was_not_copied_is_not_in_the_copy(case):
    case.pawl("init", "--encrypt", status=0)
    store = case.env["PAWL_STORE"]
    save(case, "old", 1, store)
    copy = copy_in_two_parts(case, ["runs"], lambda: [save(case, "new", number, store) for number in (1, 2)])
    holds(case.pawl("--store", copy, "list", status=0).stderr, "run new was not copied completely")
    equal(runs_of(case, copy), {"old"})
    is_sound(case, copy)
    equal(save(case, "new", 1, copy).stdout.strip(), "new@1")
    is_sound(case, copy)


def a_lost_key_in_a_copy_is_still_found(case):
    case.pawl("init", "--encrypt", status=0)
    store, copy = case.env["PAWL_STORE"], os.path.join(case.folder, "copy")
    save(case, "a", 1, store)
    os.remove(os.path.join(store, "runs/a/key.json"))
    subprocess.run(cp(store, copy), check=True)
    holds(case.pawl("--store", copy, "fsck", status=4).stdout, "key.json")


def a_fork_whose_parent_was_copied_too_early_is_not_in_the_copy(case):
    """The fork point is neither in the folder of the parent nor in the journal, which was copied after it was emptied."""
    store = case.env["PAWL_STORE"]
    for number in (1, 2, 3):
        save(case, "r", number, store)

    def fork():
        save(case, "r", 4, store)
        case.pawl("fork", "r@4", "--run-id", "f", status=0)
        save(case, "f", 5, store)
        case.pawl("fork", "f@5", "--run-id", "g", status=0)
        save(case, "g", 6, store)
        case.pawl("fork", "r@2", "--run-id", "h", status=0)
        save(case, "h", 3, store)
        for number in (1, 2):
            save(case, "x", number, store)
        case.pawl("prune", "x", "--keep", "1", status=0)  # empties the journals
        save(case, "x", 3, store)
    copy = copy_in_two_parts(case, ["runs/r"], fork)
    for run in "fghx":
        subprocess.run(cp(os.path.join(store, "runs", run), os.path.join(copy, "runs", run)), check=True)
    done = case.pawl("--store", copy, "list", status=0)
    holds(done.stderr, "f, g", "not copied completely")
    equal(runs_of(case, copy), {"r", "h", "x"})
    is_sound(case, copy)
    equal(json.loads(case.pawl("--store", copy, "restore", "r", status=0).stdout), {"n": 3})
    kept = b"".join(open(os.path.join(copy, "recovery", name), "rb").read() for name in os.listdir(os.path.join(copy, "recovery")))
    holds(kept.decode(errors="replace"), '"n": 5', '"fork_run":"r"')
    equal(case.pawl("--store", copy, "fork", "r@3", "--run-id", "f", status=0).stdout.split()[0][:1], "f")
    is_sound(case, copy)


def a_fork_of_a_checkpoint_in_the_journal_is_in_the_copy(case):
    for how in ([], ["--encrypt"]):
        case.pawl("init", *how, status=0)
        store = case.env["PAWL_STORE"]
        for number in (1, 2, 3):
            save(case, "r", number, store)

        def fork():
            save(case, "r", 4, store)
            case.pawl("fork", "r@4", "--run-id", "f", status=0)
            save(case, "f", 5, store)
        copy = copy_in_two_parts(case, ["runs"], fork)
        case.pawl("--store", copy, "list", status=0)
        equal(runs_of(case, copy), {"r"} if how else {"r", "f"})  # the key of the fork was not copied
        is_sound(case, copy)
        shutil.rmtree(store)
        shutil.rmtree(copy)


def every_command_may_be_the_first(case):
    """The copy has a trail that is ahead of the checkpoints."""
    store, old = case.env["PAWL_STORE"], os.path.join(case.folder, "old")
    for number in (1, 2):
        save(case, "a", number, store)
    subprocess.run(cp(store, old), check=True)
    for number in (3, 4):
        save(case, "a", number, store)
    case.pawl("export", "a", "-o", os.path.join(case.folder, "a.pawl"), status=0)
    for command in (["verify", "--all"], ["verify", "a"], ["backup", "create", os.path.join(case.folder, "b")],
                    ["audit", "anchor"], ["fsck"], ["list"], ["audit", "list", "a"], ["doctor"]):
        copy = os.path.join(case.folder, "copy")
        subprocess.run(cp(old, copy), check=True)
        shutil.rmtree(os.path.join(copy, "runs/a/audit"))
        subprocess.run(cp(os.path.join(store, "runs/a/audit"), os.path.join(copy, "runs/a/audit")), check=True)
        done = case.pawl("--store", copy, *command)
        assert done.returncode == 0, f"{command}: {done.returncode} {done.stdout}{done.stderr}"
        is_sound(case, copy)
        shutil.rmtree(copy)


def copies_of_forks_and_new_runs_are_usable(case):
    """Forks, new runs and prunes while the store is copied; `verify` is the first command."""
    store, stopping = case.env["PAWL_STORE"], []
    case.pawl("init", "--encrypt", status=0)
    save(case, "r", 1, store)

    def work():
        number = 0
        while not stopping:
            number += 1
            save(case, "r", number, store)
            case.pawl("fork", "r", "--run-id", f"f{number}", status=0)
            save(case, f"n{number}", number, store)
            case.pawl("prune", "r", "--keep", "3", status=0)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        for turn in range(ROUNDS * 2):
            copy = os.path.join(case.folder, f"copy-{turn}")
            subprocess.run(cp(store, copy), capture_output=True)
            is_sound(case, copy) if turn % 2 else case.pawl("--store", copy, "verify", "--all", status=0)
            shutil.rmtree(copy)
    finally:
        stopping.append(True)
        thread.join()


if __name__ == "__main__":
    run_tests(globals())
