#!/usr/bin/env python3
"""Tests what runs and files share, on the real program: limits, caches and templates; and failure limits, notifications.

  engine_sharing.py PAWL [name of a test]...
"""
import json
import os
import signal
import time

from engine_case import appears, begin, ended, exists, kill, log_until, main, resume, shown, start
from workflow_case import equal, holds, wait_for


# Limits.

WIDTH = """
  limits: {api: {parallel: %d}}
  steps:
  - id: m
    map: {items: [0, 1, 2, 3, 4, 5, 6, 7], parallel: 8}
    uses: [api]
    steps: [{id: s, run: 'echo + >> wide; sleep 0.05; echo - >> wide; echo ${item} >> done-$PAWL_RUN'}]
"""


def _widest(case, name="wide"):
    width = most = 0
    for line in case.log(name):
        width += 1 if line == "+" else -1
        most = max(most, width)
    return most


def a_limit_bounds_how_many_run_at_once(case):
    """`limits: { api: { parallel: 2 } }` bounds the steps that use it, within one run."""
    case.run(WIDTH % 2)
    equal((_widest(case), len(case.log("done-r"))), (2, 8))


def a_limit_is_shared_by_the_runs_of_a_store(case):
    """Runs that use the same limit at the same time share it; of two definitions the stricter holds."""
    case.write("workflow.yaml", WIDTH % 2)
    case.write("wider.yaml", WIDTH % 6)
    case.pawl("run", "--run-id", "first", status=0)  # creates the store
    os.remove(os.path.join(case.folder, "wide"))
    runs = [case.start("run", name, "--run-id", f"r{number}") for number, name in enumerate(["workflow.yaml", "wider.yaml", "workflow.yaml"])]
    for number, process in enumerate(runs):
        ended(case, process, 0, run=f"r{number}", seconds=60)
    assert _widest(case) <= 6, case.log("wide")
    both = [line for line in case.log("wide")]
    equal(len(both), 2 * 3 * 8)


def of_two_definitions_the_stricter_holds(case):
    """While a run with a narrower definition is active, a run with a wider one is bounded by the narrower one."""
    case.write("narrow.yaml", "limits: {api: {parallel: 1}}\nsteps:\n- {id: a, uses: [api], run: 'touch narrow; while [ ! -e go ]; do sleep 0.02; done'}\n")
    case.write("wide.yaml", "limits: {api: {parallel: 9}}\nsteps:\n- {id: a, uses: [api], run: 'echo wide >> log'}\n")
    first = case.start("run", "narrow.yaml", "--run-id", "n")
    appears(case, "narrow")
    second = case.start("run", "wide.yaml", "--run-id", "w")
    wait_for(lambda: case.pawl("restore", "w").returncode == 0, "the second run")
    time.sleep(1)
    equal(case.log(), [])
    case.write("go", "")
    ended(case, first, 0, run="n")
    ended(case, second, 0, run="w")
    equal(case.log(), ["wide"])


def the_share_of_a_dead_holder_is_released(case):
    """A run that was killed while it held a share does not keep others from it."""
    case.write("workflow.yaml", "limits: {api: {parallel: 1}}\nsteps:\n- {id: a, uses: [api], run: 'echo $PAWL_RUN >> log; [ -e go ] || sleep 60'}\n")
    process = case.start("run", "--run-id", "dead")
    log_until(case, "dead")
    case.write("go", "")
    other = case.start("run", "--run-id", "other")
    wait_for(lambda: case.pawl("restore", "other").returncode == 0, "the other run")
    time.sleep(0.5)
    equal(case.log(), ["dead"])
    kill(process)
    ended(case, other, 0, run="other")
    resume(case, run="dead")
    equal(case.log(), ["dead", "other", "dead"])


def a_rate_bounds_how_many_start(case):
    """`per_minute: 2` lets at most two attempts start at once; the others wait for their minute."""
    process = begin(case, "grace: 300ms\nlimits: {api: {per_minute: 2}}\nuses: [api]\nsteps:\n- {id: m, map: {items: [0, 1, 2, 3, 4, 5], parallel: 6}, steps: [{id: s, run: 'echo ${item} >> log'}]}\n")
    wait_for(lambda: case.log(), "the first item")
    time.sleep(3)
    assert len(case.log()) <= 2, case.log()
    process.send_signal(signal.SIGINT)
    ended(case, process, 130)
    assert len(case.log()) <= 2, case.log()


def a_rate_counts_over_a_crash(case):
    """What was started within the minute counts for the rate after a kill and a resume."""
    process = begin(case, "limits: {api: {per_minute: 2}}\nsteps:\n- {id: m, uses: [api], map: {items: [0, 1, 2, 3, 4, 5], parallel: 6}, steps: [{id: s, run: 'echo ${item} >> log'}]}\n")
    wait_for(lambda: len(case.log()) == 2, "two items")
    kill(process)
    again = case.start("resume", "r")
    time.sleep(3)
    assert len(case.log()) <= 3, case.log()
    again.send_signal(signal.SIGINT)
    ended(case, again, 130)


def an_unknown_limit_is_an_error_in_check(case):
    """`uses` must name a limit of the file."""
    case.write("workflow.yaml", "limits: {openai: {parallel: 1}}\nsteps:\n- {id: a, uses: [opnai], run: 'true'}\n")
    done = case.pawl("check", status=2)
    holds(done.stdout + done.stderr, "opnai", "openai")


# Caches.

CACHED = """
  steps:
  - {id: a, cache: {key: "a ${vars.k}"%s}, run: 'echo ran ${vars.k} >> log; echo out ${vars.k} | tee file; echo "{\\"cost_usd\\": 1}" >> $PAWL_RESULT', capture: {format: text}}
  - {id: b, run: 'echo got ${steps.a.output} >> log'}
  vars: {k: 1}
"""


def a_cached_result_is_used_by_another_run(case):
    """A result with the same key is used by later runs of the store, costs nothing and refers to its origin."""
    case.run(CACHED % "")
    case.pawl("run", "--run-id", "s", status=0)
    equal(case.log(), ["ran 1", "got out 1", "got out 1"])
    equal((shown(case, "r")["usage"]["usd"], shown(case, "s")["usage"]["usd"]), (1, 0))
    told = case.pawl("show", "s", "--all").stdout + json.dumps(shown(case, "s")) + json.dumps(case.events(run="s"))
    holds(told, "r@")
    case.pawl("run", "--run-id", "t", "--var", "k=2", status=0)
    equal(case.log()[3:], ["ran 2", "got out 2"])


def a_result_that_is_too_old_is_not_used(case):
    """After its `ttl`, a result is made anew."""
    case.run(CACHED % ", ttl: 1s")
    case.pawl("run", "--run-id", "s", status=0)
    time.sleep(1.2)
    case.pawl("run", "--run-id", "t", status=0)
    equal(case.log().count("ran 1"), 2)


def a_result_of_an_erased_run_is_a_miss(case):
    """A result whose run was erased or removed is made anew."""
    case.run(CACHED % "")
    case.pawl("rm", "r", status=0)
    case.pawl("run", "--run-id", "s", status=0)
    equal(case.log().count("ran 1"), 2)


def a_failed_attempt_is_not_cached(case):
    """Only a completed step is a result."""
    text = "steps:\n- {id: a, cache: {key: x}, run: 'echo ran >> log; [ -e go ]; echo out', capture: {format: text}}\n"
    case.run(text, status=1)
    case.write("go", "")
    case.pawl("run", "--run-id", "s", status=0)
    case.pawl("run", "--run-id", "t", status=0)
    equal(case.log(), ["ran", "ran"])


def items_of_a_map_are_cached_one_by_one(case):
    """Each item has its own key; a second run executes only what is new."""
    text = "steps:\n- {id: m, map: {items: [%s]}, steps: [{id: s, cache: {key: 'page ${item}'}, run: 'echo ${item} >> log; echo ${item}', capture: {format: json}}]}\n- {id: u, run: 'echo \"${pluck(steps.m.output, ''output'')}\" >> used'}\n"
    case.run(text % "1, 2")
    case.write("workflow.yaml", text % "1, 2, 3")
    case.pawl("run", "--run-id", "s", status=0)
    equal((case.log(), case.log("used")), (["1", "2", "3"], ["[1,2]", "[1,2,3]"]))


def a_cached_result_stays_that_of_the_run_after_a_crash(case):
    """A hit is recorded: a resume uses it, even if the cache has changed since."""
    case.run(CACHED % "")
    case.write("workflow.yaml", (CACHED % "").replace("echo got", "[ -e go ]; echo got"))
    case.pawl("run", "--run-id", "s", status=1)
    case.write("go", "")
    resume(case, run="s")
    equal(case.log(), ["ran 1", "got out 1", "got out 1"])


# Templates.

TEMPLATES = """
  templates:
    lint:
      inputs: {path: null, level: 2}
      run: 'echo lint ${inputs.path} ${inputs.level} >> log; echo ${inputs.path}'
      capture: {format: text}
      retry: {attempts: 2, backoff: 1ms}
"""


def a_template_is_used_with_its_inputs(case):
    """`use: ./steps.yaml#lint` with `with:`; keys of the step replace those of the template."""
    case.write("steps.yaml", TEMPLATES)
    case.run("""
      vars: {dir: src}
      steps:
      - {id: a, use: ./steps.yaml#lint, with: {path: "${vars.dir}"}}
      - {id: b, use: ./steps.yaml#lint, with: {path: "${steps.a.output}/x", level: 5}}
      - {id: m, map: {items: [p, q]}, steps: [{id: s, use: ./steps.yaml#lint, with: {path: "${item}"}}]}
    """)
    equal(case.log(), ["lint src 2", "lint src/x 5", "lint p 2", "lint q 2"])


def a_changed_template_is_a_changed_workflow(case):
    """A resume after a change of the template's file is refused, and accepted on request."""
    case.write("steps.yaml", TEMPLATES)
    case.run("steps:\n- {id: a, use: ./steps.yaml#lint, with: {path: p}}\n- {id: b, run: '[ -e go ]'}\n", status=1)
    case.write("steps.yaml", TEMPLATES.replace("echo lint", "echo LINT"))
    case.write("go", "")
    holds(case.pawl("resume", "r", status=4).stderr, "PAWL-0208")
    resume(case, "--accept-changes")
    equal(case.log(), ["lint p 2", "LINT p 2"])


def a_missing_input_or_template_is_an_error_in_check(case):
    """`check` finds a missing required input, an unknown one, and a template that does not exist."""
    case.write("steps.yaml", TEMPLATES)
    for step, word in (("use: ./steps.yaml#lint", "path"), ("use: ./steps.yaml#lint, with: {path: x, paht: y}", "paht"), ("use: ./steps.yaml#lnt, with: {path: x}", "lint"),
                       ("use: ./other.yaml#lint", "other.yaml")):
        case.write("workflow.yaml", f"steps:\n- {{id: a, {step}}}\n")
        done = case.pawl("check", status=2)
        holds(done.stdout + done.stderr, word)


# Failure limits and notifications.

def a_failure_limit_in_percent(case):
    """`max_failures: 25%` of 8 items lets 2 fail; the third stops the map."""
    text = "steps:\n- {id: m, map: {items: [0, 1, 2, 3, 4, 5, 6, 7], on_item_failure: dlq, max_failures: 25%%}, steps: [{id: s, run: 'echo ${item} >> log; [ ${item} -ge %d ]'}]}\n"
    case.run(text % 2)
    equal(len(case.log()), 8)
    case.write("workflow.yaml", text % 3)
    case.pawl("run", "--run-id", "s", status=1)
    equal(len(case.log()), 8 + 3)


def a_command_is_told_when_a_run_waits_fails_or_finishes(case):
    """`notify` runs a command with the run and its status when it waits, fails and completes."""
    case.script("tell.sh", "env | grep '^PAWL' | sort >> told-env; echo \"$PAWL_RUN $(env | grep -Eo 'waiting|failed|completed' | sort -u | tr '\\n' ' ')\" >> told\n")
    case.run("notify: ./tell.sh\nsteps:\n- {id: g, approve: 'Go?'}\n- {id: b, run: '[ -e go ]'}\n", status=3)
    case.pawl("approve", "r", status=0)
    resume(case, status=1)
    case.write("go", "")
    resume(case)
    wait_for(lambda: len(case.log("told")) >= 3, "three notifications", 10)
    equal([line.strip() for line in case.log("told")], ["r waiting", "r failed", "r completed"])


def a_failing_or_slow_notification_does_not_change_the_run(case):
    """A `notify` that fails, or takes long, changes neither the result nor the exit status."""
    case.run("notify: 'exit 3'\nsteps:\n- {id: a, run: 'true'}\n")
    equal(case.state()["status"], "completed")
    process = start(case, "run", "--run-id", "s", env={})
    ended(case, process, 0, run="s")


def a_run_is_not_told_about_an_interrupt(case):
    """An interrupt is the doing of a person at hand: no notification."""
    process = begin(case, "grace: 300ms\nnotify: echo told >> told\nsteps:\n- {id: a, run: 'touch runs; sleep 60'}\n")
    appears(case, "runs")
    process.send_signal(signal.SIGINT)
    ended(case, process, 130)
    assert not exists(case, "told")

main(globals())
