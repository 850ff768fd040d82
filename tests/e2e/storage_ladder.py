#!/usr/bin/env python3
"""Tests how a workflow reduces its durability when storage fails, on a disk that is really full (a small tmpfs).

Prints a message and does nothing where file systems can't be mounted."""
import atexit
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from workflow_case import equal, holds, run_tests, wait_for

INSIDE = "PAWL_LADDER_INSIDE"

# `big` reports 2 MB and fills the disk. A checkpoint then needs a large file, but events need little space.
BIG = """\
    name: big
    checkpoint: { on_storage_failure: %s }
    steps:
      - id: before
        run: 'echo before >> log'
      - id: big
        needs: [before]
        run: ./big.sh
      - id: other
        needs: [before]
        run: 'while test ! -e light; do sleep 0.02; done; echo other >> log'
    """
SCRIPT = """\
    echo big >> log
    test -e tried && exit 0
    touch tried
    { printf '{"progress": "'; head -c 1500000 /dev/urandom | base64 -w 0; printf '"}\\n'; } >> $PAWL_RESULT
    dd if=/dev/zero of=$DISK/filler bs=4096 2>/dev/null
    truncate -s -409600 $DISK/filler
    touch full
    while test ! -e room; do sleep 0.02; done
    """


def mount(case, size):
    """Puts the store of the case on its own disk of the given size."""
    disk = tempfile.mkdtemp(prefix="pawl-disk-")
    atexit.register(lambda: (subprocess.run(["umount", "-l", disk]), os.rmdir(disk)))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
    case.env["PAWL_STORE"] = os.path.join(disk, "store")
    case.env["DISK"] = disk
    return disk


def started(case, *args):
    """The running program and its standard error so far."""
    process = case.start(*args)
    said = []
    reader = threading.Thread(target=lambda: said.extend(iter(process.stderr.readline, "")), daemon=True)
    reader.start()
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return process, said, reader


def make_room(case, disk):
    os.remove(os.path.join(disk, "filler"))
    for report in glob.glob(os.path.join(case.env["PAWL_STORE"], "runs", "r", "logs", "**", "*.result"), recursive=True):
        os.remove(report)  # too large to pass to the next attempt


def until(said, text):
    wait_for(lambda: any(text in line for line in said), f"{text!r} in {''.join(said)}", seconds=120)


def big_run(case, mode):
    disk = mount(case, "20m")
    case.write("workflow.yaml", BIG % mode)
    case.script("big.sh", SCRIPT)
    process, said, reader = started(case, "run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "full")), f"the full disk {said}", seconds=60)
    process.send_signal(signal.SIGUSR1)  # saves a checkpoint now, with the report of `big`
    return disk, process, said, reader


def pause_stops_and_leaves_the_run_resumable(case):
    disk, process, said, reader = big_run(case, "pause")
    until(said, "storage error (pause)")
    equal(process.wait(timeout=120), 5)
    reader.join()
    holds("".join(said), "PAWL-0501", "pawl resume r")
    make_room(case, disk)
    case.write("light", "")
    case.pawl("resume", "r", status=0, timeout=120)
    equal(case.log().count("before"), 1)
    case.pawl("fsck", status=0)


def events_alone_are_saved_and_a_full_save_follows_when_there_is_room(case):
    disk, process, said, reader = big_run(case, "continue")
    until(said, "storage error (events only)")
    case.write("light", "")
    wait_for(lambda: "other" in case.log(), "the step that goes on")
    os.remove(os.path.join(disk, "filler"))
    case.write("room", "")
    equal(process.wait(timeout=120), 0)
    reader.join()
    holds("".join(said), "storage works again")
    case.pawl("fsck", "--repair", status=0)
    rung, = case.events("storage_degraded")
    equal(rung["data"]["rung"], "events only")
    equal(len(case.events("storage_recovered")), 1)
    equal(case.steps(), {"before": "completed", "big": "completed", "other": "completed"})
    equal(case.pawl("resume", "r", status=4).stderr.count("is completed"), 1)
    assert not glob.glob(os.path.join(case.folder, "pawl-emergency-*"))


def after_a_crash_with_events_alone_completed_steps_are_not_run_again_unasked(case):
    disk, process, said, _ = big_run(case, "continue")
    until(said, "storage error (events only)")
    case.write("light", "")
    wait_for(lambda: any(event["data"].get("step") == "other" for event in published(case, "step_completed")), "the completion among the events", seconds=60)
    process.kill()
    process.wait()
    make_room(case, disk)
    equal(case.steps().get("other"), "running")
    refused = case.pawl("resume", "r", status=4)
    holds(refused.stderr, "PAWL-0611", "is older than its events", "\n  other", "--accept-rerun")
    equal(case.log().count("other"), 1)
    case.pawl("resume", "r", "--accept-rerun", status=0, timeout=120)
    equal(case.log().count("other"), 2)
    equal(case.log().count("before"), 1)
    case.pawl("fsck", status=0)


def published(case, kind):
    """Returns the events as another process sees them, including those that are only in the journal."""
    shown = case.pawl("show", "r", "--events", "--json")
    if shown.returncode != 0:
        return []
    return [event for event in json.loads(shown.stdout).get("events", []) if event["type"] == kind]


def where_not_even_events_fit_the_run_goes_on_in_memory_and_is_dumped(case):
    """Each failed item is stored in an event, 4 KB each, until the journal itself is full. The inputs of the items still fit."""
    disk = mount(case, "14m")
    with open(os.path.join(case.folder, "items.jsonl"), "w") as out:
        for number in range(4000):
            out.write(json.dumps({"number": number, "text": os.urandom(2000).hex()}) + "\n")
    case.write("workflow.yaml", """\
        name: full
        checkpoint: { on_storage_failure: continue }
        steps:
          - id: fill
            run: 'dd if=/dev/zero of=$DISK/filler bs=4096 2>/dev/null || true; truncate -s -524288 $DISK/filler'
          - id: items
            needs: [fill]
            map: { items_from: items.jsonl, parallel: 8, on_item_failure: dlq, circuit_breaker: { failures: 1000000 } }
            steps:
              - id: one
                run: 'false'
        """)
    done = case.pawl("run", "--run-id", "r", timeout=300)
    assert done.returncode == 5, f"{done.returncode} " + done.stdout[-1500:] + done.stderr[-3000:]
    holds(done.stderr, "storage error (continue)", "storage error (memory only)", "storage error (emergency dump)", "pawl-emergency-r.json")
    with open(os.path.join(case.folder, "pawl-emergency-r.json")) as file:
        dumped = json.load(file)
    equal(dumped["status"], "completed")
    equal(dumped["steps"]["items"]["map"]["total"], 4000)
    os.remove(os.path.join(disk, "filler"))
    subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
    case.pawl("fsck", status=0)
    assert case.state()["status"] in ("running", "interrupted")


def in_a_namespace_of_its_own():
    """Makes mounts private to this test; they disappear when it exits."""
    if os.environ.get(INSIDE):
        return
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        print("skipped: file systems can't be mounted here")
        sys.exit(0)
    sys.exit(subprocess.run(["unshare", "-m", sys.executable, "-B", *sys.argv], env={**os.environ, INSIDE: "1"}).returncode)


if __name__ == "__main__":
    in_a_namespace_of_its_own()
    run_tests({name: thing for name, thing in globals().items() if name not in ("started", "published")})
