#!/usr/bin/env python3
"""Tests what `pawl list`, `show`, `dlq list` and `handoff` tell about runs, in text and JSON, also on a terminal.

  cli_lists.py PAWL [name of a test]...
"""
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

from workflow_case import equal, holds, run_tests, wait_for


def rows(case, *args, status=0):
    return {row["run"]: row for row in json.loads(case.pawl("list", "--json", *args, status=status).stdout or "[]")}


def cells(case, run, *args):
    """Returns the row of a run in a table without a width, by column."""
    lines = case.pawl("list", *args, status=0).stdout.splitlines()
    head = lines[0]
    starts = [i for i in range(len(head)) if head[i] != " " and (i == 0 or head[i - 2:i] == "  ")]
    (line,) = [line for line in lines[1:] if line.split()[0] == run]
    ends = starts[1:] + [max(len(head), len(line))]
    return {head[a:b].strip(): line[a:b].strip() for a, b in zip(starts, ends)}


def flip(case, *names, at):
    with open(os.path.join(case.env["PAWL_STORE"], *names), "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


def damaged_runs_are_never_cut(case):
    """They were sorted as created in 1970, and a list with a limit did not show them."""
    for number in range(1, 9):
        case.pawl("save", f"r{number}", stdin='{"n":1}', status=0)
    case.pawl("save", "r2", stdin='{"n":2}', status=0)  # now the newest
    case.pawl("fsck", "--repair", status=0)  # publishes everything
    flip(case, "runs/r1/run.json", at=30)
    flip(case, "runs/r2/run.json", at=30)
    flip(case, "runs/r3/checkpoints/checkpoint_00001.json", at=40)
    for catalogue in ("kept", "lost"):
        if catalogue == "lost":
            os.remove(os.path.join(case.env["PAWL_STORE"], "catalogue.db"))
        everything = rows(case, "--limit", "99")
        equal({run for run, row in everything.items() if row["status"] == "damaged"} | {"r3"}, {"r1", "r2", "r3"})
        equal(list(everything)[0], "r2")
        assert all(row["updated"] > "2020" for row in everything.values()), everything
        equal(set(rows(case, "--status", "damaged")), {"r1", "r2", "r3"})
        equal(set(rows(case, "--status", "damaged", "--limit", "3")), {"r1", "r2", "r3"})
    # The catalogue was built again, and knows all three.
    for limit in ("3", "4", "7"):
        found = rows(case, "--limit", limit)
        equal(len(found), int(limit))
        assert {"r1", "r2", "r3"} <= set(found), found
        text = case.pawl("list", "--limit", limit, status=0)
        equal({line.split()[0] for line in text.stdout.splitlines()[1:]}, set(found))
        for run in ("r1", "r2", "r3"):
            holds(text.stderr, f"pawl fsck {run}")


def on_terminal(case, columns, *args):
    """Returns what the program prints to a terminal of this width."""
    main, sub = pty.openpty()
    fcntl.ioctl(sub, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen([case.program, *args], cwd=case.folder, env={**case.env, "TERM": "xterm"}, stdin=sub, stdout=sub, stderr=sub)
    os.close(sub)
    text = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(main)
    child.wait()
    return text.decode().replace("\r\n", "\n")


def report(case, run, name, text, *rest, status=0):
    case.pawl("step", "--run", run, name, *rest, "--", "sh", "-c", f"echo '{text}' >> $PAWL_RESULT", status=status)


def a_script_run_is_listed_as_it_is_shown(case):
    report(case, "s", "a", '{"cost_usd": 0.5, "tokens": 3420}')
    equal(cells(case, "s")["STATUS"], "completed")
    case.pawl("step", "--run", "s", "b", "--", "sh", "-c", "exit 3", status=3)
    row = cells(case, "s")
    equal((row["STATUS"], row["PROGRESS"], row["COST"], row["ERROR"]), ("failed", "1/2", "0.50 USD", "b: exit status 3"))
    listed, shown = rows(case)["s"], json.loads(case.pawl("show", "s", "--json", status=0).stdout)
    for name in ("status", "progress", "usage", "error"):
        equal(listed[name], shown[name])
    equal((listed["progress"], listed["usage"]["usd"], listed["error"]), ({"done": 1, "total": 2}, 0.5, "b: exit status 3"))
    equal(list(rows(case, "--failed")), ["s"])


def a_script_run_is_running_until_its_process_dies(case):
    step = case.start("step", "--run", "k", "a", "--", "sleep", "60")
    wait_for(lambda: rows(case, status=None).get("k", {}).get("status") == "running", "the step")
    equal(list(rows(case, "--running")), ["k"])
    equal(rows(case, "--status", "interrupted"), {})
    step.kill()
    step.wait()
    equal(rows(case, "--running"), {})
    equal(rows(case, "--status", "interrupted")["k"]["error"], "a: its process died")
    equal(rows(case, "--resumable"), {})


def costs_are_shown_by_step_and_summed(case):
    case.run("""\
        steps:
          - { id: plan, run: 'echo "{\\"cost_usd\\": 0.02, \\"tokens\\": 1000}" >> $PAWL_RESULT' }
          - id: pages
            needs: [plan]
            map: { items: [1, 2, 3] }
            steps: [{ id: w, run: 'echo "{\\"cost_usd\\": 0.1, \\"tokens\\": 1}" >> $PAWL_RESULT' }]
        """)
    shown = case.pawl("show", "r", status=0).stdout
    holds(shown, "0.02 USD, 1,000 tokens\n", "3 of 3 items, 0.30 USD, 3 tokens\n", "Used:      0.32 USD, 1,003 tokens\n")
    report(case, "s", "a", '{"cost_usd": 0.5, "tokens": 2417}')
    holds(case.pawl("list", status=0).stderr, "total: 0.82 USD, 3,420 tokens (2 runs)\n")
    case.pawl("fork", "r", "--run-id", "f", status=0)
    equal(rows(case)["f"]["usage"]["usd"], 0.32)
    holds(case.pawl("list", status=0).stderr, "total: 0.82 USD, 3,420 tokens (2 runs)\n")
    case.pawl("save", "saved", stdin="{}", status=0)
    equal(case.pawl("list", "--status", "active", status=0).stderr, "")


def a_child_is_summed_once(case):
    case.write("child.yaml", 'steps: [{ id: c, run: \'echo "{\\"tokens\\": 7}" >> $PAWL_RESULT\' }]\n')
    case.run("steps: [{ id: call, workflow: child.yaml }]\n")
    equal(len(rows(case)), 2)
    holds(case.pawl("list", status=0).stderr, "total: 7 tokens (1 run)\n")


LONG = "customer-export-production-eu-central-1-2026-11-16"


def an_id_is_cut_last(case):
    case.write("workflow.yaml", "steps: [{id: fetch-all-customers, run: 'exit 22'}]\n")
    case.pawl("run", "--run-id", LONG, status=1)
    narrow = on_terminal(case, 80, "list")
    holds(narrow, f"{LONG}  ", "failed")
    assert "KIND" not in narrow and "LATEST" not in narrow, narrow
    wide = on_terminal(case, 160, "list")
    holds(wide, f"{LONG}  ", "fetch-all-customers: exit status 22", "KIND", "LATEST")
    assert "…" not in wide, wide
    tiny = on_terminal(case, 40, "list")
    assert LONG not in tiny and "…" in tiny and "failed" in tiny, tiny


def what_needs_attention_is_listed(case):
    case.run("""\
        steps:
          - id: m
            map: { items: [1, 2, 3], on_item_failure: dlq }
            steps: [{ id: i, run: 'test ${item} = 1' }]
        """)
    equal(cells(case, "r")["ERROR"], "2 items failed")
    equal(rows(case)["r"]["error"], None)
    for run, work, words in (("gate", "approve: 'ok?'", "waits for approval: a"), ("sig", "wait_for: go", "waits for signal: go")):
        case.write("workflow.yaml", f"steps: [{{id: a, {work}}}]\n")
        case.pawl("run", "--run-id", run, status=3)
        equal(cells(case, run)["ERROR"], words)
        equal(rows(case)[run]["error"], None)
    case.write("workflow.yaml", """\
        steps:
          - id: m
            map: { items: [1, 2, 3], on_item_failure: dlq }
            steps: [{ id: i, run: 'test ${item} = 1' }]
          - { id: review, needs: [m], approve: 'ok?' }
        """)
    case.pawl("run", "--run-id", "both", status=3)
    equal(cells(case, "both")["ERROR"], "waits for approval: review, 2 items failed")


def a_fork_and_a_rollback_are_no_errors(case):
    case.run("steps: [{id: a, run: 'true'}, {id: b, needs: [a], approve: 'ok?'}]\n", status=3)
    case.pawl("fork", "r@2", "--run-id", "f", status=0)
    case.pawl("rollback", "r@1", "--accept-rerun", status=0)
    for run, words in (("f", "Reason:    forked from r@2\n"), ("r", "Reason:    rolled back to checkpoint 1\n")):
        shown = case.pawl("show", run, status=0).stdout
        holds(shown, "Status:    interrupted\n", words)
        assert "Error:" not in shown, shown
        equal((cells(case, run)["ERROR"], rows(case)[run]["error"]), ("-", None))
        case.pawl("resume", run, status=3)
        assert "Reason:" not in case.pawl("show", run, status=0).stdout


def steps_that_may_fail_count_as_done_in_a_completed_run(case):
    case.run("steps: [{id: a, run: 'exit 1', continue_on_error: true}, {id: b, run: 'true'}]\n")
    equal(rows(case)["r"]["progress"], {"done": 2, "total": 2})


def the_only_run_that_waits_is_approved(case):
    case.write("workflow.yaml", "steps: [{id: a, approve: 'ok?'}]\n")
    holds(case.pawl("approve", status=2).stderr, "no store")
    case.pawl("run", "--run-id", "one", status=3)
    equal(case.pawl("approve", status=0).stdout, "one: a approved\n")
    holds(case.pawl("resume", status=0).stdout, "completed")
    holds(case.pawl("reject", status=4).stderr, "no run waits for approval")
    for run in ("first-one", "two"):
        case.pawl("run", "--run-id", run, status=3)
    holds(case.pawl("reject", status=2).stderr, "2 runs wait for approval; choose one:\n", "\n  two        waiting  ", "\n  first-one  waiting  ",
          "hint: for example: pawl reject two\n")
    holds(case.pawl("resume", status=2).stderr, "2 runs can be resumed; choose one:\n", "\n  two        waiting  ", "\n  first-one  waiting  ")


def failed_items_show_their_message(case):
    case.run("""\
        steps:
          - id: work
            map: { items: [a, b], on_item_failure: dlq }
            steps: [{ id: do, run: 'echo no such customer >&2; exit 22' }]
        """)
    screen = on_terminal(case, 80, "dlq", "list", "r")
    holds(screen, "do: exit status 22", "no such customer")
    assert "work[0]" not in screen, screen


def long_names_are_aligned(case):
    name = "fetch-all-customer-records-from-the-warehouse"
    case.run(f"steps: [{{id: {name}, run: 'true'}}, {{id: b, run: 'true'}}]\n")
    shown = case.pawl("show", "r", status=0).stdout.splitlines()
    first, second = [line for line in shown if line.startswith("✓")]
    equal(first.index(" ms"), second.index(" ms") + len(first.split()[2]) - len(second.split()[2]))
    assert len(first.split("  ")[0]) == len(name) + 2


def a_killed_step_has_no_time(case):
    case.write("workflow.yaml", "steps: [{id: a, run: 'touch started; exec sleep 60'}]\n")
    run = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "started")), "the step")
    run.kill()
    run.wait()
    holds(case.pawl("show", "r", status=0).stdout, "‖ a  interrupted\n")


def long_values_of_events_are_cut(case):
    case.run("# " + "x" * 300 + "\nsteps: [{id: a, run: 'true'}]\n")
    for line in case.pawl("show", "r", "--events", status=0).stdout.splitlines():
        assert "x" * 80 not in line, line
    holds(case.pawl("show", "r", "--events", "--json", status=0).stdout, "x" * 300)


def a_script_run_is_handed_over_with_its_steps(case):
    case.pawl("step", "--run", "s", "fetch", "--", "echo", "result", status=0)
    case.pawl("step", "--run", "s", "load", "--", "sh", "-c", "echo no table >&2; exit 3", status=3)
    text = case.pawl("handoff", "s", status=0).stdout
    holds(text, "- failed, 1 of 2 steps completed", "- error: load: exit status 3", "run the script again", "`fetch`: `result", "`load` failed: exit status 3",
          "printed: `no table`", "pawl logs s load")
    assert "steps/1" not in text, text
    document = json.loads(case.pawl("handoff", "s", "--json", status=0).stdout)
    equal((document["status"], document["done"][0]["step"], document["open"][0]["error"]), ("failed", "fetch", "exit status 3"))
    assert "state" not in document, document


def colours_reach_only_a_terminal(case):
    case.write("workflow.yaml", "steps: [{id: a, run: \"printf '\\\\033[31mred\\\\033[0m \\\\033[2Jx\\\\n'\"}]\n")
    holds(case.pawl("run", "--run-id", "r", "-v", status=0).stdout, "a | red x\n")
    holds(on_terminal(case, 80, "run", "--run-id", "t", "-v"), "a | \x1b[31mred\x1b[0m x\n")


def an_attempt_that_was_not_made_has_no_logs(case):
    case.run("steps: [{id: a, run: 'true'}]\n")
    case.pawl("step", "--run", "s", "a", "--", "true", status=0)
    for run in ("r", "s"):
        holds(case.pawl("logs", run, "a", "--attempt", "9", status=2).stderr, f"step 'a' of run '{run}' has no attempt 9")
        case.pawl("logs", run, "a", "--attempt", "1", status=0)


def empty_and_odd_values_are_refused(case):
    case.run("steps: [{id: a, run: 'exit 1'}]\n", status=1)
    holds(case.pawl("list", "--status", "", status=2).stderr, "--status: unknown value ''")
    holds(case.pawl("resume", "r", "--working-dir", "", status=2).stderr, "--working-dir: must not be empty")
    holds(case.pawl("step", "--run", "s", "a\nb", "--", "true", status=2).stderr, "invalid step name 'a\\x0ab'\n")
    error = case.pawl("rm", "r", "--reason", "a\x01b", "--yes", status=2).stderr
    equal(error.count("invalid reason"), 1)
    assert "kept" not in error, error


def messages_name_what_they_are_about(case):
    step = case.start("step", "--run", "s", "a", "--", "sleep", "60")
    wait_for(lambda: rows(case, status=None).get("s", {}).get("status") == "running", "the step")
    holds(case.pawl("step", "--run", "s", "a", "--", "true", status=4).stderr, "step 'a' of run s is already running (process ")
    step.kill()
    step.wait()
    case.pawl("save", "n", stdin='{"list": [1, 2, 3]}', status=0)
    holds(case.pawl("step", "--run", "n", "a", "--", "true", status=2).stderr, "steps of a script can't be recorded in this run")
    case.pawl("fork", "n", "--run-id", "m", status=0)
    holds(case.pawl("rm", "n", "--yes", status=4).stderr, "to remove both, run: pawl rm n m\n")
    holds(case.pawl("fork", "n", "--set", "/list/7=9", status=2).stderr, "'/list/7' does not exist", "/list has 3 elements")
    holds(case.pawl("fork", "n", "--set", "x.y=9", status=2).stderr, "the state has no member 'x'")
    case.write("workflow.yaml", "steps: [{id: a, approve: ''}]\n")
    holds(case.pawl("check", status=2).stdout, "'approve' is empty (write the question to ask)")


run_tests(globals())
