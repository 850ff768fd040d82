#!/usr/bin/env python3
"""Tests that damaged runs can be removed or erased, and that `pawl rm` and `pawl erase` report what they did.

  removal.py PAWL [name of a test]...
"""
import json
import os

from workflow_case import equal, holds, run_tests


def store(case, *names):
    return os.path.join(case.env["PAWL_STORE"], *names)


def make(case, *runs):
    """Three saves per run, of which two are kept. Pruning settles the journal: only the files have the runs."""
    for run in runs:
        for number in (1, 2, 3):
            case.pawl("save", run, stdin=json.dumps({"run": run, "n": number}), status=0)
    case.pawl("prune", "--keep", "2", status=0)


def change(case, name, old, new):
    with open(store(case, name)) as file:
        text = file.read()
    assert old in text, text
    with open(store(case, name), "w") as file:
        file.write(text.replace(old, new, 1))


def damage_trail(case, run):
    change(case, f"runs/{run}/audit/audit_trail.jsonl", "run_created", "run_creafed")


def statuses(case, *_):  # not a test
    return {row["run"]: row["status"] for row in json.loads(case.pawl("list", "--json", status=0).stdout)}


def files_of(case, run):
    return sorted(os.listdir(store(case, "runs", run)))


def named_runs_are_all_removed_or_none(case):
    make(case, "c", "d")
    damage_trail(case, "c")
    for names in (("c", "d"), ("d", "c")):
        for more in ([], ["--dry-run"]):
            done = case.pawl("rm", *names, "--yes", *more, status=4)
            holds(done.stderr, "PAWL-0340", "entry 1 of its audit trail is damaged")
            equal(done.stdout, "")
            equal(statuses(case), {"c": "active", "d": "active"})
    equal(case.state("d")["n"], 3)
    done = case.pawl("rm", "--status", "active", "--yes", status=0)
    holds(done.stderr, "kept c")
    equal(statuses(case), {"c": "active"})


def an_unsettled_trail_can_be_removed(case):
    case.pawl("save", "a", stdin='{"n": 1}', status=0)
    path = store(case, "runs/a/audit/audit_trail.jsonl")
    with open(path, "r+") as file:
        file.truncate(os.path.getsize(path) - 10)  # as after a crash: the journal has the rest
    holds(case.pawl("rm", "a", "--yes", status=0).stdout, "removed a (1 checkpoint)")


def an_erased_run_with_a_damaged_trail_is_kept(case):
    make(case, "c")
    case.pawl("erase", "c", "--yes", "--reason", "x", status=0)
    damage_trail(case, "c")
    done = case.pawl("rm", "c", "--yes", status=4)
    holds(done.stderr, "PAWL-0340", "already erased")
    equal(done.stdout, "")
    document = case.pawl("rm", "c", "--yes", "--json", status=4)
    assert '"removed"' not in document.stdout, document.stdout
    document = json.loads(case.pawl("rm", "--status", "erased", "--yes", "--json", status=0).stdout)
    equal((document["removed"], [row["run"] for row in document["kept"]]), ([], ["c"]))
    equal(statuses(case), {"c": "erased"})


def an_erasure_tells_that_the_trail_was_damaged(case):
    make(case, "c", "d")
    damage_trail(case, "c")
    equal(case.pawl("erase", "c", "--yes", "--reason", "x", status=0).stdout,
          "c: 2 checkpoints erased; audit trail kept, but it was already damaged at entry 1\n")
    equal(json.loads(case.pawl("erase", "c", "--yes", "--reason", "x", "--json", status=0).stdout)["damaged_entry"], 1)
    for args in (["fsck"], ["fsck", "--repair"], ["fsck"]):
        done = case.pawl(*args, status=0)
        holds(done.stdout, "entry 1 was already damaged when the run was erased", "1 note")
    holds(case.pawl("verify", "c", status=4).stderr, "PAWL-0340")
    damage = ("runs/c/audit/audit_trail.jsonl", '"type":"erased"', '"type":"erazed"')
    change(case, *damage)
    holds(case.pawl("fsck", status=4).stdout, "the audit trail does not end with the erasure")
    json_of_d = json.loads(case.pawl("erase", "d", "--yes", "--reason", "x", "--json", status=0).stdout)
    equal(json_of_d["damaged_entry"], None)


def spoil_run_file(case, how):
    path = store(case, "runs/c/run.json")
    if how == "missing":
        os.remove(path)
    else:
        change(case, "runs/c/run.json", *how)


WAYS = ("missing", ('"uuid":"', '"uuid":"0'), ('"durability"', '"durabilitx"'))


def a_run_with_a_damaged_run_file_is_erased(case):
    for how in WAYS:
        for lost_catalogue in (False, True):
            make(case, "c", "d")
            uuid = {row["run"]: row["uuid"] for row in json.loads(case.pawl("list", "--json", status=0).stdout)}["c"]
            spoil_run_file(case, how)
            if lost_catalogue:
                os.remove(store(case, "catalogue.db"))
            found = case.pawl("fsck", status=4).stdout
            holds(found, "restore the file from a backup", "pawl erase c --reason TEXT")
            assert "--fallback" not in found, found
            case.pawl("fsck", "--repair", status=4)
            done = case.pawl("erase", "c", "--yes", "--reason", "x", status=0)
            unknown = lost_catalogue and how != WAYS[2]
            equal(done.stdout, "c: erased (number of checkpoints unknown); audit trail kept" + ("; its UUID is unknown\n" if unknown else "\n"))
            equal(statuses(case), {"c": "erased", "d": "active"})
            equal(files_of(case, "c"), ["audit", "erased.json", "lock", "run.json"])
            with open(store(case, "runs/c/erased.json")) as file:
                mark = json.load(file)
            equal(mark["uuid"], "00000000-0000-0000-0000-000000000000" if unknown else uuid)
            assert "checkpoints" not in mark, mark
            case.pawl("fsck", status=0)
            case.pawl("verify", "--all", status=0)
            holds(case.pawl("rm", "c", "--yes", status=0).stdout, "removed c (already erased)\n")
            case.pawl("rm", "d", "--yes", status=0)
            case.pawl("verify", "--all", status=0)
            case.pawl("fsck", status=0)
            os.rename(store(case), store(case) + os.urandom(4).hex())


def a_run_with_a_damaged_run_file_is_removed(case):
    for how in WAYS:
        make(case, "c", "d")
        spoil_run_file(case, how)
        equal(case.pawl("rm", "c", "--yes", status=0).stdout, "removed c (number of checkpoints unknown)\n1 run removed\n")
        equal(files_of(case, "c"), ["erased.json", "lock"])
        equal(statuses(case), {"d": "active"})
        row = json.loads(case.pawl("list", "--removed", "--json", status=0).stdout)[0]
        equal((row["run"], row["checkpoints"], row["latest"]), ("c", None, 3))
        case.pawl("fsck", status=0)
        os.rename(store(case), store(case) + os.urandom(4).hex())


def forks_of_a_run_with_a_damaged_run_file_are_kept(case):
    for lost_catalogue in (False, True):
        make(case, "c")
        case.pawl("fork", "c@3", "--run-id", "f", status=0)
        case.pawl("prune", "--keep", "2", status=0)
        spoil_run_file(case, WAYS[1])
        if lost_catalogue:
            os.remove(store(case, "catalogue.db"))
        for command in (["rm", "c", "--yes"], ["erase", "c", "--yes", "--reason", "x"]):
            holds(case.pawl(*command, status=4).stderr, "PAWL-0255", "f")
        case.pawl("erase", "c", "--cascade", "--yes", "--reason", "x", status=0)
        equal(statuses(case), {"c": "erased", "f": "erased"})
        os.rename(store(case), store(case) + os.urandom(4).hex())


def an_unknown_number_of_checkpoints_is_not_stated(case):
    make(case, "c", "d")
    for run in "cd":
        change(case, f"runs/{run}/checkpoints/pruned.json", '"crc":"', '"crc":"z')
    found = case.pawl("fsck", status=4).stdout
    holds(found, "checkpoints/pruned.json", "pawl erase c --reason TEXT")
    assert "--fallback" not in found, found
    equal(case.pawl("rm", "c", "--yes", "--dry-run", status=0).stdout,
          "would remove c (number of checkpoints unknown)\n1 run would be removed\n")
    equal(case.pawl("rm", "c", "--yes", status=0).stdout, "removed c (number of checkpoints unknown)\n1 run removed\n")
    equal(json.loads(case.pawl("rm", "d", "--yes", "--json", status=0).stdout)["removed"][0]["checkpoints"], None)
    case.pawl("fsck", status=0)
    case.pawl("verify", "--all", status=0)


def a_dry_run_counts_what_is_there(case):
    make(case, "c")
    holds(case.pawl("rm", "c", "--dry-run", status=0).stdout, "would remove c (2 checkpoints)")


def erasing_a_removed_run_says_that_it_was_removed(case):
    make(case, "c", "d")
    case.pawl("rm", "c", "--yes", status=0)
    case.pawl("rm", "d", "--yes", "--reason", "old", status=0)
    done = case.pawl("erase", "c", "--yes", "--reason", "x", status=0).stdout
    holds(done, "c: removed on 20", " by ")
    assert "reason" not in done and "erased" not in done, done
    holds(case.pawl("erase", "d", "--yes", "--reason", "x", status=0).stdout, "d: removed on 20", "(reason: old)")
    equal(json.loads(case.pawl("erase", "d", "--yes", "--reason", "x", "--json", status=0).stdout)["status"], "already_removed")


if __name__ == "__main__":
    run_tests(globals())
