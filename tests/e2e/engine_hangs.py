#!/usr/bin/env python3
"""Tests that a run always ends, or waits for something that `pawl show` names, with the real program.

  engine_hangs.py PAWL [name of a test]...
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess

from engine_case import HANG_S, Terminal, begin, can_mount, ended, in_a_mount_namespace, log_until, main, resume, small_disk
from workflow_case import equal, holds, wait_for

# One place, and three steps that want it.
QUEUED = """
  grace: 500ms
  parallel: 1
  %s
  steps:
  - {id: a, needs: [], run: 'echo a >> log; %s'%s}
  - {id: b, needs: [], run: 'echo b >> log; sleep 1'}
  - {id: c, needs: [], run: 'echo c >> log; sleep 1'}
"""


# Queued steps.

def an_interrupt_ends_a_run_with_queued_steps(case):
    """After SIGINT, steps that wait for a place do not start, and the program ends with 130."""
    process = begin(case, QUEUED % ("", "sleep 60", ""))
    log_until(case, "a")
    process.send_signal(signal.SIGINT)
    ended(case, process, 130)
    equal(case.log(), ["a"])


def an_interrupt_ends_a_map_with_queued_items(case):
    """The same for items of a map that is wider than the workflow's `parallel`."""
    process = begin(case, "grace: 500ms\nparallel: 2\nsteps:\n- {id: m, map: {items: [1, 2, 3, 4, 5], parallel: 5}, steps: [{id: s, run: 'echo ${item} >> log; sleep 60'}]}\n")
    wait_for(lambda: len(case.log()) == 2, "two items")
    process.send_signal(signal.SIGTERM)
    ended(case, process, 130)
    equal(len(case.log()), 2)


def a_cancel_ends_a_run_with_queued_steps(case):
    """`pawl cancel` ends a run although steps wait for a place; none of them starts."""
    process = begin(case, QUEUED % ("", "sleep 60", ""))
    log_until(case, "a")
    case.pawl("cancel", "r", status=0)
    ended(case, process, 1)
    equal((case.state()["status"], case.log()), ("cancelled", ["a"]))


def the_timeout_of_the_workflow_ends_a_run_with_queued_steps(case):
    """When the workflow's `timeout` passes, the run fails although steps wait for a place; none of them starts."""
    process = begin(case, QUEUED % ("timeout: 1s", "sleep 60", ""))
    ended(case, process, 1)
    equal((case.state()["status"], case.log()), ("failed", ["a"]))


def a_break_after_a_step_pauses_a_run_with_queued_steps(case):
    """`break: after` pauses the run with exit status 3 although steps wait for a place; a resume runs them."""
    process = begin(case, QUEUED % ("", "sleep 0.2", ", break: after"))
    ended(case, process, 3)
    equal(case.log(), ["a"])
    resume(case)
    equal(sorted(case.log()), ["a", "b", "c"])


def queued_steps_do_not_start_after_a_failure(case):
    """After a failure, a step that still waits for a place does not start."""
    process = begin(case, QUEUED % ("", "false", ""))
    ended(case, process, 1)
    equal(case.log(), ["a"])


def queued_steps_do_not_start_after_a_failure_with_fail_fast(case):
    """The same with `fail_fast`."""
    process = begin(case, QUEUED % ("fail_fast: true", "false", ""))
    ended(case, process, 1)
    equal(case.log(), ["a"])


# fail_fast.

def _fails_fast_beside(case, other, shown_as=None, env=None):
    process = begin(case, f"""
      fail_fast: true
      grace: 500ms
      steps:
      - {{id: a, needs: [], run: 'while [ ! -e there ]; do sleep 0.02; done; false'}}
      - {other}
    """, env=env)
    if shown_as:
        wait_for(lambda: case.pawl("restore", "r").returncode == 0 and case.steps().get("b") == shown_as, f"the {shown_as} step")
        case.write("there", "")
    said = ended(case, process, 1)
    equal((case.state()["status"], case.steps()["a"]), ("failed", "failed"))
    assert case.steps()["b"] in ("cancelled", "failed", "interrupted"), case.steps()
    return said


def fail_fast_ends_a_sleep(case):
    """A failure with `fail_fast` does not wait for a sleep."""
    _fails_fast_beside(case, "{id: b, needs: [], sleep: 10m}", "waiting")


def fail_fast_ends_a_backoff(case):
    """A failure with `fail_fast` does not wait for the next attempt of another step."""
    _fails_fast_beside(case, "{id: b, needs: [], retry: {attempts: 5, backoff: 10m, max_backoff: 10m}, run: 'touch there; false'}")


def fail_fast_ends_a_child(case):
    """A failure with `fail_fast` stops a child workflow."""
    case.write("child.yaml", "grace: 500ms\nsteps:\n- {id: s, run: 'touch there; sleep 600'}\n")
    _fails_fast_beside(case, "{id: b, needs: [], workflow: child.yaml}")
    assert case.state("r.b")["status"] in ("cancelled", "interrupted", "failed"), case.state("r.b")["status"]


def fail_fast_ends_a_gate(case):
    """A failure with `fail_fast` fails the run although a gate is unanswered."""
    _fails_fast_beside(case, "{id: b, needs: [], approve: 'Go?'}", "waiting")


def fail_fast_ends_a_wait_for_a_signal(case):
    """A failure with `fail_fast` fails the run although a step waits for a signal."""
    _fails_fast_beside(case, "{id: b, needs: [], wait_for: {signal: release, timeout: 10m}}", "waiting")


# on_failure of the workflow.

def a_child_in_the_workflows_on_failure_runs(case):
    """A child workflow inside the workflow's `on_failure` runs, and the run then ends as failed."""
    case.write("child.yaml", "steps:\n- {id: s, run: 'echo child >> log'}\n")
    process = begin(case, "steps:\n- {id: a, run: 'false'}\non_failure:\n- {id: c, workflow: child.yaml}\n- {id: d, run: 'echo d >> log'}\n")
    ended(case, process, 1)
    equal((case.log(), case.state()["status"]), (["child", "d"], "failed"))


def a_gate_in_the_workflows_on_failure_waits_for_its_answer(case):
    """A gate inside the workflow's `on_failure` waits with exit status 3; after the answer the run ends as failed."""
    process = begin(case, "steps:\n- {id: a, run: 'false'}\non_failure:\n- {id: g, approve: 'Tidy?'}\n- {id: d, run: 'echo d >> log'}\n")
    holds(ended(case, process, 3), "pawl approve r")
    gate = json.loads(case.pawl("show", "r", "--json", status=0).stdout)["waiting_for"][0]
    case.pawl("approve", "r", gate.get("step", "g"), status=0)
    resume(case, status=1)
    equal((case.log(), case.state()["status"]), (["d"], "failed"))


def a_rejected_gate_in_the_workflows_on_failure_ends_the_run(case):
    """A rejected gate inside the workflow's `on_failure` ends the run as failed, without the steps after it."""
    ended(case, begin(case, "steps:\n- {id: a, run: 'false'}\non_failure:\n- {id: g, approve: 'Tidy?'}\n- {id: d, run: 'echo d >> log'}\n"), 3)
    case.pawl("reject", "r", status=0)
    resume(case, status=1)
    equal((case.log(), case.state()["status"]), ([], "failed"))


# A journal that fails for a moment.

def _with_a_failing_call(case, call, error, which, many):
    """Runs eight steps while calls on the journal fail. Returns the exit status."""
    run = f"{call}-{which}-{many}"
    fault = f"inject={call}:error={error}:when={which}..{which + many - 1}"
    journal = os.path.join(case.env["PAWL_STORE"], "journal/1/00000001.log")
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", journal, "-e", f"trace={call}", "-e", fault, case.program, "run", "--run-id", run]
    process = subprocess.Popen(command, cwd=case.folder, env=case.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=2 * HANG_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # strace would leave the program behind
        process.communicate()
        raise AssertionError(f"pawl hangs when {call} {which} fails") from None
    said = out + err
    if process.returncode == 5 and case.pawl("restore", run).returncode != 0:
        return "nothing was created", said
    if process.returncode == 5:
        resume(case, run=run)
    assert process.returncode in (0, 5), f"exit status {process.returncode} when call {which} fails: {said}"
    equal(case.log(f"log-{run}"), [f"s{number}" for number in range(8)])
    equal(case.steps(run), {f"s{number}": "completed" for number in range(8)})
    return process.returncode, said


def _every_call(case, call, error, many):
    traces = shutil.which("strace") is not None and subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0
    if not traces:
        print("skipped: strace can't be used here")
        return
    case.write("workflow.yaml", "steps:\n" + "".join(f"- {{id: s{number}, run: 'echo s{number} >> log-$PAWL_RUN'}}\n" for number in range(8)))
    case.pawl("run", "--run-id", "first", status=0)  # creates the store
    told = [_with_a_failing_call(case, call, error, which, many)[1] for which in range(1, 8)]
    assert many == 1 and call == "pwrite64" or any("storage error" in text for text in told), "no call failed: " + told[-1]


def a_journal_that_finds_no_room_once_does_not_stop_the_run(case):
    """A write to the journal that fails with ENOSPC once is repeated: the run goes on, and no step runs twice."""
    _every_call(case, "pwrite64", "ENOSPC", 1)


def a_journal_that_finds_no_room_for_a_while_does_not_stop_the_run(case):
    """The same if three writes in a row fail."""
    _every_call(case, "pwrite64", "ENOSPC", 3)


def a_sync_of_the_journal_that_fails_does_not_stop_the_run(case):
    """The same for a sync, which leaves the outcome of the save unknown."""
    _every_call(case, "fdatasync", "ENOSPC", 1)


def a_full_disk_that_is_emptied_again_does_not_stop_the_run(case):
    """A disk that is full until the program reports it only delays the run."""
    if not can_mount():
        print("skipped: file systems can't be mounted here")
        return
    disk = small_disk(case, "24m")
    case.write("workflow.yaml", """
      steps:
      - id: m
        map: {items_from: items.jsonl, parallel: 4, on_item_failure: dlq, circuit_breaker: {failures: 1000000}}
        steps: [{id: s, run: 'false'}]
    """)
    with open(os.path.join(case.folder, "items.jsonl"), "w") as out:
        for item in range(1500):  # each one is stored with its failure, so the journal grows
            out.write(json.dumps({"item": item, "text": os.urandom(2000).hex()}) + "\n")
    told = os.path.join(case.folder, "told")
    with open(told, "w") as said:
        process = subprocess.Popen([case.program, "run", "--run-id", "r"], cwd=case.folder, env=case.env, stdout=subprocess.DEVNULL, stderr=said)
    case.started.append(process)
    wait_for(lambda: os.path.exists(os.path.join(case.env["PAWL_STORE"], "runs", "r", "logs")), "the first items")
    with open(os.path.join(disk, "filler"), "wb", buffering=0) as out:
        with contextlib.suppress(OSError):
            while True:
                out.write(b"x" * 4096)
    def trouble():  # of a save, or of a step that can't start
        text = open(told).read()
        return "storage error" in text or "can't start" in text

    wait_for(lambda: trouble() or process.poll() is not None, "the trouble", 60)
    os.remove(os.path.join(disk, "filler"))
    try:
        status = process.wait(60)
    except subprocess.TimeoutExpired:
        raise AssertionError("pawl hangs after the disk was full:\n" + open(told).read()) from None
    equal((status, trouble()), (0, True))
    done = case.state()["steps"]["m"]["map"]
    equal((done["done"], done["failed"]), ("0-1499", "0-1499"))


# A prompt at the terminal.

GATE = """
  grace: 500ms
  steps:
  - {id: g, needs: [], approve: 'Go?'}
  - {id: after, run: 'echo after >> log'}
"""


def ctrl_c_at_the_prompt_interrupts_the_run(case):
    """Ctrl-C while the terminal asks interrupts the run with exit status 130; it can be resumed."""
    case.write("workflow.yaml", GATE)
    terminal = Terminal(case, "run", "--run-id", "r")
    terminal.until("Approve?")
    terminal.type("\x03")
    terminal.ended(130)
    case.pawl("approve", "r", status=0)
    resume(case)


def a_signal_at_the_prompt_interrupts_the_run(case):
    """SIGTERM while the terminal asks interrupts the run."""
    case.write("workflow.yaml", GATE)
    terminal = Terminal(case, "run", "--run-id", "r")
    terminal.until("Approve?")
    terminal.process.send_signal(signal.SIGTERM)
    terminal.ended(130)


def an_approval_from_elsewhere_closes_the_prompt(case):
    """An approval from another process counts while the terminal asks: the prompt closes and the run goes on."""
    case.write("workflow.yaml", GATE)
    terminal = Terminal(case, "run", "--run-id", "r")
    terminal.until("Approve?")
    case.pawl("approve", "r", "g", status=0)
    terminal.ended(0)
    equal(case.log(), ["after"])


def a_cancel_closes_the_prompt(case):
    """`pawl cancel` ends the run while the terminal asks."""
    case.write("workflow.yaml", GATE)
    terminal = Terminal(case, "run", "--run-id", "r")
    terminal.until("Approve?")
    case.pawl("cancel", "r", status=0)
    terminal.ended(1)
    equal(case.state()["status"], "cancelled")


def other_steps_go_on_while_the_terminal_asks(case):
    """A prompt does not hold up steps that do not need the answer."""
    case.write("workflow.yaml", "steps:\n- {id: g, needs: [], approve: 'Go?'}\n- {id: b, needs: [], run: 'sleep 0.5'}\n- {id: c, run: 'echo c >> log', needs: [b]}\n")
    terminal = Terminal(case, "run", "--run-id", "r")
    terminal.until("Approve?")
    log_until(case, "c")
    terminal.type("y\n")
    terminal.ended(0)


# No procfs.

def a_run_without_procfs_ends_promptly(case):
    """Where procfs is not mounted, the end of a run does not wait for processes that can't be listed."""
    if not can_mount():
        print("skipped: file systems can't be mounted here")
        return
    case.write("workflow.yaml", "grace: 100ms\nsteps:\n- {id: a, run: 'setsid sleep 300 & echo $! > pid; echo a >> log'}\n")
    hide = 'umount -l /proc && exec "$@"'
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", hide, "sh", case.program, "run", "--run-id", "r"], cwd=case.folder, env=case.env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    case.started.append(process)
    try:
        ended(case, process, 0)
    finally:
        for pid in case.log("pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    equal(case.log(), ["a"])


if __name__ == "__main__":
    in_a_mount_namespace()
    main(globals())
