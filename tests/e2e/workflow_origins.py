#!/usr/bin/env python3
"""Acceptance tests for checkpoints, runs and resumes.

  workflow_origins.py PAWL [name of a test]...
"""
import json
import os
import signal
import subprocess

from workflow_case import equal, holds, run_tests, wait_for

SEVEN = "".join(f"- {{id: s{i}, run: 'echo s{i} ${{vars.v}} >> log', capture: {{format: text}}}}\n" for i in range(7))


def positions(case, run="r"):
    """Returns the position of every checkpoint of a run, oldest first."""
    found = []
    for sequence in range(1, 1000):
        done = case.pawl("restore", f"{run}@{sequence}")
        if done.returncode != 0:
            return found
        found.append(json.loads(done.stdout)["position"])


def files_under(tested, *parts):
    return os.listdir(os.path.join(tested.env["PAWL_STORE"], *parts))


# Checkpoints: acceptance criteria.

def ac1_one_form_for_all_workflows(case):
    case.run("vars: {v: 1}\nsteps:\n- {id: a, run: 'true'}\n")
    case.write("map.yaml", "vars: {v: 1}\nsteps:\n- {id: m, map: {items: [1, 2]}, steps: [{id: s, run: 'true'}]}\n")
    case.pawl("run", "map.yaml", "--run-id", "m", status=0)
    for run in ("r", "m"):
        state = case.state(run)
        equal(state["pawl"], "run/1")
        assert os.path.isabs(state["workflow"]["file"]) and state["vars"] == {"v": 1} and state["steps"]
    # `spent_ms` is left out if the steps took less than a millisecond.
    equal(set(case.state("r")) - {"spent_ms"}, set(case.state("m")) - {"spent_ms"})


def ac2_a_checkpoint_says_where_it_stands(case):
    case.run("grace: 100ms\nsteps:\n- {id: a, run: 'true'}\n- {id: b, run: '[ -e go ]'}\n- {id: c, run: 'touch runs; [ -e on ] || sleep 60'}\n", status=1)
    assert "before_step" in positions(case) and positions(case)[-1] == "failed"
    case.write("go", "")
    process = case.start("resume", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    process.send_signal(signal.SIGINT)
    equal(process.wait(20), 130)
    equal(positions(case)[-1], "interrupted")
    case.write("on", "")
    case.pawl("resume", "r", status=0)
    equal(positions(case)[-1], "completed")


def ac3_a_checkpoint_is_there_before_the_step_runs(case):
    case.run("steps:\n- {id: a, run: 'true'}\n- {id: b, run: '\"$PAWL\" restore $PAWL_RUN', capture: {format: json}}\n", env={"PAWL": case.program})
    seen = case.output("b")
    equal((seen["position"], seen["steps"]["a"]["status"], seen["steps"]["b"]["status"]), ("before_step", "completed", "running"))


def ac4_a_checkpoint_follows_success_and_earlier_ones_stay(case):
    case.run("steps:\n- {id: a, run: echo one, capture: {format: text}}\n- {id: b, run: 'true'}\n")
    states = [json.loads(case.pawl("restore", f"r@{i}", status=0).stdout) for i in range(1, len(positions(case)) + 1)]
    assert "a" not in states[0]["steps"] or states[0]["steps"]["a"]["status"] == "running"
    equal(next(s["steps"]["a"]["output"] for s in states if s["steps"].get("a", {}).get("status") == "completed"), "one")


def ac5_a_failure_leaves_a_checkpoint(case):
    case.run("steps:\n- {id: a, run: exit 3}\n", status=1)
    record = case.state()["steps"]["a"]
    equal((case.state()["position"], record["status"], record["exit_code"], record.get("retryable", True)), ("failed", "failed", 3, True))


def ac6_ctrl_c_makes_the_running_step_pending_for_the_resume(case):
    case.write("workflow.yaml", "grace: 100ms\nsteps:\n- {id: a, run: 'echo x >> log; touch runs; [ -e go ] || sleep 60'}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    process.send_signal(signal.SIGINT)
    equal(process.wait(20), 130)
    equal((case.state()["status"], case.steps()["a"]), ("interrupted", "interrupted"))
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    equal(case.log(), ["x", "x"])


def ac7_checkpoints_have_one_place(case):
    case.run("steps:\n- {id: a, run: 'true'}\n")
    assert "checkpoint_00001.json" in files_under(case, "runs", "r", "checkpoints")
    equal(case.pawl("show", "r@1").returncode, 0)


def ac8_history_is_kept_and_damage_is_named(case):
    case.run("vars: {v: x}\nsteps:\n" + SEVEN)
    equal(len(positions(case)) > 7, True)
    folder = os.path.join(case.env["PAWL_STORE"], "runs", "r", "checkpoints")
    path = os.path.join(folder, "checkpoint_00001.json")
    case.pawl("fsck", status=0)
    with open(path, "r+b") as file:
        file.seek(200)
        byte = file.read(1)
        file.seek(200)
        file.write(bytes([byte[0] ^ 1]))
    holds(case.pawl("fsck", status=4).stdout + case.pawl("fsck").stderr, "checkpoint_00001")


def ac9_a_resume_finds_the_checkpoint_by_the_runs_name(case):
    case.run("vars: {v: x}\nsteps:\n- {id: a, run: 'true'}\n- {id: b, run: '[ -e go ]'}\n", status=1)
    shown = json.loads(case.pawl("show", "r", "--json", status=0).stdout)
    equal((shown["status"], [(s["id"], s["status"]) for s in shown["steps"]], shown["vars"]), ("failed", [("a", "completed"), ("b", "failed")], {"v": "x"}))
    assert shown["workflow_file"].endswith("workflow.yaml")
    case.write("go", "")
    case.pawl("resume", "r", status=0)


def ac10_a_resume_retries_the_failed_step_with_its_variables(case):
    case.run("vars: {v: null}\nsteps:\n- {id: a, run: echo a >> log}\n- {id: b, run: 'echo b ${vars.v} >> log; [ -e go ]'}\n", "--var", "v=kept", status=1)
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    equal(case.log(), ["a", "b kept", "b kept"])


# Checkpoint and resume of DAGs.

def a_saved_run_is_resumed_as_it_was(case):
    case.run("steps:\n- {id: a, run: 'echo \"{\\\\\"x\\\\\": [1, null]}\"', capture: {format: json}}\n- {id: b, run: '[ -e go ]'}\n".replace("\\\\", "\\"), status=1)
    before = case.state()["steps"]["a"]
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    equal(case.state()["steps"]["a"], before)


def a_dag_stopped_after_layer_two_goes_on_with_layer_three(case):
    case.run("""
      steps:
      - {id: a, run: echo 1 >> log}
      - {id: b, needs: [], run: echo 1 >> log}
      - {id: c, needs: [a, b], run: echo 2 >> log}
      - {id: d, needs: [c], run: 'echo 3 >> log; [ -e go ]'}
    """, status=1)
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    equal(case.log(), ["1", "1", "2", "3", "3"])


def a_modified_dag_stops_with_a_readable_difference(case):
    case.run("steps:\n- {id: a, run: 'true'}\n- {id: b, run: 'false'}\n", status=1)
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'true'}\n- {id: new, run: 'true'}\n- {id: b, run: 'true'}\n")
    holds(case.pawl("resume", "r", status=4).stderr, "+ - {id: new, run: 'true'}")


def an_unknown_run_is_an_error(case):
    case.run("steps:\n- {id: a, run: 'true'}\n")
    holds(case.pawl("resume", "nobody", status=2).stderr, "PAWL-0101")


def only_confirmed_tasks_are_stored(case):
    case.run("steps:\n- {id: a, run: 'false'}\n- {id: b, run: 'true'}\n- {id: c, run: 'true'}\n", status=1)
    equal(list(case.state()["steps"]), ["a"])


# Agentic loops: recovery scenarios.

def scenario_1_clean_shutdown(case):
    case.run("steps:\n- {id: a, run: 'echo \"{\\\"output\\\": 1, \\\"tokens\\\": 5}\" >> $PAWL_RESULT'}\n")
    state = case.state()
    equal((state["status"], state["steps"]["a"]["output"], state["usage"]["tokens"]), ("completed", 1, 5))
    equal(json.loads(case.pawl("list", "--resumable", "--json", status=0).stdout), [])


def scenario_2_crash_recovery(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: echo a >> log}\n- {id: b, run: 'touch runs; [ -e go ] || sleep 60; echo b >> log'}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    process.kill()
    process.wait()
    equal([row["run"] for row in json.loads(case.pawl("list", "--resumable", "--json", status=0).stdout)], ["r"])
    equal(json.loads(case.pawl("show", "r", "--json", status=0).stdout)["status"], "interrupted")
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    equal((case.log(), len(case.events("run_resumed"))), (["a", "b"], 1))


def scenario_3_partial_failure(case):
    case.run("""
      retry: {attempts: 2, backoff: 1ms}
      steps:
      - {id: a, run: 'echo "{\\"confidence\\": 0.9}" >> $PAWL_RESULT'}
      - {id: b, run: 'echo b >> log; echo broken >&2; [ -e go ]'}
    """, status=1)
    equal(len(case.log()), 2)
    holds(case.events("attempt_failed")[-1]["data"]["log"], "broken")
    assert case.state()["confidence"] < 0.9
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    equal(case.log(), ["b", "b", "b"])


def decisions_blockers_and_evaluations_are_kept(case):
    case.run("""
      steps:
      - id: a
        run: |
          echo '{"decision": {"description": "split", "rationale": "large", "confidence": 0.8, "alternatives": ["wait"]}}' >> $PAWL_RESULT
          echo '{"blocker": "no key", "evaluation": {"score": 7}, "context_usage": 0.5}' >> $PAWL_RESULT
    """)
    equal(case.events("decision")[0]["data"]["alternatives"], ["wait"])
    equal(case.events("blocker")[0]["data"]["description"], "no key")
    equal(case.events("evaluation")[0]["data"]["evaluation"], {"score": 7})
    equal(case.events("context_usage")[0]["data"]["share"], 0.5)


# Orchestration: partial failures.

def a_missing_checkpoint_in_the_chain_fails_the_recovery(case):
    case.run("vars: {v: x}\nsteps:\n" + SEVEN + "- {id: end, run: 'false'}\n", status=1)
    folder = os.path.join(case.env["PAWL_STORE"], "runs", "r", "checkpoints")
    subprocess.run(["rm", "-r", os.path.join(case.env["PAWL_STORE"], "journal")], check=True)
    os.remove(os.path.join(folder, "checkpoint_00001.json"))
    equal(case.pawl("resume", "r").returncode, 4)


def a_handler_that_is_not_registered_is_named(case):
    done = case.run("steps:\n- {id: a, handler: nobody}\n", status=4)
    holds(done.stderr, "nobody", "registered")


def a_second_writer_is_refused_and_told_who_the_first_is(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'touch runs; while [ ! -e go ]; do sleep 0.01; done'}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    holds(case.pawl("resume", "r", status=4).stderr, "PAWL-0201", str(process.pid))
    case.write("go", "")
    equal(process.wait(20), 0)


run_tests(globals())
