#!/usr/bin/env python3
"""Tests how signals that are ignored, or that come twice from one source, act on a run.

  engine_signals.py PAWL [name of a test]...
"""
import os
import shutil
import signal
import subprocess

from engine_case import appears, begin, ended, log_until, main, resume
from workflow_case import equal, wait_for

GATED = "steps:\n- {id: a, run: 'echo a >> log; while [ ! -e go ]; do sleep 0.02; done; echo done >> log'}\n- {id: b, run: 'echo b >> log'}\n"
GRACEFUL = """
  grace: 20s
  steps:
  - id: a
    run: |
      [ ! -e again ] || exit 0
      trap 'sleep 0.5; echo graceful >> log; exit 1' TERM
      echo a >> log
      while :; do sleep 0.05; done
"""


def _ignoring(number):
    return lambda: signal.signal(number, signal.SIG_IGN)


def _goes_on(case, number):
    process = begin(case, GATED, preexec_fn=_ignoring(number))
    log_until(case, "a")
    for _ in range(3):
        process.send_signal(number)
    case.write("go", "")
    ended(case, process, 0)
    equal(case.log(), ["a", "done", "b"])


def a_run_that_was_started_with_nohup_survives_the_hangup(case):
    """Where SIGHUP is ignored at the start, as by `nohup`, it does not interrupt the run."""
    _goes_on(case, signal.SIGHUP)


def a_background_run_of_a_script_survives_ctrl_c(case):
    """Where SIGINT is ignored at the start, as in the background of a script, it does not interrupt the run."""
    _goes_on(case, signal.SIGINT)


def nohup_of_the_shell_works(case):
    """`nohup pawl run` with the real nohup survives a hangup of its whole session."""
    case.write("workflow.yaml", GATED)
    process = subprocess.Popen(["nohup", case.program, "run", "--run-id", "r"], cwd=case.folder, env=case.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    case.started.append(process)
    log_until(case, "a")
    os.killpg(process.pid, signal.SIGHUP)
    case.write("go", "")
    ended(case, process, 0)
    equal(case.log(), ["a", "done", "b"])


def another_signal_still_interrupts_a_run_under_nohup(case):
    """An ignored SIGHUP does not make the run deaf: SIGTERM interrupts it."""
    process = begin(case, GATED, preexec_fn=_ignoring(signal.SIGHUP))
    log_until(case, "a")
    process.send_signal(signal.SIGTERM)
    ended(case, process, 130)


def steps_do_not_inherit_ignored_signals(case):
    """A step of a run under nohup can be ended by SIGHUP and SIGINT like any other program."""
    process = begin(case, "steps:\n- {id: a, run: \"grep SigIgn /proc/self/status > ignored\"}\n",
                    preexec_fn=lambda: [signal.signal(each, signal.SIG_IGN) for each in (signal.SIGHUP, signal.SIGINT)])
    ended(case, process, 0)
    equal(int(case.log("ignored")[0].split()[1], 16) & 0b11, 0)


def the_two_signals_of_timeout_count_as_one(case):
    """`timeout` signals the program and then its whole group: steps still get their grace period."""
    process = begin(case, GRACEFUL, start_new_session=True)
    log_until(case, "a")
    process.send_signal(signal.SIGTERM)
    os.killpg(process.pid, signal.SIGTERM)
    ended(case, process, 130)
    equal(case.log(), ["a", "graceful"])
    equal(case.state()["status"], "interrupted")
    case.write("again", "")
    resume(case)


def timeout_of_the_shell_leaves_steps_their_grace_period(case):
    """The same with the real `timeout`."""
    assert shutil.which("timeout")
    for seconds in (1, 4, 16):  # a busy machine may need longer to start the step
        case.write("workflow.yaml", GRACEFUL)
        done = subprocess.run(["timeout", str(seconds), case.program, "run", "--run-id", f"r{seconds}"], cwd=case.folder, env=case.env,
                              capture_output=True, text=True, timeout=60, check=False)
        if case.log():
            break
    equal(done.returncode, 124)
    wait_for(lambda: case.state(f"r{seconds}")["status"] == "interrupted", "the end of the run")
    equal(case.log(), ["a", "graceful"])


def a_signal_that_is_repeated_later_kills_at_once(case):
    """A second Ctrl-C of a person, after the first was reported, still ends the steps at once."""
    process = begin(case, "grace: 60s\nsteps:\n- {id: a, run: \"trap '' TERM; touch runs; while :; do sleep 0.05; done\"}\n")
    appears(case, "runs")
    process.send_signal(signal.SIGINT)
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        pass
    process.send_signal(signal.SIGINT)
    ended(case, process, 130)


main(globals())
