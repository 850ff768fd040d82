#!/usr/bin/env python3
"""Tests recovery with the real program: modes, damage, fallback, refusals, validation criteria VC-001 to VC-006."""
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import threading

from workflow_case import equal, holds, run_tests, wait_for

FOUR = """\
    name: four
    description: Four steps, one of which needs help
    vars: { topic: tides }
    steps:
      - id: one
        run: 'echo one >> log; echo first'
        capture: { format: text }
      - id: two
        run: 'echo two >> log; echo second'
        capture: { format: text }
      - id: three
        run: 'echo three >> log; test -e mended'
      - id: four
        run: 'echo four >> log'
    """
NO_FALLBACK = {"PAWL_RECOVERY_FALLBACK_TO_PREVIOUS": "false"}


# Helpers.

def store_path(case, *parts):
    return os.path.join(case.env["PAWL_STORE"], *parts)


def settle(case):
    """Moves everything from the journals to the files, so that each file is the only copy."""
    case.pawl("fsck", "--repair", status=0)


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x20]))


def lines_of(case, run="r"):
    """Returns the newest file of differences and the offsets of its lines."""
    path = sorted(glob.glob(store_path(case, "runs", run, "checkpoints", "checkpoint_*.jsonl")))[-1]
    with open(path, "rb") as file:
        text = file.read()
    starts = [0] + [match.end() for match in re.finditer(rb"\n", text)][:-1]
    return path, starts


def damage_line(case, index, run="r"):
    """Damages one difference and returns the sequence number of the checkpoint before it."""
    path, starts = lines_of(case, run)
    with open(path, "rb") as file:
        file.seek(starts[index])
        sequence = json.loads(file.readline())["seq"]
    flip(path, starts[index] + 40)
    return sequence - 1


def save(case, run, state, *more):
    return json.loads(case.pawl("save", run, "--json", *more, stdin=json.dumps(state), status=0).stdout)["sequence"]


def failures(case):
    path = store_path(case, "recovery", "failures.jsonl")
    if not os.path.exists(path):
        return []
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def sequences(case, run="r"):
    return [row["sequence"] for row in json.loads(case.pawl("show", run, "--checkpoints", "--after", "0", "--limit", "100000", "--json", status=0).stdout)]


def failed_run(case):
    """Makes a run that failed at its third step, with its files as the only copy."""
    case.run(FOUR, status=1)
    settle(case)


# Modes.

def latest_gives_the_newest_state_and_reports_on_standard_error(case):
    for number in range(1, 4):
        save(case, "r", {"n": number})
    done = case.pawl("restore", "r", "--mode", "latest", status=0)
    equal(done.stdout, '{"n": 3}')
    holds(done.stderr, "checkpoint 3 (latest): 1 rebuilt, 0 events replayed")
    equal(case.pawl("restore", "r", status=0).stdout, done.stdout)


def full_rebuilds_every_checkpoint(case):
    for number in range(1, 31):
        save(case, "r", {"n": number, "text": "x" * number * 40})
    found = json.loads(case.pawl("restore", "r", "--mode", "full", "--json", status=0).stdout)
    equal(found["state"]["n"], 30)
    equal(found["recovery"]["checkpoints_rebuilt"], 30)
    equal(found["recovery"]["fallback"], False)
    equal(found["recovery"]["warnings"], [])


def full_replays_all_events_of_a_workflow(case):
    failed_run(case)
    found = json.loads(case.pawl("restore", "r", "--mode", "full", "--json", status=0).stdout)
    equal(found["recovery"]["events_replayed"], len(case.events()))
    equal(found["recovery"]["checkpoints_rebuilt"], len(sequences(case)))


def full_finds_damage_that_latest_does_not_need(case):
    """A damaged old group does not affect the newest state."""
    save(case, "r", {"n": 1})
    save(case, "r", {"n": 2})
    for number in range(3, 6):
        save(case, "r", {"n": number, "text": os.urandom(150000).hex()})
    settle(case)
    bases = sorted(glob.glob(store_path(case, "runs", "r", "checkpoints", "checkpoint_*.json")))
    assert len(bases) > 1, bases
    flip(bases[0], 30)
    equal(json.loads(case.pawl("restore", "r", status=0).stdout)["n"], 5)
    refused = case.pawl("restore", "r", "--mode", "full", status=4, env=NO_FALLBACK)
    equal(refused.stdout, "")
    holds(refused.stderr, "PAWL-03", "checkpoint 1 of run 'r'", "--fallback")
    told = case.pawl("restore", "r", "--mode", "full", status=0)
    equal(json.loads(told.stdout)["n"], 5)
    holds(told.stderr, "warning: checkpoint 1 of run 'r'")


def point_in_time_takes_a_sequence_or_a_time(case):
    for number in range(1, 6):
        save(case, "r", {"n": number})
    rows = json.loads(case.pawl("show", "r", "--checkpoints", "--after", "0", "--json", status=0).stdout)
    equal(case.pawl("restore", "r", "--at", "3", status=0).stdout, '{"n": 3}')
    equal(case.pawl("restore", "r@4", "--mode", "point-in-time", status=0).stdout, '{"n": 4}')
    equal(case.pawl("restore", "r", "--at", rows[1]["created"], status=0).stdout, '{"n": 2}')
    equal(case.pawl("restore", "r", "--at", "2099-01-01", status=0).stdout, '{"n": 5}')
    later = rows[1]["created"][:-1] + "+00:00"
    equal(case.pawl("restore", "r", "--at", later, status=0).stdout, '{"n": 2}')
    holds(case.pawl("restore", "r", "--at", "1999-12-31T23:59Z", status=2).stderr, "PAWL-0102", "no checkpoint that early")
    holds(case.pawl("restore", "r", "--at", "yesterday", status=2).stderr, "PAWL-0001", "neither a checkpoint number nor a time")
    holds(case.pawl("restore", "r", "--mode", "point-in-time", status=2).stderr, "PAWL-0001", "requires --at")
    holds(case.pawl("restore", "r", "--mode", "latest", "--at", "3", status=2).stderr, "PAWL-0001")


# Damage and fallback.

def a_damaged_newest_checkpoint_is_refused_and_named(case):
    for number in range(1, 6):
        save(case, "r", {"n": number})
    settle(case)
    damage_line(case, -1)
    for mode in ([], ["--mode", "latest"], ["--mode", "full"]):
        refused = case.pawl("restore", "r", *mode, status=4, env=NO_FALLBACK)
        equal(refused.stdout, "")
        holds(refused.stderr, "PAWL-0", "checkpoint 5 of run 'r'", "checkpoint_00001.jsonl")
    holds(case.pawl("restore", "r", "--mode", "latest", status=4, env=NO_FALLBACK).stderr, "checkpoint 4, the newest intact one", "--fallback")
    equal(case.pawl("restore", "r", status=4).stdout, "")
    found = failures(case)
    equal({line["run"] for line in found}, {"r"})
    holds(found[-1]["what"], "checkpoint 5 of run 'r'")


def a_fallback_gives_the_newest_whole_state_and_says_so(case):
    for number in range(1, 6):
        save(case, "r", {"n": number})
    settle(case)
    damage_line(case, -1)
    told = case.pawl("restore", "r", "--fallback", status=0)
    equal(told.stdout, '{"n": 4}')
    holds(told.stderr, "warning: ", "fell back to checkpoint 4 of run 'r'", "a fallback")
    equal(told.stderr.count("checkpoint 5 of run 'r'"), 1)
    report = case.pawl("restore", "r", "--fallback", "--report", status=0).stderr.splitlines()[-1]
    equal(json.loads(report)["checkpoint"], 4)
    found = json.loads(case.pawl("restore", "r", "--fallback", "--json", status=0).stdout)
    equal((found["recovery"]["fallback"], found["recovery"]["checkpoint"], found["recovery"]["highest"]), (True, 4, 5))
    holds(failures(case)[-1]["what"], "fell back to checkpoint 4")
    for mode in ("latest", "full"):
        by_itself = case.pawl("restore", "r", "--mode", mode, status=0)
        equal(by_itself.stdout, '{"n": 4}')
        holds(by_itself.stderr, "warning: ", "fell back to checkpoint 4 of run 'r'", "a fallback")


def a_damaged_run_is_listed_and_can_be_gone_on_with(case):
    for number in range(1, 6):
        save(case, "r", {"n": number})
    save(case, "other", {"m": 1})
    settle(case)
    damage_line(case, -1)
    os.remove(store_path(case, "catalogue.db"))
    listed = {row["run"]: row["status"] for row in json.loads(case.pawl("list", "--json", status=0).stdout)}
    equal(listed, {"r": "damaged", "other": "active"})
    holds(case.pawl("list", status=0).stderr, "pawl restore r --fallback")
    holds(case.pawl("doctor", status=0).stdout, "the newest checkpoint of 1 of them can't be read")
    for command in (["restore", "r"], ["show", "r"], ["save", "r"]):
        holds(case.pawl(*command, status=4, stdin='{"n": 9}').stderr, "PAWL-03", "checkpoint 5 of run 'r'", "pawl restore r --fallback", "pawl rollback r@SEQ")
    holds(case.pawl("export", "r", "-o", os.path.join(case.folder, "r.pawl"), status=4).stderr, "the run to be exported is damaged")
    assert not os.path.exists(os.path.join(case.folder, "r.pawl"))
    case.pawl("fork", "r@4", "--run-id", "f", status=0)
    equal(case.pawl("restore", "f", status=0).stdout, '{"n": 4}')
    equal(case.pawl("rollback", "r@3", status=0).stdout, "r@6\n")
    equal(case.pawl("restore", "r", status=0).stdout, '{"n": 3}')
    save(case, "r", {"n": 10})
    equal(sequences(case)[-1], 7)
    case.pawl("fsck", status=0)


def a_damaged_middle_of_a_chain_goes_back_before_it(case):
    for number in range(1, 9):
        save(case, "r", {"n": number})
    settle(case)
    equal(damage_line(case, 3), 4)
    holds(case.pawl("restore", "r", status=4).stderr, "checkpoint 5 of run 'r'")
    equal(case.pawl("restore", "r", "--fallback", status=0).stdout, '{"n": 4}')
    holds(case.pawl("restore", "r", "--at", "7", status=4, env=NO_FALLBACK).stderr, "checkpoint 5 of run 'r'", "checkpoint 4, the newest intact one", "--fallback")
    equal(case.pawl("restore", "r", "--at", "4", status=0).stdout, '{"n": 4}')


def a_missing_parent_is_named(case):
    for number in range(1, 4):
        save(case, "r", {"n": number})
    settle(case)
    os.remove(store_path(case, "runs", "r", "checkpoints", "checkpoint_00001.json"))
    refused = case.pawl("restore", "r", status=4)
    holds(refused.stderr, "PAWL-0304: checkpoint 1 of run 'r' is missing, and later ones depend on it", "pawl fsck")
    refused = case.pawl("restore", "r", "--fallback", status=4)
    holds(refused.stderr, "PAWL-0305", "no checkpoint of run 'r' can be used: checkpoints 1 to 3 of run 'r' are missing")


def a_resume_with_a_missing_parent_names_it(case):
    failed_run(case)
    os.remove(store_path(case, "runs", "r", "checkpoints", "checkpoint_00001.json"))
    refused = case.pawl("resume", "r", status=4)
    holds(refused.stderr, "PAWL-0305: no checkpoint of run 'r' can be used: checkpoints 1 to", "are missing", "pawl fsck")
    refused = case.pawl("resume", "r", status=4, env=NO_FALLBACK)
    holds(refused.stderr, "PAWL-0304: checkpoint 1 of run 'r' is missing, and later ones depend on it", "pawl fsck")
    equal(case.log(), ["one", "two", "three"])
    equal(failures(case)[-1]["code"], "PAWL-0304")


def a_fallback_that_would_run_a_completed_step_again_stops_and_lists_it(case):
    failed_run(case)
    # The difference that records `two`, and everything after it.
    path, starts = lines_of(case)
    with open(path) as lines:
        texts = lines.read().splitlines()
    completes_two = next(i for i, text in enumerate(texts) if json.loads(text).get("step") == "two")
    damage_line(case, completes_two)
    refused = case.pawl("resume", "r", status=4, env=NO_FALLBACK)
    holds(refused.stderr, "PAWL-03", "of run 'r'", "the newest intact one, add --fallback")
    refused = case.pawl("resume", "r", status=4)
    holds(refused.stderr, "PAWL-0611", "which would run completed steps again:", "\n  two", "--fallback --accept-rerun")
    equal(case.log(), ["one", "two", "three"])
    equal([line["code"] for line in failures(case)][-1], "PAWL-0611")
    case.write("mended", "")
    gone_on = case.pawl("resume", "r", "--fallback", "--accept-rerun", status=0)
    holds(gone_on.stderr, "fell back to checkpoint", "step two was completed and will run again")
    holds(case.pawl("handoff", "r", status=0).stdout, "## Recoveries\n- fell back from checkpoint ", ", run again: two\n")
    told = json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)["recoveries"]
    equal([(entry["what"], entry["run_again"], entry["from"] > entry["to"], len(entry["why"]) > 0) for entry in told], [("recovery_fallback", ["two"], True, True)])
    equal(case.log().count("two"), 2)
    equal(case.steps(), {"one": "completed", "two": "completed", "three": "completed", "four": "completed"})


def a_run_goes_on_behind_damage_without_using_a_number_twice(case):
    failed_run(case)
    before = sequences(case)
    damage_line(case, -1)
    case.write("mended", "")
    gone_on = case.pawl("resume", "r", "--fallback", "--accept-rerun", status=0)
    holds(gone_on.stderr, "fell back to checkpoint")
    after = sequences(case)
    lost = before[-1]
    assert lost not in after, (before, after)
    equal(after[:len(before) - 1], before[:-1])
    equal(after[len(before) - 1], lost + 1)
    refused = case.pawl("restore", f"r@{lost}", status=4)
    holds(refused.stderr, "PAWL-0612", "damaged and set aside by a fallback")
    # The fallback is recorded in the events, the list, the audit trail and the failure log.
    fallback, = case.events("recovery_fallback")
    equal((fallback["data"]["from"], fallback["data"]["to"]), (lost, lost - 1))
    with open(store_path(case, "runs", "r", "checkpoints", "aside.json"), "rb") as file:
        text = file.read()
    entry, = json.loads(text)["aside"]
    equal((entry["from"], entry["to"], entry["back_to"]), (lost, lost, lost - 1))
    settle(case)
    with open(store_path(case, "runs", "r", "audit", "audit_trail.jsonl")) as lines:
        audited = [json.loads(line) for line in lines]
    bound, = [line for line in audited if line["type"] == "checkpoints_set_aside"]
    equal(bound["payload"], "sha256:" + hashlib.sha256(text).hexdigest())
    assert any("fallback from checkpoint" in line["what"] for line in failures(case)), failures(case)
    checked = case.pawl("fsck", status=0)
    holds(checked.stdout, "damaged and set aside by a fallback")
    # A change to the list is detected.
    flip(store_path(case, "runs", "r", "checkpoints", "aside.json"), 30)
    case.pawl("fsck", status=4)


def what_was_set_aside_is_pruned_with_the_rest(case):
    failed_run(case)
    damage_line(case, -1)
    case.write("mended", "")
    case.pawl("resume", "r", "--fallback", "--accept-rerun", status=0)
    settle(case)
    found = json.loads(case.pawl("restore", "r", "--mode", "full", "--json", status=0).stdout)
    equal(found["recovery"]["checkpoints_rebuilt"], len(sequences(case)))
    newest = case.pawl("restore", "r", status=0).stdout
    case.pawl("prune", "r", "--keep", "1", status=0)
    equal(case.pawl("restore", "r", status=0).stdout, newest)
    equal(len(sequences(case)), 1)
    case.pawl("fsck", status=0)


def an_encrypted_run_goes_on_behind_damage(case):
    case.pawl("init", "--encrypt", "--key-file", os.path.join(case.folder, "key"), status=0)
    case.env["PAWL_KEY_FILE"] = os.path.join(case.folder, "key")
    failed_run(case)
    lost = sequences(case)[-1]
    damage_line(case, -1)
    holds(case.pawl("resume", "r", status=4, env=NO_FALLBACK).stderr, "PAWL-03")
    case.write("mended", "")
    case.pawl("resume", "r", "--fallback", "--accept-rerun", status=0)
    settle(case)
    assert lost not in sequences(case)
    case.pawl("restore", "r", "--mode", "full", status=0)
    case.pawl("fsck", status=0)


def a_second_damage_is_set_aside_as_well(case):
    failed_run(case)
    damage_line(case, -1)
    case.pawl("resume", "r", "--fallback", "--accept-rerun", status=1)
    settle(case)
    path = sorted(glob.glob(store_path(case, "runs", "r", "checkpoints", "checkpoint_*.jsonl")))[-1]
    damage_line(case, -1)
    case.write("mended", "")
    case.pawl("resume", "r", "--fallback", "--accept-rerun", status=0)
    with open(store_path(case, "runs", "r", "checkpoints", "aside.json")) as file:
        equal(len(json.load(file)["aside"]), 2)
    assert os.path.exists(path)
    numbers = sequences(case)
    equal(len(numbers), len(set(numbers)))
    settle(case)
    case.pawl("fsck", status=0)


def a_resume_reports_its_recovery(case):
    failed_run(case)
    case.write("mended", "")
    done = case.pawl("resume", "r", "--mode", "full", "--json", status=0)
    told = json.loads(done.stdout.splitlines()[0])
    equal((told["event"], told["run"], told["mode"], told["fallback"], told["warnings"]), ("recovery", "r", "full", False, []))
    assert told["checkpoints_rebuilt"] > 3 and told["events_replayed"] > 3, told
    holds(case.pawl("resume", "r", "--mode", "point-in-time", status=2).stderr, "PAWL-0001", "pawl rollback r@SEQ", "pawl fork r@SEQ")
    holds(case.pawl("resume", "r", "--mode", "ful", status=2).stderr, "did you mean 'full'", "one of: latest, full\n")
    assert "point-in-time" not in case.pawl("resume", "r", "--mode", "x", status=2).stderr


def bad_events_stop_a_fallback(case):
    failed_run(case)
    damage_line(case, -1)
    events = glob.glob(store_path(case, "runs", "r", "events", "*.jsonl"))[0]
    flip(events, 30)
    refused = case.pawl("resume", "r", "--fallback", status=4)
    holds(refused.stderr, "PAWL-0306", "can't read the events")
    refused = case.pawl("resume", "r", "--fallback", "--skip-bad-events", status=4)
    holds(refused.stderr, "PAWL-0611", "are unknown")


# Refusals: each has its own message.

def a_missing_handler_is_named(case):
    failed_run(case)
    case.write("workflow.yaml", FOUR.replace("run: 'echo four >> log'", "handler: summarise"))
    refused = case.pawl("resume", "r", "--accept-changes", status=4)
    holds(refused.stderr, "PAWL-0604", "handler 'summarise' is not registered")
    equal(case.log(), ["one", "two", "three"])
    equal(failures(case)[-1]["code"], "PAWL-0604")


def an_exhausted_retry_count_is_told(case):
    failed_run(case)
    case.write("workflow.yaml", FOUR)
    env = {"PAWL_RECOVERY_MAX_RECOVERY_ATTEMPTS": "2"}
    codes = [case.pawl("resume", "r", "--automatic", env=env).returncode for _ in range(2)]
    refused = case.pawl("resume", "r", "--automatic", env=env, status=4)
    holds(refused.stderr, "PAWL-0603")
    case.write("mended", "")
    case.pawl("resume", "r", status=0)
    assert set(codes) <= {1, 4}, codes


def a_recovery_in_progress_is_told(case):
    case.run(FOUR.replace("test -e mended", "test -e mended && while test ! -e go; do sleep 0.02; done"), status=1)
    case.write("mended", "")
    first = case.start("resume", "r")
    wait_for(lambda: case.log().count("three") == 2, "the first recovery")
    refused = case.pawl("resume", "r", status=4)
    holds(refused.stderr, "PAWL-0602", "another process is already resuming run", str(first.pid))
    case.write("go", "")
    equal(first.wait(timeout=60), 0)
    holds(case.pawl("resume", "r", status=4).stderr, "PAWL-0610", "is completed")


def an_unknown_schema_version_is_no_damage(case):
    """A record of a newer format is refused, and no fallback skips it."""
    for number in range(1, 4):
        save(case, "r", {"n": number})
    settle(case)
    path = store_path(case, "runs", "r", "run.json")
    with open(path) as file:
        text = file.read()
    newer = text.replace('"pawl":2', '"pawl":9')
    body = newer[:newer.index(',"crc"')]
    with open(path, "w") as file:
        file.write(f'{body},"crc":"{crc32c(body.encode()):08x}"}}\n')
    for more in ([], ["--fallback"], ["--mode", "full", "--fallback"]):
        refused = case.pawl("restore", "r", *more, status=4)
        holds(refused.stderr, "PAWL-0401", "format 9")


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# Lists and sessions.

def lists_are_filtered(case):
    case.write("good.yaml", "name: good\nsteps:\n  - id: a\n    run: 'true'\n")
    case.write("bad.yaml", "name: bad\nsteps:\n  - id: a\n    run: 'false'\n")
    case.pawl("run", "good.yaml", "--run-id", "g1", "--session", "night", status=0)
    case.pawl("run", "bad.yaml", "--run-id", "b1", "--session", "night", status=1)
    case.pawl("run", "bad.yaml", "--run-id", "b2", "--session", "day", status=1)
    save(case, "s1", {"n": 1}, "--metadata", '{"team": "blue", "cost": 3, "at": {"site": "x"}}')
    save(case, "s2", {"n": 1}, "--metadata", '{"team": "red"}')

    def listed(*args):
        return sorted(row["run"] for row in json.loads(case.pawl("list", "--json", *args, status=0).stdout))

    equal(listed(), ["b1", "b2", "g1", "s1", "s2"])
    equal(listed("--failed"), ["b1", "b2"])
    equal(listed("--resumable"), ["b1", "b2"])
    equal(listed("--session", "night"), ["b1", "g1"])
    equal(listed("--session", "night", "--failed"), ["b1"])
    equal(listed("--workflow", "bad.yaml"), ["b1", "b2"])
    equal(listed("--workflow", os.path.join(case.folder, "good.yaml")), ["g1"])
    equal(listed("--resumable", "--session", "day"), ["b2"])
    equal(listed("--meta", "team=blue"), ["s1"])
    equal(listed("--meta", "team=blue", "--meta", "cost=3"), ["s1"])
    equal(listed("--meta", "at.site=x"), ["s1"])
    equal(listed("--meta", "team=green"), [])
    holds(case.pawl("list", "--meta", "team", status=2).stderr, "PAWL-0001", "KEY=VALUE")
    holds(case.pawl("list", "--session", "none", status=0).stderr, "no matching runs")


def a_damaged_run_is_not_left_out_of_the_resumable_ones_in_silence(case):
    failed_run(case)
    holds(case.pawl("list", "--resumable", status=0).stdout, "failed")
    damage_line(case, -1)
    shown = case.pawl("list", "--resumable", status=0)
    holds(shown.stderr, "run r is damaged (PAWL-03", "pawl fsck r")


# Validation criteria.

def VC_001_atomicity_a_killed_writer_leaves_whole_checkpoints_or_none(case):
    """VC-001: simulate a crash during write, verify that there are no partial checkpoints."""
    acknowledged = 0
    for attempt in range(12):
        writer = subprocess.Popen([case.program, "save", "r", "--json"], cwd=case.folder, env=case.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        writer.stdin.write(json.dumps({"n": attempt, "text": "x" * 200000}).encode())
        writer.stdin.close()
        timer = threading.Timer(0.002 * attempt, lambda: writer.send_signal(signal.SIGKILL))
        timer.start()
        out = writer.stdout.read()
        writer.stderr.read()
        writer.wait()
        timer.cancel()
        if writer.returncode == 0:
            acknowledged = json.loads(out)["sequence"]
    acknowledged = max(acknowledged, save(case, "r", {"n": "last"}))
    numbers = sequences(case)
    equal(numbers, list(range(1, len(numbers) + 1)))
    assert acknowledged <= numbers[-1]
    for number in numbers:
        json.loads(case.pawl("restore", f"r@{number}", status=0).stdout)
    case.pawl("fsck", status=0)


def VC_002_recoverability_every_checkpoint_restores_its_state(case):
    """VC-002: round trip: create checkpoint, restore, verify equality."""
    states = []
    for number in range(1, 41):
        states.append(json.dumps({"n": number, "list": list(range(number)), "text": "ü" * number}))
        case.pawl("save", "r", stdin=states[-1], status=0)
    for number, state in enumerate(states, 1):
        equal(case.pawl("restore", f"r@{number}", status=0).stdout, state)
        equal(case.pawl("restore", "r", "--at", str(number), status=0).stdout, state)


def VC_003_integrity_a_changed_audit_entry_breaks_the_chain(case):
    """VC-003: modify an audit entry, verify that chain validation fails."""
    for number in range(1, 5):
        save(case, "r", {"n": number})
    settle(case)
    case.pawl("fsck", status=0)
    path = store_path(case, "runs", "r", "audit", "audit_trail.jsonl")
    with open(path, "rb") as file:
        sound = file.read()
    for at in range(0, len(sound), 37):
        flip(path, at)
        holds(case.pawl("fsck", "r", status=4).stdout, "audit_trail.jsonl")
        with open(path, "wb") as file:
            file.write(sound)
    case.pawl("fsck", status=0)


def VC_004_performance_a_thousand_checkpoints_are_rebuilt_in_bounded_time(case):
    """VC-004: the time is reported and within an order of magnitude. The benchmarks in bench/ measure it."""
    batch = "\n".join(f"echo '{{\"n\": {number}}}' | $PAWL save r" for number in range(200))
    subprocess.run(["sh", "-c", batch], cwd=case.folder, env={**case.env, "PAWL": case.program, "PAWL_CHECKPOINT_KEEP": "all"}, check=True, capture_output=True)
    found = json.loads(case.pawl("restore", "r", "--mode", "full", "--json", status=0).stdout)["recovery"]
    equal(found["checkpoints_rebuilt"], 200)
    assert 0 < found["ms"] < 10_000, found


def VC_005_compatibility_an_old_store_is_read_and_migrated(case):
    """VC-005: create a v1 checkpoint, migrate to v2, verify the data."""
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "format_1")
    subprocess.run(["cp", "-r", golden, case.env["PAWL_STORE"]], check=True)
    with open(store_path(case, "store.json")) as file:
        equal(json.load(file)["pawl"], 1)
    before = {number: case.pawl("restore", f"alpha@{number}", status=0).stdout for number in sequences(case, "alpha")}
    saved = save(case, "new", {"new": True})
    with open(store_path(case, "store.json")) as file:
        equal(json.load(file)["pawl"], 2)
    for number, state in before.items():
        equal(case.pawl("restore", f"alpha@{number}", status=0).stdout, state)
    equal(case.pawl("restore", f"new@{saved}", status=0).stdout, '{"new": true}')


def VC_006_compliance_the_audit_trail_is_complete_and_immutable(case):
    """VC-006: verify that the trail is immutable, complete and can be queried, using only the files."""
    for number in range(1, 8):
        save(case, "r", {"n": number})
    settle(case)
    with open(store_path(case, "runs", "r", "audit", "audit_trail.jsonl"), "rb") as file:
        lines = file.read().splitlines()
    entries = [json.loads(line) for line in lines]
    saved = [entry for entry in entries if entry["type"] == "checkpoint_saved"]
    equal([entry["seq"] for entry in saved], sequences(case))
    previous = "0" * 64
    for index, (line, entry) in enumerate(zip(lines, entries), 1):
        equal(entry["i"], index)
        equal(entry["prev"], previous)
        body = line[:line.rindex(b',"hash":"')]
        equal(entry["hash"], hashlib.sha256(bytes.fromhex(previous) + body).hexdigest())
        previous = entry["hash"]


if __name__ == "__main__":
    helpers = ("settle", "failures", "failed_run")
    run_tests({name: thing for name, thing in globals().items() if name not in helpers})
