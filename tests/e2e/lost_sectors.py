#!/usr/bin/env python3
"""Tests that runs and ids whose journal lost more than single bits are known from the files of the runs.

  lost_sectors.py PAWL [name of a test]...
"""
import json
import os

from damage_confined import HEADER, listed, save, store
from repairs import verified
from workflow_case import equal, holds, run_tests


def lost_sectors(case):
    """Ways to lose more of a journal than single bits, by name."""
    path = store(case, "journal/1/00000001.log")

    def zeros(count):
        def damage():
            with open(path, "r+b") as file:
                file.seek(HEADER)
                file.write(bytes(count))
        return damage

    def remove_a_byte():
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(content[:HEADER + 10] + content[HEADER + 11:])

    return {"512 zeros": zeros(512), "4 KiB of zeros": zeros(4096), "8 KiB of zeros": zeros(8192),
            "a removed byte": remove_a_byte, "truncated": lambda: os.truncate(path, HEADER),
            "removed": lambda: os.unlink(path)}


def ids_and_runs_of_a_lost_sector_are_known_from_the_files(case):
    """Published, but not settled: the catalogue does not have them."""
    first_store = case.env["PAWL_STORE"]
    for name in lost_sectors(case):
        case.env["PAWL_STORE"] = f"{first_store}-{name.replace(' ', '-')}"
        for run in "ab":
            for number in (1, 2, 3):
                save_as(case, run, number, 0)
        lost_sectors(case)[name]()
        rows = listed(case, 0)
        equal({run: (row["latest"], row["status"]) for run, row in rows.items()}, {run: (3, "active") for run in "ab"})
        equal([line.split()[0] for line in case.pawl("list", "--limit", "1", status=0).stdout.splitlines()[1:]], ["b"])
        for again in range(2):
            for run in "ab":
                for number in (1, 2, 3):
                    equal(save_as(case, run, number, 0).stdout, f"{run}@{number}\n")
            if again == 0:
                case.pawl("fsck", "--repair")
                case.pawl("fsck", status=0)
        equal(set(listed(case, 0)), {"a", "b"})
        equal(case.state("b"), {"n": 3})
        equal(save_as(case, "a", 4, 0).stdout, "a@4\n")
        case.pawl("verify", "--all", status=0)


def a_lost_header_is_noticed_after_a_reboot(case):
    """The marks of the owner file no longer count, so nothing but the later batches shows that one is missing."""
    for run in "ab":
        for number in (1, 2, 3):
            save_as(case, run, number, 0)
    lost_sectors(case)["512 zeros"]()
    with open(store(case, "journal/1/owner"), "r+b") as file:
        file.seek(512)
        file.write(bytes(128))
    equal({run: row["latest"] for run, row in listed(case, 0).items()}, {"a": 3, "b": 3})
    for again in range(2):
        for run in "ab":
            for number in (1, 2, 3):
                equal(save_as(case, run, number, 0).stdout, f"{run}@{number}\n")
        if again == 0:
            case.pawl("fsck", status=4)
            case.pawl("fsck", "--repair")
            case.pawl("fsck", status=0)
    equal(save_as(case, "a", 4, 0).stdout, "a@4\n")
    verified(case)


def save_as(case, run, number, status):
    return case.pawl("save", run, "--id", f"{run}{number}", stdin=json.dumps({"n": number}), status=status)


def an_id_is_refused_if_neither_journal_nor_files_know_its_save(case):
    for number in (1, 2, 3):
        case.pawl("save", "a", "--id", f"a{number}", stdin=json.dumps(os.urandom(600_000).hex()), status=0)
    os.unlink(store(case, "catalogue.db"))
    os.unlink(store(case, "runs/a/checkpoints/checkpoint_00001.jsonl"))
    lost_sectors(case)["8 KiB of zeros"]()
    holds(save_as(case, "a", 2, 4).stderr, "checkpoint 2 of run 'a'")
    holds(save_as(case, "a", 7, 4).stderr, "checkpoint 2 of run 'a'")
    save(case, "a", 4, status=0)  # without an id


if __name__ == "__main__":
    run_tests(globals())
