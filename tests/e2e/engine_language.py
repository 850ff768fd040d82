#!/usr/bin/env python3
"""Tests what the workflow language offers builders of agents, on the real program: feedback in loops, deadlines, retries,
expressions, `finally` and matrices.

  engine_language.py PAWL [name of a test]...
"""
import contextlib
import json
import os
import signal
import time

from engine_case import appears, begin, ended, exists, kill, log_until, main, resume
from workflow_case import equal, holds, wait_for


# Feedback in loops.

PREVIOUS = """
  steps:
  - id: l
    loop: {max: 3}
    steps:
    - {id: use, run: 'echo "${loop.iteration} <${loop.previous.score.output}>" >> log'}
    - {id: score, run: 'echo "{\\"n\\": ${loop.iteration}}"; [ ${loop.iteration} != 2 ] || [ -e go ]', capture: {format: json}}
"""


def an_iteration_sees_the_outputs_of_the_one_before(case):
    """`loop.previous.ID.output` is null in the first iteration and then that of the iteration before."""
    case.write("go", "")
    case.run(PREVIOUS)
    equal(case.log(), ["1 <null>", '2 <{"n":1}>', '3 <{"n":2}>'])


def previous_outputs_survive_a_resume(case):
    """After a failure within an iteration, its repetition sees the same outputs of the iteration before."""
    case.run(PREVIOUS, status=1)
    case.write("go", "")
    resume(case)
    equal(case.log(), ["1 <null>", '2 <{"n":1}>', '3 <{"n":2}>'])


def large_previous_outputs_survive_a_crash(case):
    """Outputs of more than 4 KiB, and those of maps, are available to the next iteration after a kill."""
    process = begin(case, """
      steps:
      - id: l
        loop: {max: 3}
        steps:
        - {id: use, run: 'echo "${loop.iteration} ${length(default(loop.previous.text.output, ''''))} ${length(default(loop.previous.m.output, []))}" >> log'}
        - {id: text, run: "head -c 20000 /dev/zero | tr '\\\\0' x", capture: {format: text}}
        - {id: m, map: {items: [1, 2]}, steps: [{id: s, run: 'echo ${item}', capture: {format: json}}]}
        - {id: wait, run: 'if [ ${loop.iteration} = 2 ] && [ ! -e go ]; then touch there; sleep 60; fi'}
    """)
    appears(case, "there")
    kill(process)
    case.write("go", "")
    resume(case)
    equal(case.log(), ["1 0 0", "2 20000 2", "3 20000 2"])


# Deadlines.

def _gate(case, how, more=""):
    case.write("workflow.yaml", f"""
      steps:
      - {{id: g, approve: 'Go?', timeout: 300ms, on_timeout: {how}{more}, on_failure: [{{id: t, run: 'echo tidy >> log'}}]}}
      - {{id: b, run: 'echo b >> log'}}
    """)
    return case.start("run", "--run-id", "r", "--wait")


def a_gate_is_rejected_by_its_deadline(case):
    """`on_timeout: reject` is recorded as a decision by timeout; the run fails, and a resume does not ask again."""
    ended(case, _gate(case, "reject"), 1)
    equal(case.log(), ["tidy"])
    rejected, = case.events("rejected")
    holds(json.dumps(rejected["data"]), "timeout")
    before = len(case.events("approval_requested"))
    resume(case, status=1)
    equal((len(case.events("approval_requested")), "b" in case.log()), (before, False))


def reject_is_the_default_of_a_deadline(case):
    """A gate with `timeout` alone is rejected when it passes."""
    ended(case, begin(case, "steps:\n- {id: g, approve: 'Go?', timeout: 200ms}\n", "--wait"), 1)
    equal(len(case.events("rejected")), 1)


def a_gate_fails_by_its_deadline_and_may_be_retried(case):
    """`on_timeout: fail` is a timeout, not a decision: `retry` asks again, and so does a resume."""
    ended(case, _gate(case, "fail", ", retry: {attempts: 2, backoff: 1ms}"), 1)
    equal((case.events("rejected"), case.log()), ([], ["tidy"]))
    assert len(case.events("approval_requested")) == 2, case.events("approval_requested")
    process = case.start("resume", "r", "--wait")
    wait_for(lambda: case.steps().get("g") == "waiting", "the question")
    case.pawl("approve", "r", "g")
    ended(case, process, (0, 1))


def a_gate_continues_after_its_deadline(case):
    """`on_timeout: continue` completes the step without an approval."""
    ended(case, _gate(case, "continue"), 0)
    equal((case.log(), case.events("approved"), case.events("rejected")), (["b"], [], []))
    assert not (case.output("g") or {}).get("approved"), case.output("g")


def the_deadline_of_a_gate_passes_while_nothing_executes(case):
    """Without --wait the program exits with 3; a resume after the deadline acts on it."""
    case.write("workflow.yaml", "steps:\n- {id: g, approve: 'Go?', timeout: 1s, on_timeout: continue}\n- {id: b, run: 'echo b >> log'}\n")
    case.pawl("run", "--run-id", "r", status=3)
    time.sleep(1.2)
    resume(case)
    equal(case.log(), ["b"])


def an_answer_before_the_deadline_counts(case):
    """An approval that is durable before the deadline wins, even if it is read after it."""
    case.write("workflow.yaml", "steps:\n- {id: g, approve: 'Go?', timeout: 20s}\n- {id: b, run: 'echo b >> log'}\n")
    case.pawl("run", "--run-id", "r", status=3)
    case.pawl("approve", "r", status=0)
    resume(case)
    equal(case.log(), ["b"])


CONTAINERS = {
    "loop": "loop: {max: 3}\n  steps: [{id: s, run: 'echo x >> log; sleep 60'}]",
    "map": "map: {items: [1, 2, 3]}\n  steps: [{id: s, run: 'echo x >> log; sleep 60'}]",
    "child": "workflow: child.yaml",
}


def _container(case, kind, how):
    case.write("child.yaml", "grace: 300ms\nsteps:\n- {id: s, run: 'echo x >> log; sleep 60'}\n")
    return begin(case, f"grace: 300ms\nsteps:\n- id: a\n  {CONTAINERS[kind]}\n  timeout: 2s{how}\n- {{id: b, run: 'echo b >> log'}}\n")


def _forget(case):
    """Starts over with an empty store."""
    case.env["PAWL_STORE"] += "-next"
    os.remove(os.path.join(case.folder, "log"))


def loops_maps_and_children_have_deadlines(case):
    """When the `timeout` of a loop, a map or a child passes, what runs inside is stopped and the step fails."""
    for kind in CONTAINERS:
        ended(case, _container(case, kind, ""), 1)
        equal((kind, case.steps()["a"], case.log()[-1:]), (kind, "failed", ["x"]))
        holds(case.pawl("show", "r").stdout, "timed out")
        _forget(case)


def a_deadline_may_let_the_run_continue(case):
    """With `on_timeout: continue` the step after the loop, map or child runs."""
    for kind in CONTAINERS:
        ended(case, _container(case, kind, "\n  on_timeout: continue"), 0)
        equal((kind, case.log()[-1:]), (kind, ["b"]))
        _forget(case)


def the_time_between_executions_does_not_count_for_deadlines(case):
    """The deadline of a loop counts only while a process drives the run."""
    process = begin(case, "steps:\n- id: l\n  loop: {max: 1}\n  timeout: 4s\n  steps: [{id: s, run: 'echo x >> log; [ -e go ] || sleep 60'}]\n")
    log_until(case, "x")
    kill(process)
    time.sleep(5)
    case.write("go", "")
    resume(case)


def only_a_gate_can_be_rejected_by_its_deadline(case):
    """`on_timeout: reject` on a loop is an error in `check`, and so is `on_timeout` without `timeout`."""
    for text in ("loop: {max: 1}\n  timeout: 1s\n  on_timeout: reject\n  steps: [{id: s, run: 'true'}]", "approve: 'Go?'\n  on_timeout: fail"):
        case.write("workflow.yaml", f"steps:\n- id: a\n  {text}\n")
        holds(case.pawl("check", status=2).stderr + case.pawl("check").stdout, "on_timeout")


# Retries.

def only_listed_codes_are_retried(case):
    """`on_codes` retries these exit codes and no others."""
    case.run("""
      retry: {attempts: 3, backoff: 1ms, on_codes: [75, 7]}
      steps:
      - {id: a, continue_on_error: true, run: 'echo a >> log; exit 75'}
      - {id: b, continue_on_error: true, run: 'echo b >> log; exit 1'}
    """)
    equal((case.log().count("a"), case.log().count("b")), (3, 1))


def a_condition_decides_about_another_attempt(case):
    """`retry: { when: ... }` sees `exit_code`, `error` and `attempt`."""
    case.run("""
      steps:
      - {id: a, continue_on_error: true, retry: {attempts: 9, backoff: 1ms, when: exit_code == 75 && attempt < 3}, run: 'echo a >> log; exit 75'}
      - {id: b, continue_on_error: true, retry: {attempts: 9, backoff: 1ms, when: exit_code == 75}, run: 'echo b >> log; exit 1'}
      - {id: c, continue_on_error: true, retry: {attempts: 3, backoff: 1ms, when: "contains(error, 'status 5')"}, run: 'echo c >> log; exit 5'}
    """)
    equal([case.log().count(step) for step in "abc"], [3, 1, 3])


def a_step_says_when_to_try_again(case):
    """A reported `retry_after` delays the next attempt at least that long."""
    case.run("""
      retry: {attempts: 2, backoff: 1ms}
      steps:
      - id: a
        run: |
          date +%s%N >> log
          echo '{"retry_after": "2s"}' >> $PAWL_RESULT
          [ $PAWL_ATTEMPT = 2 ]
    """)
    first, second = (int(line) for line in case.log())
    assert second - first >= 1_900_000_000, second - first


def retry_after_may_be_a_number_of_seconds(case):
    """`retry_after` as a number means seconds, as in the HTTP header."""
    case.run("retry: {attempts: 2, backoff: 1ms}\nsteps:\n- id: a\n  run: |\n    date +%s%N >> log\n    echo '{\"retry_after\": 1.5}' >> $PAWL_RESULT\n    [ $PAWL_ATTEMPT = 2 ]\n")
    first, second = (int(line) for line in case.log())
    assert second - first >= 1_400_000_000, second - first


# Expressions.

def expressions_stand_for_numbers_and_durations(case):
    """Numbers, durations and names of signals may be expressions."""
    case.run("""
      vars: {n: 2, none: 0, short: 1ms, name: release}
      steps:
      - {id: a, retry: {attempts: "${vars.n + 1}", backoff: "${vars.short}"}, continue_on_error: true, run: 'echo a >> log; false'}
      - {id: l, loop: {max: "${vars.n}"}, steps: [{id: s, run: 'echo l >> log'}]}
      - {id: m, map: {items: [1, 2, 3], parallel: "${vars.n}", on_item_failure: dlq, max_failures: "${vars.n + 1}"}, steps: [{id: s, run: 'echo m >> log; false'}]}
      - {id: t, timeout: "${vars.n}h", total_timeout: "${'3h'}", run: 'echo t >> log'}
      - {id: w, continue_on_error: true, wait_for: {signal: "${vars.name}-${vars.n}", timeout: "${vars.short}"}}
    """, "--wait")
    equal([case.log().count(step) for step in "almt"], [3, 2, 3, 1])
    holds(json.dumps(case.events("waiting_for_signal")), "release-2")


def a_signal_is_found_by_its_computed_name(case):
    """A signal with a computed name ends the wait."""
    case.run("vars: {name: release}\nsteps:\n- {id: w, wait_for: {signal: '${vars.name}-7'}}\n- {id: b, run: 'echo b >> log'}\n", status=3)
    case.pawl("signal", "r", "release-7", status=0)
    resume(case)
    equal(case.log(), ["b"])


def an_expression_that_gives_no_number_fails_the_step_clearly(case):
    """A value that is no number where a number stands fails with the value and the place."""
    said = ended(case, begin(case, "vars: {n: many}\nsteps:\n- {id: l, loop: {max: '${vars.n}'}, steps: [{id: s, run: 'true'}]}\n"), (1, 2))
    holds(said, "many", "max")


# finally.

FINALLY = """
  grace: 300ms
  steps:
  - {id: a, run: '%s'}
  finally:
  - {id: tidy, run: 'echo $PAWL_IDEMPOTENCY_KEY >> tidied; %s'}
"""


def finally_runs_after_success_and_failure(case):
    """The steps of `finally` run before the run ends, whatever its result."""
    for run, command, status in (("good", "true", 0), ("bad", "false", 1)):
        case.write("workflow.yaml", FINALLY % (command, "true"))
        case.pawl("run", "--run-id", run, status=status)
        equal((run, len(case.log("tidied"))), (run, 1 if run == "good" else 2))


def finally_runs_after_a_cancel(case):
    """`pawl cancel` runs `finally`, too."""
    process = begin(case, FINALLY % ("touch runs; sleep 60", "true"))
    appears(case, "runs")
    case.pawl("cancel", "r", status=0)
    ended(case, process, 1)
    equal((len(case.log("tidied")), case.state()["status"]), (1, "cancelled"))


def finally_does_not_run_on_an_interrupt_or_a_pause(case):
    """An interrupted or waiting run is not over: `finally` runs when it ends."""
    process = begin(case, FINALLY % ("touch runs; [ -e go ] || sleep 60", "true"))
    appears(case, "runs")
    process.send_signal(signal.SIGINT)
    ended(case, process, 130)
    equal(case.log("tidied"), [])
    case.write("go", "")
    resume(case)
    equal(len(case.log("tidied")), 1)
    case.write("w.yaml", "steps:\n- {id: g, approve: 'Go?'}\nfinally:\n- {id: t, run: 'echo t >> waited'}\n")
    case.pawl("run", "w.yaml", "--run-id", "w", status=3)
    equal(case.log("waited"), [])
    case.pawl("approve", "w", status=0)
    resume(case, run="w")
    equal(case.log("waited"), ["t"])


def a_failure_of_finally_fails_the_run(case):
    """A run whose `finally` fails has failed, and a resume repeats only that."""
    case.run(FINALLY % ("echo a >> log", "[ -e go ]"), status=1)
    equal(case.state()["status"], "failed")
    case.write("go", "")
    resume(case)
    equal((case.log(), len(case.log("tidied"))), (["a"], 2))


def finally_is_repeated_with_a_new_key_after_more_work(case):
    """After a resume that did more work, `finally` runs again with another idempotency key; completed steps don't."""
    case.run(FINALLY % ("echo a >> log; [ -e go ]", "true"), status=1)
    case.write("go", "")
    resume(case)
    equal((case.log(), len(case.log("tidied")), len(set(case.log("tidied")))), (["a", "a"], 2, 2))


def finally_is_completed_after_a_crash_in_it(case):
    """A kill while `finally` runs leaves a run whose resume runs what is left of it."""
    process = begin(case, "steps:\n- {id: a, run: 'echo a >> log'}\nfinally:\n- {id: one, run: 'echo one >> log'}\n- {id: two, run: 'touch there; [ -e go ] || sleep 60; echo two >> log'}\n")
    appears(case, "there")
    kill(process)
    case.write("go", "")
    resume(case)
    equal(case.log(), ["a", "one", "two"])


# Matrices and functions.

def a_matrix_is_the_product_of_its_lists(case):
    """`matrix` gives an item for each combination; the last key changes fastest."""
    case.run("""
      vars: {sizes: [1, 2]}
      steps:
      - id: m
        map: {matrix: {model: [a, b], size: "${vars.sizes}", case: "${range(2)}"}}
        steps: [{id: s, run: 'echo ${item.model} ${item.size} ${item.case} ${index} >> log'}]
    """)
    expected = [f"{model} {size} {number}" for model in "ab" for size in (1, 2) for number in (0, 1)]
    equal(case.log(), [f"{line} {index}" for index, line in enumerate(expected)])


def a_matrix_is_resumed_like_any_map(case):
    """After a failure, only the combinations that are left run."""
    case.run("""
      steps:
      - id: m
        map: {matrix: {x: [1, 2], y: [1, 2]}}
        steps: [{id: s, run: 'echo ${item.x}${item.y} >> log; [ ${item.x}${item.y} != 21 ] || [ -e go ]'}]
    """, status=1)
    case.write("go", "")
    resume(case)
    equal(case.log(), ["11", "12", "21", "21", "22"])


def range_join_and_pluck(case):
    """The functions range, join and pluck."""
    case.run("""
      vars: {people: [{name: ann, age: 3}, {name: bob, age: 5}]}
      steps:
      - {id: a, run: 'echo "${join(pluck(vars.people, \\'name\\'), \\', \\')}" >> log'}
      - {id: b, run: 'echo "${range(3)} ${range(2, 5)} ${range(0)}" >> log'}
      - {id: m, map: {items: "${range(1, 4)}"}, steps: [{id: s, run: 'echo ${item} >> log'}]}
    """.replace("\\'", "''"))
    equal(case.log(), ["ann, bob", "[0,1,2] [2,3,4] []", "1", "2", "3"])


# check, schema and completion.

TEMPLATES = """
  templates:
    lint:
      inputs: {path: null, level: 2}
      run: 'echo lint ${inputs.path} ${inputs.level} >> log; echo ${inputs.path}'
      capture: {format: text}
      retry: {attempts: 2, backoff: 1ms}
"""

NEW_KEYS = ["limits", "uses", "finally", "notify", "on_timeout", "on_codes", "matrix", "cache", "use", "per_minute", "ttl"]


def the_schema_has_every_new_key(case):
    """`pawl schema` describes every key."""
    schema = json.loads(case.pawl("schema", status=0).stdout)
    known = set()
    for part in [schema, *schema["$defs"].values()]:
        known |= set(part.get("properties", {}))
    equal([key for key in NEW_KEYS if key not in known], [])


def check_draws_a_workflow_with_everything(case):
    """`pawl check` accepts and draws a workflow that uses everything, and --dry-run plans it."""
    case.write("steps.yaml", TEMPLATES)
    case.write("workflow.yaml", """
      vars: {n: 2}
      limits: {openai: {per_minute: 60, parallel: 8}}
      notify: echo done
      steps:
      - {id: t, use: ./steps.yaml#lint, with: {path: src}}
      - {id: m, uses: [openai], timeout: 1h, map: {matrix: {a: [1, 2], b: "${range(vars.n)}"}, max_failures: 10%}, steps: [{id: s, cache: {key: "${item.a}", ttl: 1d}, run: 'true'}]}
      - {id: l, timeout: 1h, on_timeout: continue, loop: {max: "${vars.n}"}, steps: [{id: s, run: 'echo ${loop.previous.s.status}'}]}
      - {id: g, approve: 'Go?', timeout: 24h, on_timeout: fail, retry: {attempts: 2}}
      - {id: r, run: 'true', retry: {attempts: 3, on_codes: [75], when: attempt < 2}}
      finally:
      - {id: f, run: 'true'}
    """.replace("loop.previous.s.status", "loop.previous.s.output"))
    said = case.pawl("check", status=0).stdout
    holds(said, "finally")
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(case.folder, "log"))
    case.pawl("run", "--dry-run", status=0)
    assert not exists(case, "log")


main(globals())
