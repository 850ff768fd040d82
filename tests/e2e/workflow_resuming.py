#!/usr/bin/env python3
"""Tests waiting, signals, resuming and invalid input of workflows with the real program.

  workflow_resuming.py PAWL [name of a test]...
"""
import json
import os
import pty
import signal
import subprocess
import time

from workflow_case import equal, holds, run_tests, wait_for


# Children, waiting, signals.

def a_child_workflow_sees_only_with_and_answers_by_outputs(case):
    case.write("child.yaml", """
      vars: {who: null}
      steps:
      - {id: greet, run: 'echo hello ${vars.who}', capture: {format: text}}
      outputs: {greeting: "${steps.greet.output}"}
    """)
    case.run("steps:\n- {id: c, workflow: child.yaml, with: {who: world}}\n- {id: d, run: 'echo ${steps.c.output.greeting}', capture: {format: text}}\n")
    equal(case.output("d"), "hello world")
    equal(case.state(case.state()["steps"]["c"]["child"])["parent"]["step"], "c")


def cancelling_goes_down_to_the_child(case):
    case.write("child.yaml", "steps:\n- {id: s, run: 'touch runs; sleep 60'}\n")
    case.write("workflow.yaml", "grace: 100ms\nsteps:\n- {id: c, workflow: child.yaml}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the child's step")
    case.pawl("cancel", "r", status=0)
    equal(process.wait(30), 1)
    equal((case.state()["status"], case.state("r.c")["status"]), ("cancelled", "cancelled"))


def a_sleep_survives_the_process_and_is_over_when_it_is_over(case):
    case.write("workflow.yaml", "steps:\n- {id: s, sleep: 1500ms}\n- {id: b, run: touch ran}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: case.pawl("restore", "r").returncode == 0 and case.steps().get("s") == "waiting", "the sleep")
    process.kill()
    process.wait()
    due = case.state()["steps"]["s"]["due"]
    time.sleep(1.5)
    began = time.monotonic()
    case.pawl("resume", "r", status=0)
    assert time.monotonic() - began < 1.2
    equal(case.state()["steps"]["s"]["due"], due)


def an_approval_without_a_terminal_exits_with_3(case):
    done = case.run("steps:\n- {id: a, run: echo draft, capture: {format: text}}\n- {id: g, approve: 'Publish ${steps.a.output}?'}\n- {id: b, run: touch ran}\n", status=3)
    holds(done.stderr, "pawl approve r g")
    equal(case.state()["status"], "waiting")
    case.pawl("resume", "r", status=3)
    case.pawl("approve", "r", "g", status=0)
    case.pawl("resume", "r", status=0)
    assert os.path.exists(os.path.join(case.folder, "ran"))


def a_rejection_fails_the_step_and_runs_on_failure(case):
    case.run("steps:\n- {id: g, approve: 'Go?', timeout: 1h, on_timeout: fail, retry: {attempts: 3}, on_failure: [{id: t, run: echo t >> log}]}\n- {id: b, run: echo b >> log}\n", status=3)
    case.pawl("reject", "r", status=0)
    case.pawl("resume", "r", status=1)
    equal(case.log(), ["t"])
    case.pawl("resume", "r", status=1)
    assert "b" not in case.log()


def at_a_terminal(case, answer, *args, env):
    """Runs the program at a terminal and types `answer` when it asks. Returns what it printed and its exit status."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen([case.program, *args], cwd=case.folder, env={**case.env, **env, "TERM": "xterm", "NO_COLOR": "1"},
                               stdin=secondary, stdout=secondary, stderr=secondary)
    os.close(secondary)
    text = b""
    while True:
        try:
            part = os.read(primary, 65536)
        except OSError:
            break
        text += part
        if answer and b"Approve?" in text:
            os.write(primary, answer.encode() + b"\n")
            answer = ""
    os.close(primary)
    return text.decode(), process.wait(20)


def an_answer_at_the_terminal_is_recorded_with_the_account(case):
    case.write("workflow.yaml", "steps:\n- {id: g, approve: 'Go?'}\n")
    for answer, status, event in (("y", 0, "approved"), ("n", 1, "rejected")):
        text, ended = at_a_terminal(case, answer, "run", "--run-id", event, env={"USER": "ada"})
        equal(ended, status)
        equal([json.loads(one["data"])["by"] if isinstance(one["data"], str) else one["data"]["by"] for one in case.events(event, event)], ["ada"])
    equal(case.output("g", "approved")["by"], "ada")
    holds(case.pawl("audit", "list", "approved", status=0).stdout, "ada")
    holds(case.pawl("handoff", "approved", status=0).stdout, "approved by ada")


def wait_blocks_until_the_approval_comes(case):
    case.write("workflow.yaml", "steps:\n- {id: g, approve: 'Go?'}\n")
    process = case.start("run", "--run-id", "r", "--wait")
    wait_for(lambda: case.pawl("restore", "r").returncode == 0 and case.steps().get("g") == "waiting", "the gate")
    case.pawl("approve", "r", status=0)
    equal(process.wait(20), 0)


def an_early_signal_is_kept_and_consumed_once(case):
    case.run("steps:\n- {id: g, approve: 'Go?'}\n- {id: w, wait_for: {signal: release}}\n- {id: x, wait_for: {signal: release, timeout: 100ms}}\n", status=3)
    case.pawl("signal", "r", "release", status=0)
    case.pawl("approve", "r", status=0)
    done = case.pawl("resume", "r", "--wait", status=1)
    equal((case.steps()["w"], case.steps()["x"]), ("completed", "failed"))
    holds(done.stderr, "timed out waiting")


def a_budget_pauses_before_the_next_step(case):
    text = "budget: {usd: 1}\nsteps:\n- {id: a, run: 'echo \"{\\\\\"cost_usd\\\\\": 1.5}\" >> $PAWL_RESULT'}\n- {id: b, run: touch ran}\n"
    case.run(text.replace("\\\\", "\\"), status=3)
    assert not os.path.exists(os.path.join(case.folder, "ran"))
    case.pawl("resume", "r", status=3)
    case.pawl("resume", "r", "--budget-usd", "5", status=0)
    equal(case.state()["usage"]["usd"], 1.5)


def a_step_may_add_steps(case):
    case.run("""
      steps:
      - {id: plan, run: 'echo "{\\"add_steps\\": [{\\"id\\": \\"x\\", \\"run\\": \\"echo x >> log\\"}, {\\"id\\": \\"y\\", \\"run\\": \\"echo y >> log\\"}]}" >> $PAWL_RESULT'}
      - {id: last, run: '[ -e go ]; echo last >> log'}
    """, status=1)
    equal(case.log(), ["x", "y"])
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    equal(case.log(), ["x", "y", "last"])


def confidence_below_its_threshold_runs_then(case):
    case.run("""
      steps:
      - {id: a, run: 'echo "{\\"confidence\\": 0.5, \\"output\\": 1}" >> $PAWL_RESULT', confidence: {below: 0.75, then: [{id: review, run: 'echo ${steps.a.confidence} >> log'}]}}
      - {id: b, run: echo b >> log}
    """)
    equal(case.log(), ["0.5", "b"])


# Resuming.

def progress_reaches_the_next_attempt(case):
    case.run("""
      retry: {attempts: 2, backoff: 1ms}
      steps:
      - {id: a, run: 'echo "<$PAWL_PREVIOUS>" >> log; echo "{\\"progress\\": {\\"page\\": 3}}" >> $PAWL_RESULT; [ $PAWL_ATTEMPT = 2 ]'}
    """)
    equal(case.log(), ["<>", '<{"page":3}>'])


def a_changed_workflow_is_refused_and_accepted_on_request(case):
    case.run("steps:\n- {id: a, run: echo a >> log}\n- {id: b, run: 'false'}\n", status=1)
    case.write("workflow.yaml", "steps:\n- {id: a, run: echo a >> log}\n- {id: b, run: echo b >> log}\n")
    done = case.pawl("resume", "r", status=4)
    holds(done.stderr, "PAWL-0208", "- - {id: b, run: 'false'}\n", "--accept-changes", "/workflow.yaml):\n")
    case.pawl("resume", "r", "--accept-changes", status=0)
    equal(case.log(), ["a", "b"])


def a_resume_says_what_was_reused(case):
    case.run("steps:\n- {id: a, run: 'echo \"{\\\"cost_usd\\\": 2.5}\" >> $PAWL_RESULT'}\n- {id: b, run: '[ -e go ]'}\n", status=1)
    case.write("go", "")
    holds(case.pawl("resume", "r", status=0).stdout, "reused 1 completed step", "2.50 USD")


def a_resume_that_reuses_nothing_does_not_speak_of_it(case):
    case.run("steps:\n- {id: a, run: '[ -e go ]'}\n", status=1)
    case.write("go", "")
    said = case.pawl("resume", "r", status=0).stdout
    holds(said, "run r completed in ")
    equal("reused" in said, False)


def a_step_that_is_done_anew_has_only_its_own_output(case):
    case.run("steps:\n- {id: one, run: echo one, capture: o}\n- {id: two, run: 'echo ${o}; [ -e go ]'}\n", status=1)
    case.write("workflow.yaml", "steps:\n- {id: one, run: echo ONE, capture: o}\n- {id: two, run: 'echo ${o}; [ -e go ]'}\n")
    case.write("go", "")
    case.pawl("resume", "r", "--accept-changes", status=0)
    equal(case.output("one"), "ONE")


def a_retried_item_holds_back_what_is_not_done_behind_its_map(case):
    case.run("""
      steps:
      - {id: m, map: {items: [1, 2, 3], on_item_failure: dlq}, steps: [{id: s, run: '[ ${item} != 2 ] || [ -e go ]; echo m >> log'}], reduce: {run: 'echo ${map.failed}', capture: {format: text}}}
      - {id: mid, run: 'true'}
      - {id: use, run: 'echo use >> log; [ -e go ]'}
      - {id: pub, run: 'echo pub ${steps.m.output} >> log'}
    """, status=1)
    case.write("go", "")
    case.pawl("dlq", "retry", "r", status=0)
    equal(case.log(), ["m", "m", "use", "m", "use", "pub 0"])


def costs_of_failed_items_are_counted_once(case):
    case.run("""
      steps:
      - {id: m, map: {items: [1, 2], on_item_failure: dlq}, steps: [{id: s, run: 'echo "{\\"tokens\\": 10}" >> $PAWL_RESULT; [ ${item} = 1 ] || [ -e go ]'}]}
    """)
    equal(case.state()["usage"]["tokens"], 20)
    case.write("go", "")
    case.pawl("dlq", "retry", "r", status=0)
    equal(case.state()["usage"]["tokens"], 30)


def an_approval_after_a_map_binds_to_its_results(case):
    case.run("steps:\n- {id: m, map: {items: [1, 2]}, steps: [{id: s, run: 'true'}]}\n- {id: g, approve: 'Go?'}\n", status=3)
    case.pawl("approve", "r", status=0)
    case.pawl("resume", "r", status=0)


def saving_into_a_workflows_run_is_refused(case):
    case.run("steps:\n- {id: g, approve: 'Go?'}\n", status=3)
    holds(case.pawl("save", "r", stdin="{}", status=4).stderr, "workflow")
    case.pawl("approve", "r", status=0)
    case.pawl("resume", "r", status=0)


def a_secret_in_a_variable_is_refused(case):
    done = case.run("secrets: [TOKEN]\nvars: {who: null}\nsteps:\n- {id: a, run: 'true'}\n", "--var", "who=hush-hush-7", env={"TOKEN": "hush-hush-7"}, status=2)
    assert "hush-hush-7" not in done.stdout + done.stderr


def changes_are_accepted_for_children_too(case):
    case.write("child.yaml", "steps:\n- {id: s, run: 'false'}\n")
    case.run("steps:\n- {id: c, workflow: child.yaml}\n", status=1)
    case.write("child.yaml", "steps:\n- {id: s, run: 'true'}\n")
    case.pawl("resume", "r", status=4)
    case.pawl("resume", "r", "--accept-changes", status=0)


def a_completed_run_is_not_resumed(case):
    case.run("steps:\n- {id: a, run: 'true'}\n")
    holds(case.pawl("resume", "r", status=4).stderr, "completed")
    holds(case.pawl("resume", status=2).stderr, "PAWL-0105")


def resume_without_a_name_takes_the_only_one(case):
    case.run("steps:\n- {id: a, run: '[ -e go ]'}\n", status=1)
    case.write("go", "")
    case.pawl("resume", status=0)
    equal(case.state()["status"], "completed")


def a_crashed_run_is_recovered_at_the_next_start_where_configured(case):
    case.write("crash.yaml", "steps:\n- {id: a, run: echo a >> log}\n- {id: b, run: 'touch runs; [ -e go ] || sleep 60; echo b >> log'}\n")
    process = case.start("run", "crash.yaml", "--run-id", "crashed")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    process.kill()
    process.wait()
    case.write("go", "")
    case.run("steps:\n- {id: a, run: 'true'}\n")
    equal(case.state("crashed")["status"], "running")
    case.write("store/config.yaml", "recovery: { auto: true, max_attempts: 2, within: 1h }\n")
    case.pawl("run", "--run-id", "r2", status=0)
    equal((case.state("crashed")["status"], case.log()), ("completed", ["a", "b"]))


def a_run_that_crashes_again_and_again_is_left_after_its_attempts(case):
    case.write("crash.yaml", "steps:\n- {id: a, run: 'echo x >> log; kill -9 $(cat pid); sleep 60'}\n")
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'true'}\n")
    os.mkdir(os.path.join(case.folder, "store"))
    case.write("store/config.yaml", "recovery: { auto: true, max_attempts: 2 }\n")
    for attempt in range(4):
        args = ["run", "crash.yaml", "--run-id", "crashed"] if attempt == 0 else ["run", "--run-id", f"r{attempt}"]
        case.write("pid", "")
        process = case.start(*args)
        case.write("pid", f"{process.pid}\n")
        _, err = process.communicate(timeout=30)
        if process.returncode == 0:
            break
    holds(err, "crashed 3 times in a row")
    equal(len([line for line in case.log() if line == "x"]), 3)


def ctrl_c_leaves_an_interrupted_checkpoint(case):
    case.write("workflow.yaml", "grace: 100ms\nsteps:\n- {id: a, run: 'true'}\n- {id: b, run: touch runs; sleep 60}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    equal(process.returncode, 130)
    holds(err, "pawl resume r")
    equal((case.state()["status"], case.state()["position"], case.steps()["b"]), ("interrupted", "interrupted", "interrupted"))


def a_second_signal_ends_at_once_and_stays_resumable(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'trap : TERM; touch runs; if [ ! -e go ]; then sleep 60; sleep 60; fi'}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)  # the same signal within 200 ms counts once
    process.send_signal(signal.SIGINT)
    equal(process.wait(5), 130)
    case.write("go", "")
    case.pawl("resume", "r", status=0)


def sigusr1_makes_a_checkpoint_with_what_was_reported(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'echo \"{\\\"progress\\\": 7}\" >> $PAWL_RESULT; touch runs; while [ ! -e go ]; do sleep 0.01; done'}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    process.send_signal(signal.SIGUSR1)
    wait_for(lambda: case.state()["steps"]["a"].get("partial") == 7, "the checkpoint")
    case.write("go", "")
    equal(process.wait(20), 0)


def an_interval_makes_checkpoints(case):
    case.write("workflow.yaml", "checkpoint: {interval: 50ms}\nsteps:\n- {id: a, run: 'while [ ! -e go ]; do sleep 0.01; done'}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: "time_interval" in case.pawl("show", "r@latest").stdout, "an interval checkpoint")
    case.write("go", "")
    equal(process.wait(20), 0)


def no_step_survives_a_killed_program(case):
    case.script("daemon.sh", """
      trap '' TERM HUP INT
      (setsid sh -c 'trap "" TERM HUP INT; (while :; do echo alive >> beats; sleep 0.05; done) &' &)
      touch runs
      if [ -e go ]; then exit 0; fi
      sleep 60
    """)
    case.write("workflow.yaml", "steps:\n- {id: a, run: ./daemon.sh}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "beats")), "the daemon")
    process.kill()
    process.wait()
    case.script("daemon.sh", "touch second; cp beats at-start; sleep 0.3; cmp beats at-start\n")
    case.pawl("resume", "r", status=0)


# Invalid input.

def bad_yaml_is_told_with_its_place(case):
    for text, words in (("steps:\n\t- id: a\n", ["workflow.yaml:2", "tab"]),
                        ("name: a\nname: b\nsteps: []\n", ["name", "workflow.yaml:2"]),
                        ("steps:\n- {id: a, needs: [b], run: x}\n- {id: b, needs: [a], run: x}\n", ["a -> b -> a"]),
                        ("steps:\n- {id: a, rum: x}\n", ["rum", "run", "workflow.yaml:2"]),
                        ("", ["empty"])):
        holds(case.run(text, status=2).stderr, *words)


def a_noisy_step_does_not_blow_the_checkpoint_up(case):
    case.run("steps:\n- {id: a, run: 'head -c 100000000 /dev/zero | tr \"\\\\0\" x'}\n- {id: b, run: 'head -c 1000 /dev/urandom; head -c 1000 /dev/urandom >&2; false'}\n", status=1)
    assert len(json.dumps(case.state())) < 20000
    assert os.path.getsize(os.path.join(case.env["PAWL_STORE"], "runs/r/logs/a.1.log")) == 100000000


def a_missing_working_folder_is_told(case):
    os.mkdir(os.path.join(case.folder, "sub"))
    case.write("w.yaml", "working_dir: sub\nsteps:\n- {id: a, run: 'false'}\n")
    case.pawl("run", "w.yaml", "--run-id", "r", status=1)
    os.rmdir(os.path.join(case.folder, "sub"))
    holds(case.pawl("resume", "r", status=4).stderr, "PAWL-0210")


def a_step_that_daemonises_does_not_hold_the_run_up(case):
    began = time.monotonic()
    case.run("steps:\n- {id: a, run: 'setsid sleep 60 & echo $! > pid', capture: {format: text}}\n- {id: b, run: kill -0 $(cat pid)}\n")
    assert time.monotonic() - began < 20
    wait_for(lambda: not os.path.exists(f"/proc/{case.log('pid')[0]}"), "the end of what the step left behind")


run_tests(globals())
