#!/usr/bin/env python3
"""Tests that checkpoints are found, named and told for what they are.

  engine_checkpoints.py PAWL [name of a test]...
"""
import json
import time

from engine_case import begin, checkpoints, ended, log_until, main, resume, shown
from workflow_case import equal, holds


def _steps_at(case, address):
    return json.loads(case.pawl("restore", address, status=0).stdout)["steps"]


def _events(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def every_completed_step_has_an_address(case):
    """`RUN@step:ID` finds a checkpoint for every step that completed, also if several ended in the same save."""
    steps = [f"s{number}" for number in range(12)]
    roots = "\n".join(f"- {{id: {step}, needs: [], run: 'while [ ! -e go ]; do sleep 0.01; done'}}" for step in steps)
    process = begin(case, "steps:\n- {id: first, run: 'echo first >> log'}\n" + roots.replace("needs: []", "needs: [first]") + "\n- {id: last, needs: [%s], run: 'true'}\n" % ", ".join(steps))
    log_until(case, "first")
    time.sleep(0.3)
    case.write("go", "")
    ended(case, process, 0)
    for step in ["first", *steps, "last"]:
        found = _steps_at(case, f"r@step:{step}")
        equal((step, found[step]["status"]), (step, "completed"))


def steps_in_a_sequence_have_addresses(case):
    """The same where one record holds the end of a step and the start of the next one; the first and the last, too."""
    case.run("steps:\n" + "".join(f"- {{id: s{number}, run: 'true'}}\n" for number in range(6)))
    for number in range(6):
        found = _steps_at(case, f"r@step:s{number}")
        equal(found[f"s{number}"]["status"], "completed")


def loops_maps_gates_and_children_have_addresses(case):
    """Steps of every kind are found, and so are the steps of an iteration."""
    case.write("child.yaml", "steps:\n- {id: s, run: 'true'}\n")
    case.run("""
      steps:
      - {id: l, loop: {max: 2}, steps: [{id: t, run: 'true'}]}
      - {id: m, map: {items: [1, 2]}, steps: [{id: t, run: 'true'}]}
      - {id: c, workflow: child.yaml}
      - {id: z, sleep: 10ms}
      - {id: g, approve: 'Go?'}
    """, status=3)
    case.pawl("approve", "r", status=0)
    resume(case)
    for step in ("l", "m", "c", "z", "g"):
        found = _steps_at(case, f"r@step:{step}")
        equal((step, found[step]["status"]), (step, "completed"))
    for step in ("l[1].t", "l[2].t"):  # the state may be that of the next iteration
        _steps_at(case, f"r@step:{step}")


def a_failed_step_in_a_sequence_is_named_by_its_checkpoint(case):
    """The checkpoint of a failure names the step that failed, also in a sequence."""
    case.run("steps:\n- {id: a, run: 'true'}\n- {id: b, run: 'false'}\n", status=1)
    failures = [one for one in checkpoints(case) if one["reason"] == "step_failed"]
    equal([one["step"] for one in failures][:1], ["b"])
    equal(_steps_at(case, "r@step:b")["b"]["status"], "failed")


def a_risky_step_has_a_checkpoint_of_its_own_before_it(case):
    """`risky: true` makes a checkpoint with the reason before_risky_step that names the step, before the step runs."""
    case.run("steps:\n- {id: a, run: 'true'}\n- {id: b, risky: true, run: 'true'}\n- {id: c, run: 'true'}\n")
    found = [one for one in checkpoints(case) if one["reason"] == "before_risky_step"]
    equal([one["step"] for one in found], ["b"])
    before = _steps_at(case, f"r@{found[0]['sequence']}")
    equal((before["a"]["status"], before.get("b", {}).get("status") in (None, "pending", "running")), ("completed", True))
    holds(case.pawl("show", "r", "--checkpoints", status=0).stdout + json.dumps(checkpoints(case)), "risky")


def a_risky_first_step_has_its_checkpoint(case):
    """The same for the first step of a run, and for steps that start at the same time."""
    case.run("steps:\n- {id: a, risky: true, run: 'true'}\n- {id: b, needs: [], risky: true, run: 'true'}\n")
    equal(sorted(one["step"] for one in checkpoints(case) if one["reason"] == "before_risky_step"), ["a", "b"])


def an_evaluation_makes_a_checkpoint_of_its_own(case):
    """A reported evaluation makes a checkpoint with the reason evaluation_completed that names the step."""
    case.run("""
      steps:
      - {id: a, run: 'echo "{\\"evaluation\\": {\\"score\\": 3}}" >> $PAWL_RESULT'}
      - {id: b, run: 'true'}
      - {id: c, run: 'echo "{\\"evaluation\\": {\\"score\\": 4}}" >> $PAWL_RESULT'}
    """)
    equal([one["step"] for one in checkpoints(case) if one["reason"] == "evaluation_completed"], ["a", "c"])


def a_confidence_that_crosses_makes_a_checkpoint_of_its_own(case):
    """A confidence that crosses the threshold makes a checkpoint with the reason confidence_crossed."""
    case.run("""
      steps:
      - {id: a, run: 'echo "{\\"confidence\\": 0.9}" >> $PAWL_RESULT'}
      - {id: b, run: 'echo "{\\"confidence\\": 0.3}" >> $PAWL_RESULT'}
      - {id: c, run: 'true'}
    """)
    equal([one["step"] for one in checkpoints(case) if one["reason"] == "confidence_crossed"], ["b"])


def all_three_at_once_make_three_checkpoints(case):
    """A step that reports an evaluation and a low confidence before a risky step has a checkpoint for each reason."""
    case.run("""
      steps:
      - {id: a, run: 'echo "{\\"confidence\\": 0.3, \\"evaluation\\": {\\"score\\": 1}}" >> $PAWL_RESULT'}
      - {id: b, risky: true, run: 'true'}
    """)
    reasons = [(one["reason"], one["step"]) for one in checkpoints(case)]
    for wanted in (("evaluation_completed", "a"), ("confidence_crossed", "a"), ("before_risky_step", "b")):
        equal(reasons.count(wanted), 1)


def a_failed_stage_is_not_completed(case):
    """A stage with a failed step makes no event stage_completed and no checkpoint `RUN@stage:ID`."""
    case.run("""
      stages:
      - {id: one, steps: [{id: a, run: 'true'}]}
      - {id: two, type: parallel, steps: [{id: b, run: 'false'}, {id: c, run: 'true'}]}
    """, status=1)
    equal([event["data"]["stage"] for event in case.events("stage_completed")], ["one"])
    equal([one["stage"] for one in checkpoints(case) if one["kind"] == "stage_complete"], ["one"])
    case.pawl("show", "r@stage:one", status=0)
    assert case.pawl("show", "r@stage:two").returncode != 0, "a checkpoint says that the failed stage is complete"


def a_failed_layer_is_not_completed(case):
    """A layer with a failed step makes no event layer_completed."""
    case.run("steps:\n- {id: a, run: 'true'}\n- {id: b, needs: [], run: 'true'}\n- {id: c, needs: [a, b], run: 'false'}\n- {id: d, needs: [a], run: 'true'}\n", status=1)
    equal([event["data"]["layer"] for event in case.events("layer_completed")], [0])


def a_stage_that_succeeds_after_a_resume_is_completed_once(case):
    """A stage that failed first and succeeds after a resume is completed then, once."""
    case.run("stages:\n- {id: one, steps: [{id: a, run: '[ -e go ]'}]}\n- {id: two, steps: [{id: b, run: 'true'}]}\n", status=1)
    equal(case.events("stage_completed"), [])
    case.write("go", "")
    resume(case)
    equal([event["data"]["stage"] for event in case.events("stage_completed")], ["one", "two"])


def run_with_json_names_each_checkpoint(case):
    """`run --json` tells each checkpoint with its sequence, as `show --checkpoints` lists them."""
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'true'}\n- {id: b, risky: true, run: 'true'}\n- {id: c, run: 'false'}\n")
    told = _events(case.pawl("run", "--run-id", "r", "--json", status=1).stdout)
    saved = [event["sequence"] for event in told if event["event"] == "checkpoint_saved"]
    equal(saved, [one["sequence"] for one in checkpoints(case)])
    told = _events(case.pawl("resume", "r", "--json", status=1).stdout)
    assert [event for event in told if event["event"] == "checkpoint_saved"], told


def resuming_a_checkpoint_says_how_to_fork_or_roll_back(case):
    """`resume RUN@X` is an error that names the commands that do what was meant."""
    case.run("steps:\n- {id: a, run: 'true'}\n- {id: b, run: 'false'}\n", status=1)
    for address in ("2", "latest", "step:a", "name:x"):
        done = case.pawl("resume", f"r@{address}", status=2)
        holds(done.stderr, f"pawl fork r@{address}", f"pawl rollback r@{address}")


def rolling_back_to_a_step_runs_what_came_after_it(case):
    """`rollback RUN@step:ID` returns to the moment after that step, also for steps that ended together."""
    process = begin(case, """
      steps:
      - {id: a, needs: [], run: 'echo a >> log; while [ ! -e go ]; do sleep 0.01; done'}
      - {id: b, needs: [], run: 'echo b >> log; while [ ! -e go ]; do sleep 0.01; done'}
      - {id: c, needs: [a, b], run: 'echo c >> log'}
    """)
    log_until(case, "b")
    log_until(case, "a")
    case.write("go", "")
    ended(case, process, 0)
    for step in ("a", "b"):
        equal(_steps_at(case, f"r@step:{step}")[step]["status"], "completed")
    case.pawl("rollback", "r@step:b", "--accept-rerun", status=0)
    before = len(case.log())
    resume(case)
    assert "b" not in case.log()[before:] and "c" in case.log()[before:], case.log()
    equal(shown(case)["status"], "completed")


main(globals())
