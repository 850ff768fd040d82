#!/usr/bin/env python3
"""Tests how runs are started, watched and continued from the command line, with the real program.

  cli_runs.py PAWL [name of a test]...
"""
import json
import os
import random
import re
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


def the_duration_after_a_kill_in_the_first_step_is_that_of_the_resume(case):
    """It was the uptime of the machine."""
    case.write("workflow.yaml", "steps:\n- {id: a, retry: {attempts: 3, backoff: 1ms}, run: 'touch runs; [ -e go ] || sleep 60'}\n")
    process = case.start("run", "--run-id", "r", "--resume")
    wait_for(lambda: exists(case, "runs"), "the first step")
    process.kill()
    process.wait()
    case.write("go", "")
    began = time.monotonic()
    found = re.search(r"run r completed in (?:([0-9.]+) s|([0-9.]+) ms)", case.pawl("resume", "r", status=0).stdout)
    assert found and float(found[1] or 0) <= time.monotonic() - began + 1, found


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
    holds(done.stderr, "PAWL-0605: run r failed: a: exit status 1", "hint: to try again, run: pawl resume r")
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


def run_resume_prints_the_run_id_first(case):
    case.write("workflow.yaml", "steps:\n- {id: g, approve: 'Go?'}\n- {id: b, run: 'true'}\n")
    equal(run_resume(case, status=3).stdout.splitlines()[0], "r")
    case.pawl("approve", "r", status=0)
    equal(run_resume(case, status=0).stdout.splitlines()[0], "r")


def run_resume_stops_after_the_automatic_recoveries_of_the_settings(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'touch runs; sleep 60'}\n")
    for _ in range(4):  # the start and three recoveries
        process = case.start("run", "--run-id", "r", "--resume")
        wait_for(lambda: exists(case, "runs"), "the step")
        os.remove(os.path.join(case.folder, "runs"))
        process.kill()
        process.wait()
    holds(run_resume(case, status=4).stderr, "PAWL-0603")


def last_events(case, kind):
    """Returns the numbers of the newest events of this kind, of the run and of its child."""
    shown = {run: case.pawl("show", run, "--events").stdout for run in ("r", "r.c")}
    return {run: max(map(int, re.findall(rf"(?m)^(\d+) .* {kind}", text)), default=0) for run, text in shown.items()}


def killed_after_each(case, text, count):
    """Runs a workflow that waits for the files go0, go1, ... one after the other, and kills it after each."""
    case.write("workflow.yaml", text)

    def start_and_let_through(n):
        # Only a command of this process may see the file: one of the killed process can live on for a moment.
        process = case.start("run", "--run-id", "r", "--resume")
        wait_for(lambda: exists(case, f"at{n}") or process.poll() is not None, f"part {n}")
        return process

    for n in range(count):
        before = last_events(case, r"\w+")
        process = start_and_let_through(max(n - 1, 0))
        if n > 0:
            case.write(f"go{n - 1}", "")
            wait_for(lambda: exists(case, f"at{n}") or process.poll() is not None, f"part {n}")
            # Results of items are saved together, after the next item was started.
            recorded = lambda: any(number > before[run] for run, number in last_events(case, r"(?:step|item)_completed").items())
            wait_for(lambda: recorded() or process.poll() is not None, f"the record of part {n - 1}")
        process.kill()
        process.wait()
        os.remove(os.path.join(case.folder, f"at{n}"))
    process = start_and_let_through(count - 1)
    case.write(f"go{count - 1}", "")
    equal(process.wait(), 0)
    equal(case.log(), [str(n) for n in range(count)])


WAIT = "touch at$n; while [ ! -e go$n ]; do sleep 0.02; done; echo $n >> log"


def run_resume_never_gives_up_while_steps_complete(case):
    killed_after_each(case, "steps:\n" + "".join(f"- {{id: s{n}, run: 'n={n}; {WAIT}'}}\n" for n in range(6)), 6)


def run_resume_never_gives_up_while_items_complete(case):
    killed_after_each(case, f"steps:\n- id: m\n  map: {{items: [0, 1, 2, 3, 4, 5]}}\n  steps:\n  - {{id: s, run: 'n=${{item}}; {WAIT}'}}\n", 6)


def run_resume_never_gives_up_while_iterations_complete(case):
    killed_after_each(case, f"steps:\n- id: l\n  loop: {{max: 6}}\n  steps:\n  - {{id: s, run: 'n=${{loop.index}}; {WAIT}'}}\n", 6)


def run_resume_never_gives_up_while_steps_of_a_child_complete(case):
    case.write("child.yaml", "steps:\n" + "".join(f"- {{id: s{n}, run: 'n={n}; {WAIT}'}}\n" for n in range(6)))
    killed_after_each(case, "steps:\n- {id: c, workflow: child.yaml}\n", 6)


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


def run_resume_of_a_run_whose_number_was_recorded_as_text_continues(case):
    """Older versions recorded each value of --var as text."""
    case.write("workflow.yaml", "vars: {n: 1}\nsteps:\n- {id: a, run: 'echo ${vars.n} >> log; [ -e go ]', retry: {attempts: 2, backoff: 1ms}}\n")
    run_resume(case, "--var-json", 'n="5"', status=1)
    run_resume(case, "--var", "n=6", status=2)
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    run_resume(case, "--var", "n=5", status=0)
    equal(case.log()[-1], "5")


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


# Output, progress and the background.

def verbose_shows_what_steps_print_as_it_comes(case):
    case.write("workflow.yaml", "secrets: [TOKEN]\nsteps:\n- {id: a, run: 'echo one; echo my $TOKEN >&2; while [ ! -e go ]; do sleep 0.02; done; printf two'}\n- {id: b, run: echo three, capture: {format: text}}\n")
    case.env["TOKEN"] = "hush-hush-7"
    process = case.start("run", "--run-id", "r", "-v")
    lines = [process.stdout.readline() for _ in range(4)]
    equal(lines[:2] + sorted(lines[2:]), ["r\n", "a: started\n", "a | my ***\n", "a | one\n"])
    case.write("go", "")
    rest, _ = process.communicate(timeout=20)
    holds(rest, "a | two\n", "b | three\n")
    assert "hush-hush-7" not in rest
    assert "a | " not in case.pawl("run", "--run-id", "r2", status=0).stdout


def maps_report_progress_off_a_terminal(case):
    case.env["PAWL_PROGRESS_INTERVAL"] = "200ms"
    done = case.run("steps:\n- {id: m, map: {items: [1, 2, 3, 4], parallel: 1, on_item_failure: dlq}, steps: [{id: s, run: 'sleep 0.5; [ ${item} != 2 ]'}]}\n")
    holds(done.stdout, "m: 1 of 4 items done\n", "m: 2 of 4 items done, 1 failed\n")


def detach_returns_when_the_run_is_durable(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'echo printed; while [ ! -e go ]; do sleep 0.02; done; echo a >> log'}\n- {id: b, run: 'echo b >> log'}\n")
    done = case.pawl("run", "--run-id", "r", "--detach", status=0, timeout=10)
    equal(done.stdout, "r\n")
    log = os.path.join(case.env["PAWL_STORE"], "runs", "r", "logs", "detached.log")
    holds(done.stderr, log)
    equal(case.state()["status"], "running")
    wait_for(lambda: "printed" in case.pawl("logs", "r").stdout, "the step's output")
    holds(case.pawl("show", "r", status=0).stdout, "running")
    holds(case.pawl("resume", "r", status=4).stderr, "PAWL-0201")
    case.write("go", "")
    wait_for(lambda: case.state()["status"] == "completed", "the end of the run")
    wait_for(lambda: "run r completed" in open(log).read(), "the last line")
    equal(case.log(), ["a", "b"])


def a_detached_run_survives_the_hangup_and_can_be_cancelled(case):
    case.write("workflow.yaml", "grace: 100ms\nsteps:\n- {id: a, run: 'touch runs; sleep 60'}\n")
    shell = subprocess.Popen(["sh", "-c", f"{case.program} run --run-id r --detach; exec sleep 60"], cwd=case.folder, env=case.env, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    equal(shell.stdout.readline(), b"r\n")
    wait_for(lambda: exists(case, "runs"), "the step")
    os.killpg(shell.pid, signal.SIGHUP)
    shell.wait()
    equal(case.state()["status"], "running")
    case.pawl("cancel", "r", status=0)
    wait_for(lambda: case.state()["status"] == "cancelled", "the end of the run")


def what_detach_cannot_start_is_reported_in_the_foreground(case):
    case.run("steps:\n- {id: a, run: 'true'}\n")
    holds(case.pawl("run", "--run-id", "r", "--detach", status=4).stderr, "PAWL-0207")
    holds(case.pawl("run", "missing.yaml", "--detach", status=2).stderr, "missing.yaml")
    case.write("workflow.yaml", "vars: {x: null}\nsteps:\n- {id: a, run: 'true'}\n")
    equal(case.pawl("run", "--run-id", "q", "--detach").returncode, 2)


# Failed items.

DLQ = "steps:\n- {id: m, map: {items: [1, 2, 3, 4, 5], on_item_failure: dlq}, steps: [{id: s, run: 'echo fine >&2; [ ${item} != 2 ] || { echo first >&2; echo disk on fire >&2; exit 3; }'}]}\n"


def failed_items_are_counted_in_the_last_line(case):
    done = case.run(DLQ)
    holds(done.stdout.strip().split("\n")[-1], "run r completed in", "4 succeeded, 1 failed (5 items)")
    holds(done.stderr, "pawl dlq list r")
    assert "succeeded" not in case.pawl("run", "--run-id", "q", status=0).stdout.replace("4 succeeded, 1 failed", "")


def fail_on_dlq_exits_with_1(case):
    case.run(DLQ, "--fail-on-dlq", status=1)
    equal(case.state()["status"], "completed")
    case.pawl("run", "--run-id", "r", "--resume", status=0)
    case.pawl("run", "--run-id", "r", "--resume", "--fail-on-dlq", status=1)
    case.write("workflow.yaml", DLQ + "- {id: g, approve: 'Go?'}\n")
    case.pawl("run", "--run-id", "q", status=3)
    case.pawl("approve", "q", status=0)
    case.pawl("resume", "q", "--fail-on-dlq", status=1)
    case.write("workflow.yaml", "steps:\n- {id: m, map: {items: [1]}, steps: [{id: s, run: 'true'}]}\n")
    case.pawl("run", "--run-id", "p", "--fail-on-dlq", status=0)


FAILING = """steps:
- id: m
  map: { items: [0, 1, 2, 3, 4, 5, 6, 7], on_item_failure: dlq }
  steps: [{ id: s, run: 'echo ${item} >> log; [ ${item} = 0 ] || [ ${item} = 4 ] || [ -e go ]' }]
"""


def letters(job):
    return [letter["index"] for letter in json.loads(job.pawl("dlq", "list", "r", "--json", status=0).stdout)]


def a_range_selects_the_failed_items_in_it(case):
    case.run(FAILING)
    equal(letters(case), [1, 2, 3, 5, 6, 7])
    holds(case.pawl("dlq", "retry", "r", "4", status=4).stderr, "item 4 of 'm' has not failed")
    holds(case.pawl("dlq", "retry", "r", "1", "4-4", status=4).stderr, "no item of 'm' in 4-4 has failed")
    case.write("go", "")
    os.remove(os.path.join(case.folder, "log"))
    case.pawl("dlq", "retry", "r", "1", "3-5", status=0)
    equal(case.log(), ["1", "3", "5"])
    case.pawl("dlq", "drop", "r", "0-6", status=0)
    equal(letters(case), [7])
    case.pawl("dlq", "retry", "r", "6,7", status=4)
    case.pawl("dlq", "retry", "r", "0-18446744073709551614", status=0)
    equal(letters(case), [])


def hints_about_failed_items_can_be_typed(case):
    case.run(FAILING)
    holds(case.pawl("resume", "r", status=4).stderr, "PAWL-0610", "to run its failed items again, run: pawl dlq retry r")
    case.write("workflow.yaml", FAILING + "- {id: more, run: 'true'}\n")
    holds(case.pawl("dlq", "retry", "r", "m", "1", "2-3", status=4).stderr, "pawl dlq retry r m 1 2-3 --no-run && pawl resume r --accept-changes")


def time_between_executions_does_not_count(case):
    case.run(FAILING.replace("'echo", "'sleep 0.1; echo").replace("items: [0, 1, 2, 3, 4, 5, 6, 7]", "items: [0, 1, 2]"))
    time.sleep(3)
    case.write("go", "")
    holds(case.pawl("dlq", "retry", "r", "1", status=0).stdout, "m: completed in ")
    shown = json.loads(case.pawl("show", "r", "--json", status=0).stdout)
    assert 400 <= shown["steps"][0]["ms"] < 2500, shown["steps"][0]
    assert 400 <= shown["elapsed_ms"] < 2500, shown["elapsed_ms"]
    equal([event["data"]["ms"] < 2500 for event in case.events("step_completed") if event["data"]["step"] == "m"], [True, True])


def logs_of_an_inner_step_are_those_of_all_items(case):
    case.run("steps:\n- {id: m, map: {items: [5, 6]}, steps: [{id: s, run: 'echo s${item}'}, {id: t, run: 'echo t${item}'}, {id: u, run: 'true'}]}\n- {id: l, loop: {max: 2}, steps: [{id: s, run: echo again}]}\n")
    equal(sorted(case.pawl("logs", "r", "m.s", status=0).stdout.splitlines()), ["m[0].s | s5", "m[1].s | s6"])
    equal(case.pawl("logs", "r", "m[1].t", status=0).stdout, "t6\n")
    equal(len(case.pawl("logs", "r", "m", status=0).stdout.splitlines()), 4)
    equal(len(case.pawl("logs", "r", "l.s", status=0).stdout.splitlines()), 2)
    equal(case.pawl("logs", "r", "m.u", status=0).stderr, "pawl: m.u has no output\n")
    holds(case.pawl("logs", "r", "m[9]", status=2).stderr, "'m' has no item 9", "its items are 0 to 1")
    holds(case.pawl("logs", "r", "m[9].s", status=2).stderr, "'m' has no item 9")
    holds(case.pawl("logs", "r", "l[3]", status=2).stderr, "'l' has no iteration 3")


def cost_is_counted_in_the_step_that_contains_it(case):
    report = """echo '{"cost_usd": 0.1, "tokens": 10}' >> $PAWL_RESULT"""
    case.write("child.yaml", f"steps:\n- id: a\n  run: |\n    {report}\n")
    case.run(f"""steps:
- id: m
  map: {{ items: [1, 2, 3] }}
  steps:
  - id: s
    run: |
      {report}
- id: l
  loop: {{ max: 2 }}
  steps:
  - id: c
    workflow: child.yaml
- id: p
  run: |
    {report}
""")
    for document in (json.loads(case.pawl("show", "r", "--json", status=0).stdout), json.loads(case.pawl("show", "r", "--all", "--json", status=0).stdout)):
        used = {step["id"]: (step["usage"]["usd"], step["usage"]["tokens"]) for step in document["steps"] if "usage" in step}
        equal((used["m"], used["l"], used["p"]), ((0.3, 30), (0.2, 20), (0.1, 10)))
        equal((document["usage"]["usd"], document["usage"]["tokens"]), (0.6, 60))
    equal(case.state()["steps"]["m"]["usage"]["tokens"], 30)
    holds(case.pawl("list", "--json", status=0).stdout, '"usd":0.6,')


def dlq_list_shows_the_last_line_of_stderr(case):
    case.run(DLQ)
    holds(case.pawl("dlq", "list", "r", status=0).stdout, "disk on fire")
    equal([letter["stderr"] for letter in json.loads(case.pawl("dlq", "list", "r", "--json", status=0).stdout)], ["disk on fire"])
    holds(case.pawl("dlq", "show", "r", "1", status=0).stdout, "disk on fire")


# A run that another process has open.

def hold(job):
    job.write("workflow.yaml", "steps:\n- {id: a, run: 'touch runs; while [ ! -e go ]; do sleep 0.02; done'}\n")
    process = job.start("run", "--run-id", "r")
    wait_for(lambda: exists(job, "runs"), "the step")
    return process


LOCKING = (["resume", "r"], ["save", "r"], ["rollback", "r@1", "--accept-rerun"], ["erase", "r", "--yes", "--reason", "test"])


def a_busy_run_is_reported_as_busy(case):
    process = hold(case)
    for args in LOCKING:
        done = case.pawl(*args, stdin="{}", status=4)
        holds(done.stderr, "PAWL-0201", "busy", "--wait-lock")
        assert "damage" not in done.stderr and "fsck" not in done.stderr, done.stderr
        began = time.monotonic()
        holds(case.pawl(*args, "--wait-lock", "300ms", stdin="{}", status=4).stderr, "PAWL-0201")
        assert time.monotonic() - began > 0.28
    case.write("go", "")
    equal(process.wait(20), 0)


def wait_lock_waits_until_the_run_is_free(case):
    process = hold(case)
    waiting = [case.start("run", "--run-id", "r", "--resume", "--wait-lock", "20s"), case.start("rollback", "r@1", "--accept-rerun", "--wait-lock", "20s")]
    time.sleep(0.3)
    equal([one.poll() for one in waiting], [None, None])
    case.write("go", "")
    equal(process.wait(20), 0)
    equal(waiting[1].wait(20), 0)
    equal(waiting[0].wait(20), 0)
    case.pawl("erase", "r", "--yes", "--reason", "test", "--wait-lock", "1s", status=0)


def wait_lock_takes_a_positive_duration(case):
    holds(case.pawl("save", "r", "--wait-lock", "soon", stdin="{}", status=2).stderr, "soon", "30s")
    for command in ("run", "resume", "step", "save", "fork", "rollback", "prune", "erase"):
        holds(case.pawl(command, "--help", status=0).stdout, "--wait-lock")


# A project that was moved.

def moved_case(case, text):
    os.mkdir(os.path.join(case.folder, "old"))
    case.write("old/flow.yaml", text)
    case.pawl("run", "old/flow.yaml", "--run-id", "r", status=1)
    os.rename(os.path.join(case.folder, "old"), os.path.join(case.folder, "new"))


def resume_in_another_working_directory(case):
    moved_case(case, "steps:\n- {id: a, run: pwd >> log}\n- {id: b, run: '[ -e go ] && pwd >> log'}\n")
    case.write("new/go", "")
    case.pawl("resume", "r", status=2)
    holds(case.pawl("resume", "r", "--working-dir", "nowhere", status=2).stderr, "nowhere")
    case.pawl("resume", "r", "--working-dir", "new", status=0)
    equal([os.path.basename(line) for line in case.log("new/log")], ["old", "new"])
    equal(case.state()["working_dir"], os.path.join(case.folder, "new"))
    equal(case.state()["workflow"]["file"] if isinstance(case.state()["workflow"], dict) else case.state()["workflow_file"], os.path.join(case.folder, "new", "flow.yaml"))
    moved = case.events("working_dir_moved")[0]["data"]
    equal((os.path.basename(moved["from"]), os.path.basename(moved["to"])), ("old", "new"))
    assert any(entry["type"] == "working_dir_moved" for entry in json.loads(case.pawl("audit", "list", "r", "--json", status=0).stdout))


def a_moved_project_is_still_checked_for_changes(case):
    moved_case(case, "checkpoint: { folder: refuse }\nsteps:\n- {id: b, run: './tool.sh; [ -e go ]'}\n")
    case.write("new/tool.sh", "#!/bin/sh\n")
    case.write("new/flow.yaml", "steps:\n- {id: b, run: 'true'}\n")
    holds(case.pawl("resume", "r", "--working-dir", "new", status=4).stderr, "PAWL-0208")


def children_move_with_their_parent(case):
    os.mkdir(os.path.join(case.folder, "old"))
    case.write("old/child.yaml", "steps:\n- {id: s, run: '[ -e go ] && pwd >> log'}\n")
    case.write("old/flow.yaml", "steps:\n- {id: c, workflow: child.yaml}\n")
    case.pawl("run", "old/flow.yaml", "--run-id", "r", status=1)
    os.rename(os.path.join(case.folder, "old"), os.path.join(case.folder, "new"))
    case.write("new/go", "")
    case.pawl("resume", "r", "--working-dir", "new", status=0)
    equal([os.path.basename(line) for line in case.log("new/log")], ["new"])


run_tests(globals())
