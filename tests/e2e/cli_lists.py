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


run_tests(globals())
