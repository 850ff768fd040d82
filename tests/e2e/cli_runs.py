#!/usr/bin/env python3
"""Tests how runs are started, watched and continued from the command line, with the real program.

  cli_runs.py PAWL [name of a test]...
"""
import json
import os
import random
import signal
import subprocess
import time

from workflow_case import equal, holds, run_tests, wait_for


# run --run-id X --resume

def run_resume(case, *args, status=None):
    return case.pawl("run", "--run-id", "r", "--resume", *args, status=status)


def exists(case, name):
    return os.path.exists(os.path.join(case.folder, name))


def run_resume_starts_resumes_and_reports_the_finished_run(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: echo a >> log}\n- {id: b, retry: {attempts: 3, backoff: 1ms}, run: 'touch runs; [ -e go ] || sleep 60; echo b >> log'}\n")
    process = case.start("run", "--run-id", "r", "--resume")
    wait_for(lambda: exists(case, "runs"), "the second step")
    process.kill()
    process.wait()
    case.write("go", "")
    holds(run_resume(case, status=0).stdout, "run r completed")
    holds(run_resume(case, status=0).stdout, "run r already completed")
    equal(case.log(), ["a", "b"])
    equal(json.loads(run_resume(case, "--json", status=0).stdout)["event"], "run_completed")


def run_resume_survives_a_kill_at_any_moment(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: echo a >> log}\n- {id: b, run: sleep 0.02; echo b >> log}\n- {id: c, run: echo c >> log}\n")
    os.mkdir(os.path.join(case.folder, "store"))
    case.write("store/config.yaml", "recovery: { max_attempts: 1000 }\n")
    chance = random.Random(7)
    for number in range(12):
        run = f"r{number}"
        status = None
        for _ in range(40):
            process = case.start("run", "--run-id", run, "--resume")
            try:
                status = process.wait(chance.uniform(0.001, 0.12))
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if status is None:
            status = case.pawl("run", "--run-id", run, "--resume").returncode
        if status != 0:
            raise AssertionError(f"{run}: {status} {process.stderr.read()}")
        equal(set(case.steps(run).values()), {"completed"})


def run_resume_of_a_busy_run_exits_with_4(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'touch runs; while [ ! -e go ]; do sleep 0.02; done; echo a >> log'}\n")
    process = case.start("run", "--run-id", "r", "--resume")
    wait_for(lambda: exists(case, "runs"), "the step")
    holds(run_resume(case, status=4).stderr, "PAWL-0201")
    case.write("go", "")
    equal(process.wait(20), 0)
    equal(case.log(), ["a"])


def of_two_calls_at_once_one_is_busy(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'sleep 0.5; echo a >> log'}\n")
    processes = [case.start("run", "--run-id", "r", "--resume") for _ in range(4)]
    statuses = sorted(process.wait(20) for process in processes)
    equal(statuses, [0, 4, 4, 4])
    equal(case.log(), ["a"])


def run_resume_of_a_waiting_run_exits_with_3_as_often_as_it_is_asked(case):
    case.write("workflow.yaml", "steps:\n- {id: g, approve: 'Go?'}\n- {id: b, run: echo b >> log}\n")
    for _ in range(6):
        run_resume(case, status=3)
    case.pawl("approve", "r", "g", status=0)
    run_resume(case, status=0)
    equal(case.log(), ["b"])


def run_resume_of_a_failed_run_tries_what_has_attempts_left(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'echo a >> log; false', retry: {attempts: 2, backoff: 1ms}}\n")
    run_resume(case, status=1)
    done = run_resume(case, status=1)
    holds(done.stderr, "PAWL-0605", "no attempts left", "pawl resume r")
    equal(case.log(), ["a", "a"])
    case.pawl("resume", "r", status=1)  # a person's resume refreshes the attempts
    equal(case.log(), ["a"] * 4)


def run_resume_of_a_cancelled_run_exits_with_1(case):
    case.run("steps:\n- {id: g, approve: 'Go?'}\n", status=3)
    case.pawl("cancel", "r", status=0)
    run_resume(case, status=1)
    holds(run_resume(case, status=1).stderr, "PAWL-0608", "cancelled")


def run_resume_after_a_signal_continues(case):
    case.write("workflow.yaml", "grace: 100ms\nsteps:\n- {id: a, run: echo a >> log}\n- {id: b, run: 'touch runs; [ -e go ] || sleep 60; echo b >> log'}\n")
    for _ in range(5):  # more often than automatic recoveries are allowed
        process = case.start("run", "--run-id", "r", "--resume")
        wait_for(lambda: exists(case, "runs"), "the second step")
        os.remove(os.path.join(case.folder, "runs"))
        process.send_signal(signal.SIGTERM)
        equal(process.wait(20), 130)
    case.write("go", "")
    run_resume(case, status=0)
    equal(case.log(), ["a", "b"])


def run_resume_stops_after_the_automatic_recoveries_of_the_settings(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'touch runs; sleep 60'}\n")
    for _ in range(4):  # the start and three recoveries
        process = case.start("run", "--run-id", "r", "--resume")
        wait_for(lambda: exists(case, "runs"), "the step")
        os.remove(os.path.join(case.folder, "runs"))
        process.kill()
        process.wait()
    holds(run_resume(case, status=4).stderr, "PAWL-0603")


def run_resume_with_other_values_exits_with_2(case):
    case.write("workflow.yaml", "vars: {who: world, n: 1}\nsteps:\n- {id: a, run: 'echo ${vars.who} >> log; [ -e go ]', retry: {attempts: 2, backoff: 1ms}}\n")
    run_resume(case, "--var", "who=moon", status=1)
    for given in (["--var", "who=mars"], [], ["--var", "who=moon", "--var-json", "n=2"]):
        holds(run_resume(case, *given, status=2).stderr, "PAWL-0017")
    assert "mars" not in run_resume(case, "--var", "who=mars", status=2).stderr
    run_resume(case, "--var", "who=moon", status=1)
    case.pawl("resume", "r", status=1)
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    run_resume(case, "--var", "who=moon", status=0)
    run_resume(case, "--var", "who=mars", status=2)


def run_resume_passes_values_that_are_not_saved(case):
    os.mkdir(os.path.join(case.folder, "store"))
    case.write("store/config.yaml", "secrets: { state_keys: [token] }\n")
    case.write("workflow.yaml", "vars: {token: null}\nsteps:\n- {id: g, approve: 'Go?'}\n- {id: a, run: '[ ${vars.token} = hush ] && echo fine >> log'}\n")
    run_resume(case, "--var", "token=hush", status=3)
    case.pawl("approve", "r", "g", status=0)
    run_resume(case, "--var", "token=hush", status=0)
    equal(case.log(), ["fine"])


def run_resume_with_a_changed_workflow_exits_with_4(case):
    case.run("steps:\n- {id: a, run: echo a >> log}\n- {id: g, approve: 'Go?'}\n", status=3)
    case.write("workflow.yaml", "steps:\n- {id: a, run: echo b >> log}\n- {id: g, approve: 'Go?'}\n")
    holds(run_resume(case, status=4).stderr, "PAWL-0208")
    equal(case.log(), ["a"])


def run_resume_of_an_erased_run_exits_with_2(case):
    case.run("steps:\n- {id: a, run: 'true'}\n")
    case.pawl("erase", "r", "--yes", "--reason", "test", status=0)
    holds(run_resume(case, status=2).stderr, "PAWL-0109")


def run_resume_of_a_run_of_checkpoints_exits_with_2(case):
    case.pawl("save", "r", stdin="{}", status=0)
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'true'}\n")
    holds(run_resume(case, status=2).stderr, "PAWL-0106")


def run_resume_requires_a_run_id(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'true'}\n")
    holds(case.pawl("run", "--resume", status=2).stderr, "--run-id")


def a_second_run_without_resume_exits_with_4_and_names_resume(case):
    case.run("steps:\n- {id: a, run: 'true'}\n")
    holds(case.pawl("run", "--run-id", "r", status=4).stderr, "PAWL-0207", "pawl resume r", "--resume")


run_tests(globals())
