#!/usr/bin/env python3
"""Tests `pawl step` in scripts: logs, retries, timeouts, reports and what a killed step leaves behind.

  cli_steps.py PAWL [name of a test]...
"""
import json
import os
import signal
import subprocess
import time

from workflow_case import equal, holds, run_tests, wait_for


def step(case, name, command, *args, status=0, env=None):
    return case.pawl("step", "--run", "job", name, *args, "--", "sh", "-c", command, status=status, env=env)


def start_step(case, name, command, *args):
    return case.start("step", "--run", "job", name, *args, "--", "sh", "-c", command)


def steps(job):
    return {one["id"]: one for one in json.loads(job.pawl("show", "job", "--json", status=0).stdout)["steps"]}


def pid_in(case, name):
    wait_for(lambda: case.log(name), f"the process id in {name}")
    return int(case.log(name)[0])


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def logs_are_kept_and_shown(case):
    done = step(case, "a", "echo out; echo err >&2")
    equal((done.stdout, done.stderr), ("out\n", "err\n"))
    step(case, "b", "echo other >&2; exit 3", status=3)
    shown = case.pawl("logs", "job", status=0).stdout
    holds(shown, "a | out\n", "a | err\n", "b | other\n")
    equal(sorted(case.pawl("logs", "job", "a", status=0).stdout.split()), ["err", "out"])
    holds(case.pawl("logs", "job", "c", status=2).stderr, "PAWL-0104")
    equal(step(case, "a", "echo no").stdout, "out\n")


def logs_are_masked(case):
    step(case, "a", "echo ghp_0123456789abcdefghijABCDEFGHIJ012345 >&2")
    assert "ghp_0123456789" not in case.pawl("logs", "job", status=0).stdout


def logs_of_an_encrypted_run_are_encrypted(case):
    case.pawl("init", "--encrypt", status=0)
    step(case, "a", "echo plain-sight; echo report >&2; echo '{\"output\": 7}' >> $PAWL_RESULT")
    holds(case.pawl("logs", "job", status=0).stdout, "plain-sight", "report")
    for folder, _, names in os.walk(case.env["PAWL_STORE"]):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert b"plain-sight" not in file.read(), name


def show_lists_the_steps(case):
    step(case, "fetch", "true")
    step(case, "load", "echo no such table >&2; exit 3", status=3)
    shown = case.pawl("show", "job", status=0)
    holds(shown.stdout, "job  failed  1 of 2 steps completed", "\u2713 fetch", "\u2717 load", "exit status 3")
    holds(shown.stderr, "pawl logs job load")
    equal(json.loads(case.pawl("show", "job", "--json", status=0).stdout)["status"], "failed")
    step(case, "load", "true")
    holds(case.pawl("show", "job", status=0).stdout, "job  completed  2 of 2 steps completed", "\u2713 load")


def an_unfinished_script_is_to_be_run_again(case):
    step(case, "load", "exit 3", status=3)
    holds(case.pawl("show", "job", status=0).stdout, "Next:      run the script again; completed steps are not run again\n")
    refused = case.pawl("resume", "job", status=2)
    holds(refused.stderr, "PAWL-0106: this run belongs to a script, not to a workflow (job)", "hint: to continue, run the script again")
    step(case, "load", "true")
    assert "Next:" not in case.pawl("show", "job", status=0).stdout


def the_end_of_a_step_is_told_if_the_command_can_not_tell_it(case):
    equal(step(case, "hang", "sleep 60", "--timeout", "300ms", status=124).stderr, "pawl: step hang timed out after 300 ms\n")
    done = step(case, "x", "exit 3", "--retry", "2", "--backoff", "1ms", status=3)
    equal(done.stderr.splitlines()[-1], "pawl: step x failed: exit status 3 (3 attempts)")
    done = step(case, "y", "sleep 60", "--timeout", "100ms", "--retry", "1", "--backoff", "1ms", status=124)
    equal(done.stderr.splitlines()[-1], "pawl: step y timed out after 100 ms (2 attempts)")
    equal(step(case, "z", "exit 3", status=3).stderr, "")
    equal(step(case, "w", "exit 3", "--any-status", status=3).stderr, "")


def the_time_of_a_step_is_that_of_all_attempts(case):
    began = time.monotonic()
    step(case, "a", "sleep 0.2; [ $PAWL_ATTEMPT = 3 ]", "--retry", "2", "--backoff", "200ms")
    took_ms = (time.monotonic() - began) * 1000
    ms = steps(case)["a"]["ms"]
    assert 800 <= ms <= took_ms, (ms, took_ms)
    time.sleep(0.5)
    step(case, "b", "sleep 0.2; exit 1", status=1)
    time.sleep(0.5)
    step(case, "b", "sleep 0.2")
    assert 400 <= steps(case)["b"]["ms"] < 900, steps(case)["b"]  # not the time between the calls


def the_help_of_step_shows_the_command(case):
    holds(case.pawl("step", "--help", status=0).stdout, "Usage: pawl step [options] NAME -- COMMAND...\n", "chosen at random")
    holds(case.pawl("step", "x", "--run", "r", "ls", status=2).stderr, "unexpected argument: 'ls'", "put -- before the command")


def a_running_step_is_shown(case):
    process = start_step(case, "long", "touch runs; while [ ! -e go ]; do sleep 0.02; done")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    holds(case.pawl("show", "job", status=0).stdout, "job  running", "long", "running for")
    case.write("go", "")
    equal(process.wait(20), 0)
    holds(case.pawl("show", "job", status=0).stdout, "job  completed")


def retry_runs_a_failed_command_again(case):
    done = step(case, "a", "echo $PAWL_ATTEMPT >> log; [ $PAWL_ATTEMPT = 3 ] || exit 9; echo fine", "--retry", "4", "--backoff", "1ms")
    equal((case.log(), done.stdout), (["1", "2", "3"], "fine\n"))
    holds(done.stderr, "retrying", "attempt 2 of 5")
    done = step(case, "b", "echo b >> log; exit 9", "--retry", "1", "--backoff", "1ms", status=9)
    equal(case.log(), ["1", "2", "3", "b", "b"])
    equal(steps(case)["b"]["attempts"], 2)


def timeout_ends_the_command_and_what_it_started(case):
    began = time.monotonic()
    done = step(case, "a", "sleep 60 & echo $! > pid; wait", "--timeout", "300ms", status=124)
    assert time.monotonic() - began < 10
    assert not alive(pid_in(case, "pid"))
    holds(steps(case)["a"]["error"], "timed out after 300")
    equal(done.stdout, "")


def a_timeout_is_retried(case):
    step(case, "a", "echo x >> log; [ $PAWL_ATTEMPT = 2 ] || sleep 60", "--timeout", "300ms", "--retry", "1", "--backoff", "1ms")
    equal(case.log(), ["x", "x"])


def a_command_that_ignores_the_end_is_killed(case):
    step(case, "a", "trap '' TERM; while :; do sleep 0.1; done", "--timeout", "200ms", status=124)


def results_are_recorded(case):
    step(case, "a", """echo '{"output": {"rows": 7}, "cost_usd": 0.25, "tokens": 100, "confidence": 0.9}' >> $PAWL_RESULT; echo '{"message": "nearly there"}' >> $PAWL_RESULT; echo printed""")
    step(case, "b", """echo '{"cost_usd": 0.5, "decision": {"description": "use cache"}}' >> $PAWL_RESULT""")
    a = steps(case)["a"]
    equal((a["output"], a["usage"]["usd"], a["usage"]["tokens"], a["confidence"]), ({"rows": 7}, 0.25, 100, 0.9))
    equal(json.loads(case.pawl("show", "job", "--json", status=0).stdout)["usage"]["usd"], 0.75)
    holds(case.pawl("show", "job", status=0).stdout, "0.75 USD")
    equal(step(case, "a", "echo no").stdout, "printed\n")
    equal([event["data"]["description"] for event in case.events("decision", run="job")], ["use cache"])


def progress_reaches_the_next_attempt_of_a_step(case):
    step(case, "a", """echo "<$PAWL_PREVIOUS>" >> log; echo '{"progress": {"page": 3}}' >> $PAWL_RESULT; [ $PAWL_ATTEMPT = 2 ]""", "--retry", "1", "--backoff", "1ms")
    equal(case.log(), ["<>", '<{"page":3}>'])


FAMILY = "sleep 600 & echo $! > inner; (setsid sleep 600 & echo $! > away); env -i sleep 600 & echo $! > bare; echo $PPID > parent; wait"


def family(job):
    return [pid_in(job, name) for name in ("inner", "away", "bare")]


def killed_by(case, signal_number, whom):
    process = start_step(case, "a", FAMILY)
    pids = family(case)
    parent = pid_in(case, "parent")
    assert all(alive(pid) for pid in pids)
    os.kill(process.pid if whom == "program" else parent, signal_number)
    process.wait(20)
    wait_for(lambda: not any(alive(pid) for pid in pids + [parent]), "the end of everything that the step started")
    holds(case.pawl("show", "job", status=0).stdout, "job  interrupted")
    equal(step(case, "a", "echo done").stdout, "done\n")


def a_step_ended_with_term_leaves_nothing_behind(case):
    killed_by(case, signal.SIGTERM, "program")


def a_step_killed_leaves_nothing_behind(case):
    killed_by(case, signal.SIGKILL, "program")


def the_keeper_of_a_step_killed_leaves_nothing_behind(case):
    killed_by(case, signal.SIGKILL, "parent")


def the_keeper_of_a_step_ended_leaves_nothing_behind(case):
    killed_by(case, signal.SIGTERM, "parent")


def a_step_that_ends_by_itself_may_leave_a_daemon(case):
    step(case, "a", "sleep 600 > /dev/null 2>&1 & echo $! > pid")
    pid = pid_in(case, "pid")
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def children_of_the_calling_shell_are_not_touched(case):
    script = f"sleep 600 & echo $! > mine; exec {case.program} step --run job a -- sh -c 'echo $PPID > parent; sleep 600'"
    process = subprocess.Popen(["sh", "-c", script], cwd=case.folder, env=case.env)
    case.started.append(process)
    os.kill(pid_in(case, "parent"), signal.SIGKILL)
    process.wait(20)
    mine = pid_in(case, "mine")
    assert alive(mine)
    os.kill(mine, signal.SIGKILL)


def wait_lock_waits_for_the_step(case):
    process = start_step(case, "a", "touch runs; while [ ! -e go ]; do sleep 0.02; done; echo done")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    holds(step(case, "a", "echo no", status=4).stderr, "PAWL-0230", "--wait-lock")
    waiting = start_step(case, "a", "echo no", "--wait-lock", "20s")
    time.sleep(0.3)
    case.write("go", "")
    equal((process.wait(20), waiting.communicate(timeout=20)[0]), (0, "done\n"))


run_tests(globals())
