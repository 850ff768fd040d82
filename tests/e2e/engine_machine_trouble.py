#!/usr/bin/env python3
"""Tests that trouble of the machine is never charged to the work: a full disk, no descriptors, a killed reaper.

An attempt that could not be started, or was lost with the reaper, does not count and fails nothing. It is retried; if the
trouble lasts, the run pauses (exit status 5) and can be resumed.

  engine_machine_trouble.py PAWL [name of a test]...
"""
import os
import resource
import shutil
import signal
import subprocess
import threading
import time

from engine_case import HANG_S, appears, begin, can_mount, ended, exists, in_a_mount_namespace, kill_reaper, main, resume, small_disk
from workflow_case import equal, holds, wait_for

BIG = "vars: {big: '" + 100_000 * "x" + "'}"  # every step needs room for its $PAWL_INPUT
FILL = "dd if=/dev/zero of=$DISK/filler bs=4096 2>/dev/null || true"


def _skipped():
    if can_mount():
        return False
    print("skipped: file systems can't be mounted here")
    return True


def _map_counts(case, step="m"):
    record = case.state()["steps"].get(step, {}).get("map", {})
    return record.get("failed", ""), record.get("done", "")


def _no_items_failed(case, said):
    """Nothing in the events or in the state says that an item failed."""
    equal(_map_counts(case)[0], "")
    equal([event["data"]["error"] for event in case.events("item_failed")][:1], [])
    assert "dead-letter" not in said or " 0 " in said, said


def _make_room(case):
    os.remove(os.path.join(case.env["DISK"], "filler"))


# A full disk.

def a_full_disk_dead_letters_no_item(case):
    """While the disk is full, no item of a map fails: the run pauses, and completes once there is room."""
    if _skipped():
        return
    small_disk(case, "24m")
    process = begin(case, f"""
      {BIG}
      steps:
      - {{id: fill, run: '{FILL}'}}
      - id: m
        map: {{items: {list(range(200))}, parallel: 4, on_item_failure: dlq}}
        steps: [{{id: s, run: 'echo ${{vars.big}} > copy; echo ${{item}} >> log'}}]
    """)
    said = ended(case, process, 5, seconds=120)
    holds(said, "pawl resume r")
    _make_room(case)
    case.pawl("fsck", "--repair")
    resume(case, seconds=120)
    _no_items_failed(case, said)
    equal(_map_counts(case)[1], "0-199")
    equal(sorted(set(case.log()), key=int), [str(number) for number in range(200)])


def a_full_disk_at_the_start_of_a_step_pauses_the_run(case):
    """A step that can't be started because the disk is full is not failed: exit status 5, and a resume runs it."""
    if _skipped():
        return
    small_disk(case, "24m")
    process = begin(case, f"""
      {BIG}
      steps:
      - {{id: a, run: 'echo a >> log'}}
      - {{id: fill, run: '{FILL}'}}
      - {{id: b, run: 'echo ${{vars.big}} > copy; echo b >> log'}}
    """)
    said = ended(case, process, 5, seconds=120)
    holds(said, "pawl resume r")
    _make_room(case)
    case.pawl("fsck", "--repair")
    resume(case, seconds=60)
    equal(case.log(), ["a", "b"])
    equal(case.events("step_failed"), [])


def a_step_starts_once_there_is_room_again(case):
    """A disk that is full for a moment only delays the start of a step; it takes none of its attempts."""
    if _skipped():
        return
    small_disk(case, "24m")
    process = begin(case, f"""
      {BIG}
      steps:
      - {{id: fill, run: '{FILL}; touch full'}}
      - {{id: b, run: 'echo ${{vars.big}} > copy; echo $PAWL_ATTEMPT >> log'}}
    """)
    appears(case, "full")
    time.sleep(1)
    _make_room(case)
    ended(case, process, 0, seconds=120)
    equal(case.log(), ["1"])
    equal(case.events("attempt_failed"), [])


# No descriptors.

def a_map_that_is_wider_than_the_descriptors_allow_fails_no_item(case):
    """With 128 descriptors and `parallel: 100`, items that can't be started are retried and none fails."""
    process = begin(case, f"""
      steps:
      - id: m
        map: {{items: {list(range(300))}, parallel: 100, on_item_failure: dlq}}
        steps: [{{id: s, run: 'sleep 0.2; echo ${{item}}', capture: {{format: text}}}}]
    """, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))
    said = ended(case, process, (0, 5), seconds=120)
    if process.returncode == 5:
        holds(said, "pawl resume r")
        resume(case, seconds=120)
    _no_items_failed(case, said)
    equal(_map_counts(case)[1], "0-299")


def few_descriptors_for_parallel_steps_fail_no_step(case):
    """The same for steps of a workflow: those that can't be started now are started later."""
    roots = "\n".join(f"      - {{id: s{number}, needs: [], run: 'sleep 0.2; echo {number} >> log'}}" for number in range(100))
    process = begin(case, "steps:\n" + roots.replace("      ", "") + "\n", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    ended(case, process, (0, 5), seconds=120)
    equal(case.events("step_failed"), [])
    if process.returncode == 5:
        resume(case, seconds=120)
    equal(sorted(set(case.log()), key=int), [str(number) for number in range(100)])


# A killed reaper.

def a_killed_reaper_dead_letters_no_item(case):
    """When the reaper is killed in the middle of a map, its items are started again and none fails."""
    process = begin(case, f"""
      steps:
      - id: m
        map: {{items: {list(range(120))}, parallel: 4, on_item_failure: dlq}}
        steps: [{{id: s, run: 'echo ${{item}} >> log; sleep 0.02'}}]
    """)
    wait_for(lambda: len(case.log()) > 20, "the first items")
    kill_reaper(process)
    said = ended(case, process, (0, 5), seconds=60)
    if process.returncode == 5:
        resume(case, seconds=60)
    _no_items_failed(case, said)
    equal(_map_counts(case)[1], "0-119")
    done = [line for line in set(case.log()) if case.log().count(line) > 1]
    assert len(done) <= 8, f"more items ran again than were running: {sorted(done, key=int)}"


def a_killed_reaper_costs_a_step_no_attempt(case):
    """A step whose process was lost with the reaper is started again; its only attempt is not used up."""
    process = begin(case, "steps:\n- {id: a, run: 'echo $PAWL_ATTEMPT $PAWL_IDEMPOTENCY_KEY >> log; [ -e go ] || sleep 60'}\n- {id: b, run: 'echo b >> log'}\n")
    wait_for(lambda: case.log(), "the step")
    case.write("go", "")
    kill_reaper(process)
    ended(case, process, (0, 5), seconds=60)
    equal(case.events("step_failed"), [])
    if process.returncode == 5:
        resume(case)
    first, second, last = case.log()
    equal((first, last), (second, "b"))


def a_reaper_that_is_killed_again_and_again_pauses_the_run(case):
    """If the trouble lasts, the run pauses with exit status 5 and a resume completes it."""
    process = begin(case, "steps:\n- {id: a, run: 'echo x >> log; [ -e go ] || sleep 60'}\n")
    killed, end = 0, time.monotonic() + 120
    while process.poll() is None and time.monotonic() < end:
        if len(case.log()) > killed:
            killed = len(case.log())
            kill_reaper(process)
        time.sleep(0.01)
    said = ended(case, process, 5)
    holds(said, "pawl resume r")
    case.write("go", "")
    resume(case)
    equal(case.steps(), {"a": "completed"})


# A save whose outcome is unknown.

def a_sync_that_fails_once_loses_and_repeats_nothing(case):
    """A failed sync leaves the outcome of a save unknown. It is settled by the identity of the save: every step is
    recorded, and none runs twice."""
    if shutil.which("strace") is None or subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode != 0:
        print("skipped: strace can't be used here")
        return
    steps = [f"s{number}" for number in range(8)]
    text = "steps:\n" + "".join(f"- {{id: {step}, run: 'echo {step} >> log-$PAWL_RUN'}}\n" for step in steps)
    case.write("workflow.yaml", text)
    case.pawl("run", "--run-id", "first", status=0)  # creates the store

    def one(which):
        run = f"f{which}"
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e", f"inject=fdatasync:error=EIO:when={which}",
                   case.program, "run", "--run-id", run]
        traced = subprocess.Popen(command, cwd=case.folder, env=case.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            _, said = traced.communicate(timeout=2 * HANG_S)
            outcomes[which] = (traced.returncode, said)
        except subprocess.TimeoutExpired:
            os.killpg(traced.pid, signal.SIGKILL)  # strace would leave the program behind
            traced.communicate()
            outcomes[which] = ("hangs", "")

    outcomes = {}
    tries = [threading.Thread(target=one, args=(which,)) for which in range(1, 9)]
    for each in tries:
        each.start()
    for each in tries:
        each.join()
    for which, (status, said) in sorted(outcomes.items()):
        run = f"f{which}"
        if status in (5, 130):
            status = case.pawl("resume", run).returncode
        if status in (2, 5) and case.pawl("restore", run).returncode != 0:
            continue  # not even the run could be created
        equal((which, status, said if status else ""), (which, 0, ""))
        equal((which, case.log(f"log-{run}")), (which, steps))
        equal((which, case.steps(run)), (which, {step: "completed" for step in steps}))


def the_disk_is_full_while_a_worktree_is_prepared(case):
    """An item whose git worktree can't be created because the disk is full is not a failed item."""
    if _skipped():
        return
    git = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"}
    for command in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *command], cwd=case.folder, env={**case.env, **git}, check=True)
    small_disk(case, "24m")
    case.write("large", "x" * 100000)
    case.write(".gitignore", "log\nworkflow.yaml\nxdg\n")
    for command in (["add", "large", ".gitignore"], ["commit", "-q", "-m", "large"]):
        subprocess.run(["git", *command], cwd=case.folder, env={**case.env, **git}, check=True)
    process = begin(case, f"""
      steps:
      - {{id: fill, run: '{FILL}; truncate -s -40960 $DISK/filler'}}
      - id: m
        map: {{items: [0, 1, 2], on_item_failure: dlq}}
        isolate: worktree
        steps: [{{id: s, run: 'echo ${{item}} > out-${{item}}'}}]
    """)
    ended(case, process, 5, seconds=120)
    _make_room(case)
    case.pawl("fsck", "--repair")
    resume(case, seconds=60)
    equal(_map_counts(case), ("", "0-2"))
    equal([exists(case, f"out-{number}") for number in range(3)], [True] * 3)


if __name__ == "__main__":
    in_a_mount_namespace()
    main(globals())
