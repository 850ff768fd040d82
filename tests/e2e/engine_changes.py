#!/usr/bin/env python3
"""Tests what changes, deadlines and failures between executions do to a run, with the real program.

  engine_changes.py PAWL [name of a test]...
"""
import os
import subprocess
import time

from engine_case import Terminal, begin, ended, exists, kill, log_until, main, path, resume, shown, start
from workflow_case import equal, holds, wait_for

FAILING_MAP = """
  steps:
  - id: m
    map: {items: [x, y, z], parallel: 1}
    steps: [{id: p, run: 'echo $PAWL_STEP >> log; [ -e go ] || [ ${item} != z ]'}]
"""
FAILING_LOOP = """
  steps:
  - id: l
    loop: {max: 3, until: '${steps.s.output >= 5}'}
    steps: [{id: s, run: 'echo ${loop.iteration} | tee -a log', capture: {format: json}}]
"""
GATE = 'steps: [{id: g, approve: "Delete?"}, {id: z, run: "echo z >> log"}]\n'


def changed(case, text, *replaced):
    for before, after in replaced:
        assert before in text, before
        text = text.replace(before, after)
    case.write("workflow.yaml", text)
    return text


# Changes of the workflow.

def settings_that_change_no_result_keep_completed_steps(case):
    """A completed step runs again if its command changes, not if its timeout, retries or name do."""
    text = """
      steps:
      - {id: a, run: 'echo a >> log', timeout: 5s}
      - {id: b, run: 'echo b >> log; [ -e go ]'}
    """
    case.run(text, status=1)
    case.write("go", "")
    text = changed(case, text, ("timeout: 5s", "timeout: 9s, retry: {attempts: 2}, name: First"))
    resume(case, "--accept-changes")
    equal(case.log(), ["a", "b", "b"])


def a_failed_map_keeps_its_items_whatever_changes(case):
    """After `parallel`, the items or an inner step changed, only items without a result run."""
    for number, change in enumerate([("parallel: 1", "parallel: 2"), ("[x, y, z]", "[x, y, z, w]"), ("echo $PAWL_STEP", "echo new $PAWL_STEP")]):
        run = f"r{number}"
        case.write("workflow.yaml", FAILING_MAP)
        case.pawl("run", "workflow.yaml", "--run-id", run, status=1)
        case.write("log", "")
        case.write("go", "")
        changed(case, FAILING_MAP, change)
        resume(case, "--accept-changes", run=run)
        again = [line.split()[-1] for line in case.log()]
        equal(again, ["m[2].p", "m[3].p"] if number == 1 else ["m[2].p"])
        os.remove(path(case, "go"))


def a_loop_continues_with_a_larger_maximum(case):
    """A loop that used up its iterations continues after the last one if `max` grows."""
    case.run(FAILING_LOOP, status=1)
    changed(case, FAILING_LOOP, ("max: 3", "max: 6"))
    resume(case, "--accept-changes")
    equal(case.log(), ["1", "2", "3", "4", "5"])


def a_child_of_another_file_is_another_child(case):
    """With another file, neither a completed nor a failed child of the old file counts."""
    for name in ("one", "two"):
        case.write(f"{name}.yaml", f"steps: [{{id: p, run: 'echo {name}; [ {name} = two ] || [ -e one ]', capture: {{format: text}}}}]\noutputs: {{o: '${{steps.p.output}}'}}\n")
    for run, ready in (("completed", True), ("failed", False)):
        for name in ("one", "go"):
            if exists(case, name):
                os.remove(path(case, name))
        if ready:
            case.write("one", "")
        text = "steps:\n- {id: c, workflow: one.yaml}\n- {id: z, run: 'echo ${steps.c.output.o} >> log; [ -e go ]'}\n"
        case.write("workflow.yaml", text)
        case.write("log", "")
        case.pawl("run", "workflow.yaml", "--run-id", run, status=1)
        case.write("go", "")
        changed(case, text, ("one.yaml", "two.yaml"))
        resume(case, "--accept-changes", run=run)
        equal(case.log()[-1], "two")


def a_changed_file_of_a_child_is_refused(case):
    """A resume does not start if the file of an unfinished child changed, and says how to accept that."""
    case.write("child.yaml", "steps: [{id: g, approve: 'ok?'}]\n")
    case.run("steps: [{id: c, workflow: child.yaml}]\non_failure: [{id: f, run: 'echo failed >> log'}]\n", status=3)
    case.write("child.yaml", "steps: [{id: g, approve: 'ok?'}]  # changed\n")
    holds(resume(case, status=4), "PAWL-0208", "--accept-changes")
    equal((case.log(), shown(case)["status"]), ([], "interrupted"))


def a_reached_gate_is_asked_whatever_changes(case):
    """A condition can't take a gate away that the run has reached, not on the gate and not around it."""
    case.run(GATE, status=3)
    case.pawl("reject", "r", status=0)
    resume(case, status=1)
    changed(case, GATE, ("Delete?\"", "Delete?\", when: 'false'"))
    holds(resume(case, "--accept-changes", status=4), "PAWL-0211", "'g'")
    case.pawl("fork", "r", "--workflow", "workflow.yaml", "--run-id", "f", "--resume", status=4)
    inner = "steps:\n- {id: l, loop: {max: 1}, steps: [{id: g, approve: 'ok?'}]}\n- {id: z, run: 'echo z >> log'}\n"
    case.write("workflow.yaml", inner)
    case.pawl("run", "workflow.yaml", "--run-id", "around", status=3)
    changed(case, inner, ("{id: l,", "{id: l, when: 'false',"))
    holds(resume(case, "--accept-changes", status=4, run="around"), "PAWL-0211")
    equal(case.log(), [])


def steps_that_need_later_ones_are_not_added(case):
    """An added step that needs a step behind the one that adds it would wait for itself."""
    said = case.run("""
      steps:
      - {id: a, run: 'echo ''{"add_steps": [{"id": "q", "run": "echo q >> log", "needs": ["z"]}]}'' >> $PAWL_RESULT'}
      - {id: y, run: 'true'}
      - {id: z, run: 'echo z >> log'}
    """, timeout=20)
    equal((case.log(), shown(case)["status"]), (["z"], "completed"))
    holds(case.pawl("show", "r", "--events", "--json").stdout + said.stdout, "runs after 'a'")


def items_are_recognised_however_they_are_written(case):
    """An item has the same hash whether its line is as Pawl writes JSON or not: floats, exponents, escapes, blanks."""
    lines = ['{"a":1}', '{ "a" : 1 }', "1.50", "1e2", "1E2", "-0", "-0.0", "-7", '"\\u0061"', '"\u00e9"', '"a b"', "123456789012345678", "true", "null", '[1,[2.0]]', '{"e":"1e5"}']
    case.write("items.jsonl", "\n".join(lines) + "\n")
    case.run("steps: [{id: m, map: {items_from: items.jsonl, parallel: 3}, steps: [{id: s, run: 'echo x >> log'}]}]\n")
    equal(len(case.log()), len(lines))


# Deadlines.

def what_comes_after_the_deadline_is_too_late(case):
    """A decision or signal that was sent after the deadline does not count, although nothing executed the run then."""
    case.write("gate.yaml", "steps: [{id: g, approve: 'ok?', timeout: 300ms}, {id: z, run: 'echo z >> log'}]\n")
    case.write("signal.yaml", "steps: [{id: s, wait_for: {signal: go, timeout: 300ms}}, {id: z, run: 'echo z >> log'}]\n")
    case.pawl("run", "gate.yaml", "--run-id", "g", status=3)
    case.pawl("run", "signal.yaml", "--run-id", "s", status=3)
    time.sleep(0.5)
    holds(case.pawl("approve", "g", status=4).stderr, "deadline")
    case.pawl("signal", "s", "go", status=0)
    holds(resume(case, status=1, run="g"), "no decision within 300 ms")
    holds(resume(case, status=1, run="s"), "timed out")
    equal(case.log(), [])


def what_comes_before_the_deadline_counts_later(case):
    """A decision or signal that was sent in time counts, however late the run is resumed."""
    case.write("gate.yaml", "steps: [{id: g, approve: 'ok?', timeout: 6s}, {id: z, run: 'echo g >> log'}]\n")
    case.write("signal.yaml", "steps: [{id: s, wait_for: {signal: go, timeout: 6s}}, {id: z, run: 'echo s >> log'}]\n")
    case.pawl("run", "gate.yaml", "--run-id", "g", status=3)
    case.pawl("run", "signal.yaml", "--run-id", "s", status=3)
    case.pawl("approve", "g", status=0)
    case.pawl("signal", "s", "go", status=0)
    time.sleep(6.2)
    resume(case, run="g")
    resume(case, run="s")
    equal(case.log(), ["g", "s"])


def a_gate_gets_all_its_attempts_after_a_resume(case):
    """A resume gives a failed gate as many attempts as its `retry` says."""
    case.run("steps: [{id: g, approve: 'ok?', timeout: 50ms, on_timeout: fail, retry: {attempts: 3, backoff: 10ms}}]\n", "--wait", status=1)
    said = resume(case, "--wait", status=1)
    holds(said, "attempt 4 failed", "attempt 6 failed")


def the_delay_before_an_attempt_lasts_over_a_crash(case):
    """The next attempt starts no earlier than the step asked for, also if the program was killed meanwhile."""
    process = begin(case, """
      steps:
      - id: c
        run: 'date +%s%N >> log; echo ''{"retry_after": "5s"}'' >> $PAWL_RESULT; [ $PAWL_ATTEMPT = 2 ]'
        retry: {attempts: 2, backoff: 10ms}
    """)
    wait_for(lambda: "attempt_failed" in case.pawl("show", "r", "--events", "--json").stdout, "the failed attempt")
    kill(process)
    resume(case)
    first, second = map(int, case.log())
    assert second - first >= 4.9e9, f"only {(second - first) / 1e9} s between the attempts"


def a_circuit_breaker_stays_open_over_a_crash(case):
    """A resume starts no item before the circuit breaker has cooled down."""
    process = begin(case, """
      steps:
      - id: m
        map: {items: [0, 1, 2, 3], on_item_failure: dlq, circuit_breaker: {failures: 2, cool_down: 5s}}
        steps: [{id: s, run: 'date +%s%N >> log; false'}]
    """)
    wait_for(lambda: "circuit_opened" in case.pawl("show", "r", "--events", "--json").stdout, "the open circuit")
    kill(process)
    again = start(case, "resume", "r")
    wait_for(lambda: len(case.log()) > 2, "the item that is tried")
    kill(again)
    times = list(map(int, case.log()))
    assert times[2] - times[1] >= 4.9e9, f"only {(times[2] - times[1]) / 1e9} s until the next item"


# Ends.

FAILS = """
  steps:
  - {id: b, run: 'echo work >> log; exit 1', on_failure: [{id: undo, run: 'echo undo >> log'}]}
  on_failure: [{id: alert, run: 'echo alert >> log'}]
  finally: [{id: last, run: 'echo last >> log'}]
"""


def every_failure_runs_what_belongs_to_it(case):
    """`on_failure` of a step and of the workflow, and `finally`, run after each failure, not only the first."""
    case.run(FAILS, status=1)
    resume(case, status=1)
    resume(case, status=1)
    equal(case.log(), ["work", "undo", "alert", "last"] * 3)


def a_timeout_of_the_workflow_is_a_failure(case):
    """The workflow's `on_failure` and `finally` run after its timeout, too."""
    case.run("""
      timeout: 500ms
      steps: [{id: a, run: 'sleep 20'}]
      on_failure: [{id: alert, run: 'echo alert >> log'}]
      finally: [{id: last, run: 'echo last >> log'}]
    """, status=1)
    equal((case.log(), shown(case)["status"]), (["alert", "last"], "failed"))


def cancelling_a_run_without_a_process_runs_its_end(case):
    """`finally` and `notify` run if a waiting or killed run is cancelled, and those of its children before."""
    case.write("child.yaml", "steps: [{id: g, approve: 'ok?'}]\nfinally: [{id: f, run: 'echo child >> log'}]\n")
    case.run("""
      notify: 'echo "$PAWL_STATUS" >> log'
      steps: [{id: a, run: 'true'}, {id: c, workflow: child.yaml}]
      finally: [{id: f, run: 'echo parent >> log'}]
    """, status=3)
    case.write("log", "")
    case.pawl("cancel", "r", status=0)
    equal(case.log(), ["child", "parent", "cancelled"])
    equal((shown(case)["status"], shown(case, "r.c")["status"]), ("cancelled", "cancelled"))
    process = begin_other(case, "k", "steps: [{id: a, run: 'echo began >> log; sleep 30'}]\nfinally: [{id: f, run: 'echo end >> log'}]\n")
    log_until(case, "began")
    kill(process)
    case.pawl("cancel", "k", status=0)
    equal(case.log()[-1], "end")
    case.pawl("resume", "k", status=4)


def begin_other(case, run, text):
    case.write("other.yaml", text)
    return start(case, "run", "other.yaml", "--run-id", run)


def a_child_that_is_passed_over_is_cancelled(case):
    """With `on_timeout: continue`, a child that took too long can't continue later; its `finally` runs."""
    case.write("child.yaml", "steps: [{id: k, run: 'sleep 30'}]\nfinally: [{id: f, run: 'echo end >> log'}]\n")
    case.run("steps: [{id: c, workflow: child.yaml, timeout: 500ms, on_timeout: continue}]\n")
    equal((case.log(), shown(case, "r.c")["status"]), (["end"], "cancelled"))


# People.

def one_of_two_answers_at_the_same_time_is_refused(case):
    """If a gate is approved and rejected at the same moment, one of the two is told that it does not count."""
    for number in range(15):
        run = f"r{number}"
        case.write("workflow.yaml", "steps: [{id: g, approve: 'ok?'}]\n")
        case.pawl("run", "workflow.yaml", "--run-id", run, status=3)
        both = [subprocess.Popen([case.program, verb, run], env=case.env, cwd=case.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) for verb in ("approve", "reject")]
        equal(sorted(process.wait(timeout=60) for process in both), [0, 4])


def what_was_typed_before_a_question_is_no_answer(case):
    """A line that was typed while a step ran does not answer the question that follows."""
    case.write("workflow.yaml", "steps:\n- {id: s, run: 'echo began >> log; sleep 1'}\n- {id: g, approve: 'Delete?'}\n- {id: z, run: 'echo deleted >> log'}\n")
    terminal = Terminal(case, "run", "workflow.yaml", "--run-id", "r")
    log_until(case, "began")
    terminal.type("y\n")
    terminal.until("Approve?")
    time.sleep(0.3)
    equal(case.log(), ["began"])
    terminal.type("y\n")
    log_until(case, "deleted")


def the_parent_of_a_waiting_child_says_what_it_waits_for(case):
    """`show` names the child that waits, not an interruption or a breakpoint."""
    case.write("child.yaml", "steps: [{id: g, approve: 'ok?'}]\n")
    case.run("steps: [{id: c, workflow: child.yaml}]\n", status=3)
    equal(shown(case)["waiting_for"], [{"what": "run", "step": "c", "run": "r.c"}])
    equal({step["step"]: step["status"] for step in shown(case)["steps"]}, {"c": "waiting"})


# Limits.

def a_workflow_that_calls_itself_ends(case):
    """Child runs nest 32 levels deep at most, also where their ids are shortened."""
    case.run("steps: [{id: a-step-with-a-long-name, run: 'echo x >> log'}, {id: and-a-child-with-a-long-name, workflow: workflow.yaml}]\n", status=1, timeout=60)
    equal(len(case.log()), 33)


def a_pipe_in_place_of_a_file_is_refused(case):
    """A pipe that nobody writes to does not hang the run."""
    os.mkfifo(path(case, "pipe"))
    case.run("steps: [{id: m, map: {items_from: pipe}, steps: [{run: 'true'}]}]\n", status=1, timeout=20)
    case.write("workflow.yaml", "env_file: pipe\nsteps: [{run: 'true'}]\n")
    done = case.pawl("run", "workflow.yaml", "--run-id", "e", timeout=20)
    holds(done.stderr, "not a regular file")


def a_missing_handler_is_refused_before_the_first_step(case):
    """A run whose workflow needs a handler that the program lacks does not begin."""
    done = case.run("steps: [{id: a, run: 'echo a >> log'}, {id: h, handler: nope}]\n", status=4)
    holds(done.stderr, "PAWL-0604")
    equal(case.log(), [])


def stopping_is_said_at_once(case):
    """The message that a second Ctrl-C kills now comes while the steps are still stopping."""
    process = begin(case, "grace: 6s\nsteps: [{id: s, run: \"trap '' TERM INT; echo began >> log; sleep 20\"}]\n", "--verbose")
    log_until(case, "began")
    began = time.monotonic()
    process.send_signal(2)
    said = ""
    while "interrupting" not in said:
        said += process.stdout.readline() + ("" if process.poll() is None else process.stderr.read())
        assert time.monotonic() - began < 5, f"nothing was said for 5 s: {said}"
    ended(case, process, 130)


main(globals())
