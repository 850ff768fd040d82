#!/usr/bin/env python3
"""Tests that a run whose folder was replaced, removed or brought in from elsewhere is neither hidden nor continued wrongly, and
that no other run suffers.

  replaced_runs.py PAWL [name of a test]...
"""
import json
import os
import shutil

from damage_confined import listed, save, store
from workflow_case import equal, holds, run_tests

FILLER = 130  # saves that make the store settle what was saved before


def save_with_ids(case, run, count, **options):
    for number in range(1, count + 1):
        case.pawl(*options.get("store", ()), "save", run, "--id", f"{run}{number}", stdin=json.dumps({"run": run, "n": number}), status=0)


def settle(case, *options):
    for number in range(FILLER):
        case.pawl(*options, "save", "filler", stdin=json.dumps({"n": number}), status=0)
    case.pawl(*options, "prune", "filler", "--keep", "1", status=0)


def is_refused(case, run, words):
    """Nothing says that all is well, and nothing is saved."""
    holds(case.pawl("fsck", status=4).stdout, run, words)
    holds(case.pawl("fsck", run, status=4).stdout, run, words)
    case.pawl("save", run, "--id", f"{run}1", stdin=json.dumps({"run": run, "n": 1}), status=4)
    assert run in listed(case, None), "it is listed"


def a_lost_run_stays_lost_after_a_repair(case):
    for kind in ("nothing", "file", "link", "empty"):
        run = f"j-{kind}"
        save_with_ids(case, run, 3)
        settle(case)
        folder = store(case, "runs", run)
        shutil.move(folder, os.path.join(case.folder, run))
        if kind == "file":
            open(folder, "w").close()
        elif kind == "link":
            os.symlink(os.path.join(case.folder, run), folder)
        elif kind == "empty":
            os.mkdir(folder)
        for command in (["fsck"], ["fsck", "--repair"], ["fsck"]):
            equal((kind, command, case.pawl(*command).returncode), (kind, command, 4))
        if kind != "link":  # it leads to the run, so its files are named
            is_refused(case, run, "missing" if kind == "nothing" else "")
        assert kind == "link" or case.pawl("restore", run).returncode in (4, 5)
        save(case, "other", len(kind), status=0)
        if os.path.isdir(folder) and not os.path.islink(folder):
            shutil.rmtree(folder)  # a refused save makes it
        else:
            os.remove(folder)
        shutil.move(os.path.join(case.folder, run), folder)
        case.pawl("fsck", status=0)
        equal(case.pawl("save", run, "--id", f"{run}2", stdin=json.dumps({"run": run, "n": 2}), status=0).stdout, f"{run}@2\n")


def an_older_folder_is_refused_by_all(case):
    save_with_ids(case, "j", 3)
    settle(case)
    shutil.copytree(store(case, "runs/j"), os.path.join(case.folder, "older"))
    for number in range(4, 7):
        save(case, "j", number, status=0)
    settle(case)
    shutil.rmtree(store(case, "runs/j"))
    shutil.copytree(os.path.join(case.folder, "older"), store(case, "runs/j"))
    is_refused(case, "j", "the catalogue lists checkpoint 6")
    for command in (["restore", "j"], ["fork", "j", "--run-id", "f"], ["fsck", "--repair"]):
        holds(case.pawl(*command, status=4).stderr, "PAWL-")
    equal(json.loads(case.pawl("restore", "j@3", status=0).stdout)["n"], 3)
    os.remove(store(case, "catalogue.db"))  # as the advice says
    equal(json.loads(case.pawl("restore", "j", status=0).stdout)["n"], 3)


def the_run_of_another_store_is_refused(case):
    other = os.path.join(case.folder, "other")
    save_with_ids(case, "j", 3)
    settle(case)
    save_with_ids(case, "j", 2, store=("--store", other))
    settle(case, "--store", other)
    shutil.rmtree(store(case, "runs/j"))
    shutil.copytree(os.path.join(other, "runs/j"), store(case, "runs/j"))
    is_refused(case, "j", "another run with this id")
    case.pawl("fsck", "--repair", status=4)
    is_refused(case, "j", "another run with this id")
    save(case, "a", 1, status=0)


def the_ids_of_a_run_that_was_copied_in_are_known(case):
    other = os.path.join(case.folder, "other")
    save_with_ids(case, "k", 3, store=("--store", other))
    settle(case, "--store", other)
    settle(case)
    shutil.copytree(os.path.join(other, "runs/k"), store(case, "runs/k"))
    save(case, "k", 9, status=0)
    equal(case.pawl("save", "k", "--id", "k2", stdin='{"run": "k", "n": 2}', status=0).stdout, "k@2\n")
    assert "k" in listed(case, 0)


def a_refused_first_save_leaves_no_run(case):
    for number in range(3):
        save(case, "a", number, status=0)
    save(case, "gone", 1, status=0)
    case.pawl("erase", "gone", "--yes", "--reason", "test", status=0)
    save_with_ids(case, "b", 3)
    segment = store(case, "journal/1/00000001.log")
    shutil.move(segment, os.path.join(case.folder, "segment"))
    os.symlink(os.path.join(case.folder, "segment"), segment)
    save(case, "new", 1, status=4)
    case.pawl("fsck", "--repair")
    case.pawl("fsck", status=0)
    equal(save(case, "new", 1, status=0).stdout, "new@1\n")


def a_repair_protects_the_numbers_of_forks(case):
    for number in range(1, 5):
        save(case, "p", number, status=0)
    case.pawl("fork", "p@2", "--run-id", "f", status=0)
    for number in range(1, 4):
        save(case, "f", number, status=0)
    settle(case)
    equal(json.loads(case.pawl("restore", "f", "--mode", "full", status=0).stdout), {"run": "f", "n": 3})
    equal(json.loads(case.pawl("restore", "f", "--at", "2", status=0).stdout), {"run": "p", "n": 2})
    before = {run: shutil.copytree(store(case, "runs", run), os.path.join(case.folder, run)) for run in "fp"}
    for run in "fp":
        save(case, run, 100, status=0)
    for run, copy in before.items():  # as after a power loss: only the journal has the last save
        shutil.rmtree(store(case, "runs", run))
        shutil.copytree(copy, store(case, "runs", run))
    for name in os.listdir(store(case, "journal/1")):
        if name.endswith(".log"):
            with open(store(case, "journal/1", name), "r+b") as file:
                file.write(bytes(os.path.getsize(file.name)))
    holds(case.pawl("fsck", "--repair", status=4).stdout, "f@7: checkpoints after 6 may be lost", "p@5: checkpoints after 4 may be lost")
    case.pawl("fsck", status=0)
    assert int(save(case, "f", 200, status=0).stdout.rpartition("@")[2]) > 7


def one_bad_folder_does_not_stop_a_copy(case):
    for bad in ("runs/j", "runs/j/checkpoints", "runs/j/audit"):
        shutil.rmtree(store(case), ignore_errors=True)
        for run in "abj":
            save_with_ids(case, run, 2)
        copy = os.path.join(case.folder, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store(case), copy, copy_function=shutil.copy2)
        shutil.rmtree(os.path.join(copy, bad))
        open(os.path.join(copy, bad), "w").close()
        for run in "ab":
            equal(case.pawl("--store", copy, "save", run, "--id", f"{run}2", stdin=json.dumps({"run": run, "n": 2}), status=0).stdout, f"{run}@2\n")
            equal(json.loads(case.pawl("--store", copy, "restore", run, status=0).stdout)["n"], 2)
        case.pawl("--store", copy, "save", "new", stdin="{}", status=0)


def one_bad_folder_does_not_stop_a_backup(case):
    for bad in ("runs/j/checkpoints", "runs/j/audit", "runs/j/events", "runs/j/inbox"):
        for run in "aj":
            save_with_ids(case, run, 2)
        folder, backup = store(case, bad), os.path.join(case.folder, "backup")
        shutil.rmtree(folder, ignore_errors=True)
        for kind in ("file", "link"):
            open(folder, "w").close() if kind == "file" else os.symlink(case.folder, folder)
            done = case.pawl("backup", "create", backup, "--force", status=4)
            holds(done.stderr, "the backup is written", bad)
            os.remove(folder)
        shutil.rmtree(os.path.join(case.folder, "restored"), ignore_errors=True)
        case.pawl("backup", "restore", backup, "--to", os.path.join(case.folder, "restored"))
        equal(json.loads(case.pawl("--store", os.path.join(case.folder, "restored"), "restore", "a", status=0).stdout)["n"], 2)
        shutil.rmtree(store(case))


def an_erasure_of_damage_leaves_no_damage(case):
    save_with_ids(case, "a", 3)
    settle(case)
    os.truncate(store(case, "runs/a/audit/audit_trail.jsonl"), 14)
    case.pawl("rm", "a", "--yes", status=4)
    case.pawl("erase", "a", "--yes", "--reason", "test", status=0)
    holds(case.pawl("fsck", status=0).stdout, "already damaged")


if __name__ == "__main__":
    run_tests(globals())
