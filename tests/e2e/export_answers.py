#!/usr/bin/env python3
"""Tests the reports of `pawl import` and `pawl export`: correct counts, unchanged names, no empty store left behind.

  export_answers.py PAWL [TEST...]
"""
import json
import os
import re

from workflow_case import equal, holds, run_tests


def exported(case, saves=3):
    for number in range(saves):
        case.pawl("save", "nightly", stdin=json.dumps({"n": number}), status=0)
    case.pawl("export", "nightly", "-o", "nightly.pawl", status=0)
    return os.path.join(case.folder, "other")


def matches(text, pattern):
    assert re.fullmatch(pattern, text), f"{text!r} does not match {pattern!r}"


def a_file_of_another_format_is_no_success(case):
    other = exported(case)
    done = case.pawl("import", "nightly.pawl", "--from", "dag", "--store", other, status=2)
    holds(done.stderr, "PAWL-0033", "found nothing in the format 'dag' (nightly.pawl)", "remove --from")
    equal(done.stdout, "")
    assert not os.path.exists(other)
    equal(json.loads(case.pawl("import", "nightly.pawl", "--from", "dag", "--json", status=2).stdout)["runs"], [])


def what_is_refused_as_a_whole_makes_no_store_and_no_claim(case):
    case.write("rows", "INSERT INTO workflow_checkpoints VALUES ('a','w','2025-01-01T00:00:00Z',1,'{','{}','{}');")
    for mode in ([], ["--dry-run"]):
        done = case.pawl("import", "rows", "--from", "dag", *mode, status=4)
        holds(done.stderr, "1 of the items to import was refused, and nothing was imported")
        assert not os.path.exists(case.env["PAWL_STORE"])


def what_is_refused_in_part_says_that_the_rest_was_taken(case):
    row = "INSERT INTO workflow_checkpoints VALUES ('{}','{}','2025-01-01T00:00:00Z',1,'{}','{{}}','{{}}');\n"
    case.write("rows", row.format("a", "w", "{") + row.format("b", "x", "{}"))
    holds(case.pawl("import", "rows", "--from", "dag", "--dry-run", status=4).stderr, "the rest would be imported")
    holds(case.pawl("import", "rows", "--from", "dag", status=4).stderr, "1 of the items to import was refused, the rest was imported")
    assert os.path.exists(case.env["PAWL_STORE"])


def a_damaged_portable_file_makes_no_store(case):
    other = exported(case)
    path = os.path.join(case.folder, "nightly.pawl")
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 10)
    case.pawl("import", "nightly.pawl", "--store", other, status=4)
    assert not os.path.exists(other)


def a_portable_files_numbers_are_true_or_left_out(case):
    other = exported(case)
    there = ("import", "nightly.pawl", "--store", other)
    matches(case.pawl(*there, "--dry-run", status=0).stdout, r"nightly: would be imported, [1-9]\d* files\n")
    dry = json.loads(case.pawl(*there, "--dry-run", "--json", status=0).stdout)["runs"][0]
    equal((dry["written"], dry["repeated"], dry["events"]), (None, None, None))
    assert not os.path.exists(other)
    matches(case.pawl(*there, status=0).stdout, r"nightly: imported 3 checkpoints in [1-9]\d* files\n")
    equal(case.pawl(*there, status=0).stdout, "nightly: imported nothing, 3 already present\n")
    again = json.loads(case.pawl(*there, "--json", status=0).stdout)["runs"][0]
    equal((again["written"], again["repeated"], again["events"]), (0, 3, None))
    equal(case.pawl(*there, "--dry-run", status=0).stdout, "nightly: already present\n")


def an_output_that_can_not_be_is_named_as_it_was_asked_for(case):
    exported(case, saves=1)
    missing = os.path.join(case.folder, "missing")
    done = case.pawl("export", "nightly", "-o", os.path.join(missing, "x.pawl"), status=5)
    holds(done.stderr, f"can't open the output folder: No such file or directory ({missing})")
    done = case.pawl("handoff", "nightly", "-o", os.path.join(missing, "x.md"), status=5)
    holds(done.stderr, f"can't open the output folder: No such file or directory ({missing})")


run_tests(globals())
