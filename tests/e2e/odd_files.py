#!/usr/bin/env python3
"""Tests that files with odd names, of another kind, of absurd size or that don't belong there stop only the run they are in.

  odd_files.py PAWL [name of a test]...
"""
import json
import os
import shutil
import time

from damage_confined import listed, make_runs, save, settled, store
from workflow_case import equal, holds, run_tests

ODD_NAMES = ("checkpoint_100000000.json", "checkpoint_100000000.jsonl", "checkpoint_18446744073709551615.json",
             "checkpoint_99999999999999999999999.json", "checkpoint_-1.json", "kept_100000000.json", "x" * 200, "a b\nc", ".hidden")


def plant(kind, path):
    if kind == "file":
        with open(path, "w") as file:
            file.write("not a checkpoint\n")
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "link":
        os.symlink("/dev/zero", path)
    else:
        os.mkfifo(path)


def all_works(case, what):
    begun = time.monotonic()
    for command in (["list"], ["show", "a"], ["restore", "a"], ["stats"], ["prune", "--keep", "1000"], ["verify", "--all"], ["fsck"], ["doctor"]):
        done = case.pawl(*command, timeout=20)
        equal((what, command, done.returncode, done.stderr if done.returncode else ""), (what, command, 0, ""))
    save(case, "a", 9, status=0, timeout=20)
    took = time.monotonic() - begun
    assert took < 10, f"{what}: {took:.1f} s"


def odd_names_in_a_run_change_nothing(case):
    make_runs(case, rounds=2, runs="ab")
    case.pawl("fsck", "--repair", status=0)
    for folder in ("runs/a/checkpoints", "runs/a/events", "runs/a/audit", "runs/a"):
        os.makedirs(store(case, folder), exist_ok=True)
        for kind in ("file", "folder", "link", "pipe"):
            names = ODD_NAMES if kind == "file" else ("checkpoint_100000000.json", "events_9999-99-99.jsonl.x", "zzz.jsonl")
            for name in names:
                plant(kind, store(case, folder, name))
            all_works(case, f"{kind}s in {folder}")
            for name in names:
                path = store(case, folder, name)
                if os.path.lexists(path):
                    os.rmdir(path) if kind == "folder" else os.remove(path)


def odd_names_in_the_store_change_nothing(case):
    make_runs(case, rounds=2, runs="ab")
    for folder in ("", "runs", "journal", "journal/1", "recovery", "erasing"):
        os.makedirs(store(case, folder), exist_ok=True)
        for kind in ("file", "link", "pipe"):
            names = ("stray", "7", "00000009.log.x", "99999999999999999999", "..x") if folder != "erasing" else ("stray.", "a b", "..x")
            if folder == "recovery":
                names = ("stray",)
            for name in names:
                plant(kind, store(case, folder, name))
            all_works(case, f"{kind}s in {folder}")
            for name in names:
                if os.path.lexists(store(case, folder, name)):
                    os.remove(store(case, folder, name))


def something_else_in_the_place_of_a_file_stops_only_its_run(case):
    make_runs(case)
    case.pawl("fsck", "--repair", status=0)
    for name in ("run.json", "checkpoints/checkpoint_00001.json", "audit/audit_trail.jsonl"):
        path = store(case, "runs/b", name)
        os.rename(path, path + ".away")
        for kind in ("folder", "link", "pipe"):
            plant(kind, path)
            rows = listed(case, None)
            equal((name, kind, rows["a"]["status"], rows["c"]["status"]), (name, kind, "active", "active"))
            for run in "ac":
                case.pawl("show", run, status=0, timeout=20)
                save(case, run, 7, status=0, timeout=20)
            equal((name, kind, case.pawl("fsck", timeout=20).returncode), (name, kind, 4))
            case.pawl("stats", timeout=20)
            case.pawl("prune", "--keep", "1000", timeout=20)
            os.rmdir(path) if kind == "folder" else os.remove(path)
        os.rename(path + ".away", path)
    case.pawl("fsck", status=0)


def a_run_whose_files_cant_be_written_fills_no_journal(case):
    made = {"audit": "file", "checkpoints": "file", "checkpoints/pruned.json": "file", "checkpoints/aside.json": "folder"}
    for name, kind in made.items():
        shutil.rmtree(store(case), ignore_errors=True)
        make_runs(case, runs="ab")
        path, away = store(case, "runs/b", name), os.path.join(case.folder, "away")
        if os.path.exists(path):
            os.rename(path, away)
        plant(kind, path)
        for number in range(42):  # more than the journals have room for
            done = case.pawl("save", "a", stdin=json.dumps({"n": number, "fill": os.urandom(240_000).hex()}))
            equal((name, number, done.returncode, done.stderr), (name, number, 0, ""))
        newest = 4 if save(case, "b", 4).returncode == 0 else 3  # the journal may take it
        case.pawl("fsck", status=4)
        os.rmdir(path) if kind == "folder" else os.remove(path)
        if os.path.exists(away):
            os.rename(away, path)
        case.pawl("fsck", "--repair", status=0)
        equal(json.loads(case.pawl("restore", "b", status=0).stdout), {"run": "b", "n": newest})
        equal(save(case, "b", 9, status=0).stdout, f"b@{newest + 1}\n")
        case.pawl("verify", "--all", status=0)


def an_oversized_file_stops_only_its_run(case):
    make_runs(case)
    case.pawl("fsck", "--repair", status=0)
    for name in ("run.json", "erased.json", "checkpoints/pruned.json", "audit/merkle_roots.json"):
        path = store(case, "runs/b", name)
        size = os.path.getsize(path) if os.path.exists(path) else None
        with open(path, "ab") as file:
            file.truncate(5 << 30)
        rows = listed(case, None)
        equal((name, rows["a"]["status"], rows["c"]["status"]), (name, "active", "active"))
        for command in (["fsck"], ["fsck", "--repair"], ["verify", "--all"]):
            done = case.pawl(*command, timeout=60)
            equal((name, command, done.returncode), (name, command, 4))
            holds(done.stdout, name if command[0] == "fsck" else "a: fine")
        save(case, "a", 7, status=0)
        os.remove(path) if size is None else os.truncate(path, size)
    case.pawl("fsck", status=0)


def a_file_with_a_huge_hole_is_neither_copied_nor_filled(case):
    make_runs(case)
    case.pawl("fsck", "--repair", status=0)
    records = [os.path.join("checkpoints", name) for name in os.listdir(store(case, "runs/b/checkpoints")) if name.startswith("checkpoint_")]
    os.makedirs(store(case, "runs/b/logs"), exist_ok=True)
    for name in [records[0], "audit/audit_trail.jsonl", "logs/step.out"]:
        path = store(case, "runs/b", name)
        with open(path, "ab") as file:
            file.truncate(1 << 43)
    done = case.pawl("backup", "create", "--force", os.path.join(case.folder, "backup.tar.zst"), status=4, timeout=60)
    for name in (records[0], "audit/audit_trail.jsonl", "logs/step.out"):
        holds(done.stdout + done.stderr, f"runs/b/{name}", "has a hole of")
    holds(case.pawl("erase", "b", "--reason", "test", "--yes", status=4, timeout=60).stderr, "audit_trail.jsonl", "move it away")
    os.remove(store(case, "runs/b/audit/audit_trail.jsonl"))
    case.pawl("erase", "b", "--reason", "test", "--yes", status=0, timeout=60)
    equal([name for name in records if os.path.exists(store(case, "runs/b", name))], [])
    save(case, "a", 7, status=0)


def a_stray_wal_of_the_catalogue_is_ignored(case):
    for content in (b"", os.urandom(5000)):
        for number in range(3):
            case.pawl("save", "a", "--id", f"{len(content)}-{number}", stdin=json.dumps({"n": number, "c": len(content)}), status=0)
        case.pawl("fsck", "--repair", status=0)
        for name in ("catalogue.db-wal", "catalogue.db-shm"):
            with open(store(case, name), "wb") as file:
                file.write(content)
        equal(listed(case, 0)["a"]["status"], "active")
        case.pawl("save", "a", "--id", f"{len(content)}-more", stdin=json.dumps({"more": len(content)}), status=0)
        case.pawl("prune", "--keep", "1000", status=0)
        case.pawl("fsck", status=0)
        os.remove(store(case, "catalogue.db"))
        equal(listed(case, 0)["a"]["status"], "active")


def something_else_in_the_place_of_a_folder_stops_only_its_run(case):
    make_runs(case)
    case.pawl("fsck", "--repair", status=0)
    for name in ("", "checkpoints", "audit", "events", "inbox", "blobs", "logs"):
        path = os.path.normpath(store(case, "runs/b", name))
        away = os.path.join(case.folder, "away")
        existed = os.path.exists(path)
        if existed:
            os.rename(path, away)
        for kind in ("file", "link", "pipe"):
            plant(kind, path)
            rows = listed(case, None)
            equal((name, kind, rows["a"]["status"], rows["c"]["status"]), (name, kind, "active", "active"))
            for run in "ac":
                save(case, run, 7, status=0, timeout=20)
            for command in (["fsck"], ["verify", "--all"], ["fsck", "--repair"]):
                done = case.pawl(*command, timeout=20)
                text = done.stdout + done.stderr
                assert done.returncode in ((0, 4, 5) if name in ("", "blobs", "logs", "inbox") else (4, 5)), (name, kind, command, text)
                assert "a: fine" in text if command[0] == "verify" else "runs" in done.stdout, (name, kind, command, text)
            case.pawl("stats", status=0, timeout=20)
            os.remove(path)
        if existed:
            os.rename(away, path)
    case.pawl("fsck", status=0)
    case.pawl("verify", "--all", status=0)


def a_pipe_in_the_place_of_a_file_blocks_nobody(case):
    store = settled(case)
    for name in ("config.yaml", "store.json"):
        path = os.path.join(store, name)
        if os.path.exists(path):
            os.rename(path, path + ".away")
        os.mkfifo(path)
        for args in (["list"], ["restore", "a"], ["fsck"], ["doctor"], ["save", "a"]):
            assert case.pawl(*args, stdin="{}", timeout=20).returncode in (1, 2, 4, 5), args
        os.unlink(path)
        if os.path.exists(path + ".away"):
            os.rename(path + ".away", path)
    case.pawl("fsck", status=0)


if __name__ == "__main__":
    run_tests(globals())
