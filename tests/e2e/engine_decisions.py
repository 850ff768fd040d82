#!/usr/bin/env python3
"""Tests decisions and messages: the first durable answer wins, and what was acknowledged is never lost.

  engine_decisions.py PAWL [name of a test]...
"""
import json
import os
import pwd
import threading

from engine_case import Terminal, ended, inbox, main, resume, start
from workflow_case import equal, holds, wait_for

GATE = "steps:\n- {id: g, approve: 'Go?'}\n- {id: b, run: 'echo b >> log'}\n"


def _by(case, kind, run="r"):
    return [event["data"]["by"] for event in case.events(kind, run)]


def the_first_of_two_answers_wins(case):
    """An approval that is followed by a rejection stays an approval, and the reverse, however the messages are named."""
    for number in range(6):
        run, (first, second) = f"r{number}", [("approve", "reject"), ("reject", "approve")][number % 2]
        case.write("workflow.yaml", GATE)
        case.pawl("run", "--run-id", run, status=3)
        case.pawl(first, run, "g", "--by", "first", status=0)
        case.pawl(second, run, "g", "--by", "second")
        done = case.pawl("resume", run)
        equal((run, first, done.returncode, case.steps(run)["g"]), (run, first, *((0, "completed") if first == "approve" else (1, "failed"))))
        equal((_by(case, "approved", run), _by(case, "rejected", run)), (["first"], []) if first == "approve" else ([], ["first"]))


def a_second_answer_is_refused_and_says_so(case):
    """A decision on a gate that already has a durable answer is refused with an error that names the first one."""
    case.run(GATE, status=3)
    case.pawl("approve", "r", "g", "--by", "ada", status=0)
    done = case.pawl("reject", "r", "g", "--by", "bob")
    assert done.returncode != 0, f"acknowledged although the gate was approved:\n{done.stdout}{done.stderr}"
    holds(done.stderr, "ada")
    resume(case)
    equal((_by(case, "approved"), _by(case, "rejected")), (["ada"], []))


def an_answer_from_elsewhere_wins_over_a_later_one_at_the_prompt(case):
    """A rejection that was acknowledged while the terminal asks counts, whatever is typed afterwards."""
    case.write("workflow.yaml", GATE)
    terminal = Terminal(case, "run", "--run-id", "r")
    terminal.until("Approve?")
    case.pawl("reject", "r", "g", "--by", "elsewhere", status=0)
    terminal.type("y\n")
    terminal.ended(1)
    equal((_by(case, "approved"), _by(case, "rejected"), case.log()), ([], ["elsewhere"], []))


def an_open_prompt_closes_when_the_gate_is_answered_elsewhere(case):
    """The prompt disappears with the answer, says who gave it, and does not take what is typed for the next prompt."""
    case.write("workflow.yaml", "steps:\n- {id: g, approve: 'Go?'}\n- {id: h, approve: 'Really?'}\n- {id: b, run: 'echo b >> log'}\n")
    terminal = Terminal(case, "run", "--run-id", "r")
    terminal.until("Approve?")
    case.pawl("approve", "r", "g", "--by", "elsewhere", status=0)
    terminal.until("Really?")
    equal(case.log(), [])
    terminal.type("y\n")
    terminal.ended(0)
    equal(_by(case, "approved")[0], "elsewhere")
    equal(len(_by(case, "approved")), 2)


def an_answer_at_the_prompt_is_recorded_with_the_account(case):
    """What is typed at the prompt is recorded as the decision of the account, also where no variable names it."""
    account = pwd.getpwuid(os.geteuid()).pw_name
    case.write("workflow.yaml", GATE)
    for run, environment in (("named", {"USER": account, "LOGNAME": account}), ("unnamed", {"USER": "", "LOGNAME": ""})):
        terminal = Terminal(case, "run", "--run-id", run, env=environment)
        terminal.until("Approve?")
        terminal.type("y\n")
        terminal.ended(0)
        equal((run, _by(case, "approved", run)), (run, [account]))
        entries = json.loads(case.pawl("audit", "list", run, "--type", "approved", "--json", status=0).stdout)
        assert account in json.dumps(entries), entries


# Nothing that was acknowledged stays in the inbox of a run that has ended.

def _posted_until_the_end(case, text, posts, rounds=6):
    """Runs the workflow while other processes post. Returns, per run, the numbers whose post was acknowledged."""
    case.write("workflow.yaml", text)
    acknowledged = {}
    for number in range(rounds):
        run = f"r{number}"
        process = start(case, "run", "--run-id", run)
        wait_for(lambda run=run: case.pawl("restore", run).returncode == 0, "the run")
        acknowledged[run] = []
        over = threading.Event()

        def post(first, run=run, over=over):
            sent = first
            while not over.is_set() and sent < first + 2000:
                if posts(run, sent):
                    acknowledged[run].append(sent)
                sent += 1

        posters = [threading.Thread(target=post, args=(10_000 * each,)) for each in range(3)]
        for poster in posters:
            poster.start()
        try:
            ended(case, process, 0, run=run)
        finally:
            over.set()
            for poster in posters:
                poster.join()
        equal((run, inbox(case, run)), (run, []))
        assert acknowledged[run], "nothing was acknowledged"
    return acknowledged


SHORT = "steps:\n- {id: a, run: sleep 0.3}\n- {id: b, run: sleep 0.1}\n"


def an_audit_entry_that_was_acknowledged_is_in_the_trail(case):
    """Every `pawl audit add` that exited with 0 while the run ended is in its audit trail, and the inbox is empty."""
    sent = _posted_until_the_end(case, SHORT, lambda run, number: case.pawl("audit", "add", run, "--type", "seen", "--data", json.dumps({"n": number})).returncode == 0)
    for run, numbers in sent.items():
        shown = case.pawl("audit", "list", run, "--type", "seen", "--json", status=0).stdout
        rows = json.loads(shown) if shown.lstrip().startswith("[") else [json.loads(line) for line in shown.splitlines()]
        rows = rows if isinstance(rows, list) else rows["entries"]
        found = sorted(row["data"]["n"] for row in rows)
        equal((run, found), (run, sorted(numbers)))


def a_signal_that_was_acknowledged_is_received_or_refused(case):
    """Every `pawl signal` that exited with 0 while the run ended is recorded in its events, and the inbox is empty."""
    sent = _posted_until_the_end(case, SHORT, lambda run, number: case.pawl("signal", run, f"s{number}").returncode == 0, rounds=4)
    for run, numbers in sent.items():
        told = json.dumps([event for event in case.events(run=run) if event["type"] in ("signal_received", "message_refused")])
        equal((run, [number for number in numbers if f'"s{number}"' not in told]), (run, []))


def an_approval_that_was_acknowledged_counts_or_is_refused_in_the_events(case):
    """An approval that was acknowledged while the run ended is in the events; no gate is left with an unread answer."""
    text = "steps:\n- {id: g, needs: [], approve: 'Go?'}\n- {id: a, needs: [], run: sleep 0.2}\n"
    for number in range(8):
        run = f"w{number}"
        case.write("workflow.yaml", text)
        process = start(case, "run", "--run-id", run)
        wait_for(lambda run=run: case.pawl("restore", run).returncode == 0 and case.steps(run).get("g") == "waiting", "the gate")
        answers = []
        poster = threading.Thread(target=lambda run=run, answers=answers: answers.append(case.pawl("approve", run, "g").returncode))
        wait_for(lambda run=run, process=process: case.steps(run).get("a") == "completed" or process.poll() is not None, "the other step")
        poster.start()
        ended(case, process, (0, 3), run=run)
        poster.join()
        if process.returncode == 3 and answers == [0]:
            resume(case, run=run)
        if answers == [0]:
            equal((run, case.steps(run)["g"], inbox(case, run)), (run, "completed", []))
            equal(len(_by(case, "approved", run)), 1)


def a_post_to_a_completed_run_is_not_acknowledged(case):
    """A signal or an approval for a run that has completed is refused at once."""
    case.run("steps:\n- {id: a, run: 'true'}\n")
    for args in (("signal", "r", "x"), ("approve", "r", "a")):
        assert case.pawl(*args).returncode != 0, args
    equal(inbox(case), [])


main(globals())
