#!/usr/bin/env python3
"""Tests resuming the runs of a session with the real program, and how errors of steps are shown."""
from workflow_case import equal, holds, run_tests


def a_session_is_resumed_run_by_run(case):
    case.write("w.yaml", "name: w\nvars: { n: null }\nsteps:\n  - id: a\n    run: 'echo ${vars.n} >> log; test -e fixed'\n")
    for number in ("1", "2", "3"):
        case.pawl("run", "w.yaml", "--run-id", f"w{number}", "--session", "night" if number != "3" else "day", "--var", f"n={number}", status=1)
    case.write("fixed", "")
    done = case.pawl("resume", "--session", "night", status=0)
    holds(done.stderr, "resuming w1", "resuming w2", "session night: 2 of 2 runs resumed: w1 completed, w2 completed")
    equal(case.log(), ["1", "2", "3", "1", "2"])
    holds(case.pawl("resume", "--session", "night", status=2).stderr, "PAWL-0105", "no run of session 'night'")
    holds(case.pawl("resume", "w3", "--session", "day", status=2).stderr, "PAWL-0001")


def a_session_counts_only_those_that_went_on(case):
    case.write("w.yaml", "name: w\nsteps:\n  - id: a\n    run: 'test -e fixed'\n")
    case.pawl("run", "w.yaml", "--run-id", "w1", "--session", "night", status=1)
    case.write("x.yaml", "name: x\nsteps:\n  - id: a\n    run: 'test -e never'\n")
    case.pawl("run", "x.yaml", "--run-id", "x1", "--session", "night", status=1)
    case.pawl("run", "w.yaml", "--run-id", "w2", "--session", "night", status=1)
    case.write("w.yaml", "name: w\nsteps:\n  - id: a\n    run: 'test -e fixed || exit 1'\n")
    done = case.pawl("resume", "--session", "night")
    holds(done.stderr, "pawl: PAWL-0208: the workflow has changed since the run was started:\n", "\npawl: undo the change, or continue with the changed workflow: pawl resume w2 --accept-changes\n",
          "session night: 1 of 3 runs resumed: w1 was not resumed (PAWL-0208), x1 failed, w2 was not resumed (PAWL-0208)\n")
    assert "\\x0a" not in done.stderr, done.stderr


def an_errors_hint_stands_on_the_errors_line(case):
    done = case.run("""\
        name: clean
        steps:
          - { id: clean, run: 'echo not JSON', capture: { format: json } }
        """, status=1)
    holds(done.stderr + done.stdout, "clean: attempt 1 failed: `capture` requires JSON, but its output is not: PAWL-", "; ")
    error = case.state()["steps"]["clean"]["error"]
    assert "\n" not in error and "; " in error, error
    assert "\\x0a" not in done.stderr + done.stdout + case.pawl("show", "r", status=0).stdout


run_tests(globals())
