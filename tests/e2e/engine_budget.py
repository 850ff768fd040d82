#!/usr/bin/env python3
"""Tests that a budget counts what was reported as it comes, and stops before the next attempt.

  engine_budget.py PAWL [name of a test]...
"""
import re

from engine_case import appears, begin, ended, exists, log_until, main, resume, shown
from workflow_case import equal, holds, wait_for

SPEND = """
  tokens=${2:-0}
  echo "{\\"cost_usd\\": $1, \\"tokens\\": $tokens}" >> $PAWL_RESULT
"""


def _begin(case, text):
    """Starts the workflow; its steps report costs with `./spend.sh USD [TOKENS]`."""
    case.script("spend.sh", SPEND)
    return begin(case, text)


def costs_are_counted_while_the_step_runs(case):
    """`pawl show` counts what a running step has reported."""
    process = _begin(case, """
      steps:
      - {id: a, run: "./spend.sh 2 10; touch told; while [ ! -e go ]; do sleep 0.02; done; ./spend.sh 1 5"}
    """)
    appears(case, "told")
    wait_for(lambda: shown(case)["usage"]["usd"] == 2, "the cost in `show`", 10)
    case.write("go", "")
    ended(case, process, 0)
    equal(shown(case)["usage"], {"tokens": 15, "usd": 3, "api_calls": 0})


def a_running_step_that_uses_up_the_budget_holds_back_the_others(case):
    """A step that has reported more than the budget, and still runs, keeps other steps from starting."""
    process = _begin(case, """
      budget: {usd: 1}
      steps:
      - {id: a, needs: [], run: "./spend.sh 2; touch told; while [ ! -e go ]; do sleep 0.02; done"}
      - {id: b, needs: [], run: 'while [ ! -e told ]; do sleep 0.02; done; sleep 1'}
      - {id: c, needs: [b], run: 'echo c >> log'}
    """)
    wait_for(lambda: case.pawl("restore", "r").returncode == 0 and case.steps().get("b") == "completed", "step b")
    case.write("go", "")
    ended(case, process, 3)
    equal(case.log(), [])
    resume(case, "--budget-usd", "5")
    equal(case.log(), ["c"])


def items_of_a_map_stop_as_soon_as_the_budget_is_used(case):
    """Before each item of a map, all that running items have reported counts."""
    process = _begin(case, """
      budget: {usd: 2.5}
      steps:
      - id: m
        map: {items: [0, 1, 2, 3, 4, 5, 6, 7]}
        steps: [{id: s, run: "echo ${item} >> log; ./spend.sh 1"}]
    """)
    ended(case, process, 3)
    equal(case.log(), ["0", "1", "2"])


def a_budget_includes_the_children(case):
    """What a child uses counts against the budget of its parent, and the parent pauses before its next step."""
    case.write("child.yaml", "steps:\n- {id: s, run: './spend.sh 2 7'}\n")
    ended(case, _begin(case, "budget: {usd: 1}\nsteps:\n- {id: c, workflow: child.yaml}\n- {id: b, run: 'echo b >> log'}\n"), 3)
    equal((case.log(), shown(case)["usage"]), ([], {"tokens": 7, "usd": 2, "api_calls": 0}))
    resume(case, "--budget-usd", "5")
    equal((case.log(), shown(case)["usage"]["usd"]), (["b"], 2))


def a_child_pauses_when_the_budget_of_its_parent_is_used(case):
    """A child does not begin another step when the budget of its parent is used up."""
    case.write("child.yaml", """
      steps:
      - {id: one, run: "echo one >> log; ./spend.sh 2"}
      - {id: wait, run: 'sleep 1'}
      - {id: two, run: 'echo two >> log'}
    """)
    ended(case, _begin(case, "budget: {usd: 1}\nsteps:\n- {id: c, workflow: child.yaml}\n"), 3)
    equal(case.log(), ["one"])
    resume(case, "--budget-usd", "5")
    equal((case.log(), shown(case)["usage"]["usd"]), (["one", "two"], 2))


def costs_of_a_child_are_counted_once_over_resumes(case):
    """The cost of a child that fails and is resumed with its parent is counted once."""
    case.write("child.yaml", "steps:\n- {id: one, run: './spend.sh 2'}\n- {id: two, run: './spend.sh 1; [ -e go ]'}\n")
    ended(case, _begin(case, "steps:\n- {id: c, workflow: child.yaml}\n"), 1)
    equal(shown(case)["usage"]["usd"], 3)
    case.write("go", "")
    resume(case)
    equal(shown(case)["usage"]["usd"], 4)


def a_budget_stops_between_attempts(case):
    """A step whose attempts use up the budget is not tried again; a resume with a new limit tries it."""
    ended(case, _begin(case, """
      budget: {usd: 2.5}
      retry: {attempts: 6, backoff: 1ms}
      steps:
      - {id: a, run: "echo $PAWL_ATTEMPT >> log; ./spend.sh 1; [ -e go ]"}
    """), 3)
    equal(case.log(), ["1", "2", "3"])
    case.write("go", "")
    resume(case, status=3)
    resume(case, "--budget-usd", "9")
    equal(case.log(), ["1", "2", "3", "4"])


def the_limit_and_the_use_are_shown(case):
    """`pawl show` names what is used and the limit, before and after the budget is reached."""
    ended(case, _begin(case, """
      budget: {usd: 5, tokens: 90000}
      steps:
      - {id: a, run: "./spend.sh 1.5 1200"}
      - {id: g, approve: 'Go?'}
    """), 3)
    text = case.pawl("show", "r", status=0).stdout
    assert re.search(r"1\.50 of 5(\.00)? USD", text), text
    assert re.search(r"1,?200 of 90,?000 tokens", text), text
    budget = shown(case)["budget"]
    equal((budget["usd"], budget["tokens"]), (5, 90000))


def the_message_of_a_reached_budget_names_limit_and_use(case):
    """The program says how much of which limit was used, and how to go on."""
    said = ended(case, _begin(case, """
      budget: {usd: 1}
      steps:
      - {id: a, run: "./spend.sh 1.5"}
      - {id: b, run: 'true'}
    """), 3)
    assert re.search(r"1\.50 of 1(\.00)? USD", said), said
    holds(said, "--budget-usd")
    assert re.search(r"1\.50 of 1(\.00)? USD", case.pawl("show", "r", status=0).stdout), case.pawl("show", "r").stdout


def a_raised_limit_is_the_one_that_is_shown(case):
    """After a resume with a new limit, `show` names the new one."""
    ended(case, _begin(case, """
      budget: {usd: 1}
      steps:
      - {id: a, run: "./spend.sh 1.5"}
      - {id: g, approve: 'Go?'}
    """), 3)
    resume(case, "--budget-usd", "8", status=3)
    assert re.search(r"1\.50 of 8(\.00)? USD", case.pawl("show", "r", status=0).stdout), case.pawl("show", "r").stdout
    assert not exists(case, "log")


def costs_of_interrupted_attempts_count_once(case):
    """What an attempt had reported when the program was killed counts once, and again only if it is reported again."""
    process = _begin(case, "steps:\n- {id: a, run: 'echo x >> log; ./spend.sh 2; echo reported >> log; [ -e go ] || sleep 60'}\n")
    log_until(case, "reported")
    process.kill()
    process.wait()
    case.write("go", "")
    resume(case)
    equal(shown(case)["usage"]["usd"], 4)


main(globals())
