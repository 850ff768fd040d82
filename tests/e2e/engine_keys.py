#!/usr/bin/env python3
"""Tests that a key which has no effect on its kind of step is an error in `check`, and that the others have an effect.

  engine_keys.py PAWL [name of a test]...
"""
from engine_case import main
from workflow_case import equal, holds

KINDS = {
    "loop": "loop: {max: 1}\n  steps: [{id: s, run: 'true'}]",
    "map": "map: {items: [1]}\n  steps: [{id: s, run: 'true'}]",
    "workflow": "workflow: child.yaml",
    "approve": "approve: 'Go?'",
    "sleep": "sleep: 1ms",
    "wait_for": "wait_for: release",
}
VALUES = {
    "timeout": "1h",
    "total_timeout": "1h",
    "retry": "{attempts: 3}",
    "env": "{A: b}",
    "env_file": "some.env",
    "working_dir": "sub",
    "isolate": "worktree",
    "shell": "bash",
    "confidence": "{below: 0.5, then: [{id: t, run: 'true'}]}",
}
# What works: deadlines, and trees of items.
WORKS = {("loop", "timeout"), ("map", "timeout"), ("workflow", "timeout"), ("approve", "timeout"), ("map", "isolate")}


def _write(case, kind, key, value):
    case.write("child.yaml", "steps:\n- {id: s, run: 'true'}\n")
    case.write("some.env", "A=b\n")
    case.write("workflow.yaml", f"steps:\n- id: a\n  {KINDS[kind]}\n  {key}: {value}\n")


def _refuses(case, kind):
    """Every key without effect is an error that names the key, the kind and its place."""
    accepted = []
    for key, value in VALUES.items():
        if (kind, key) in WORKS:
            continue
        _write(case, kind, key, value)
        done = case.pawl("check")
        if done.returncode == 0:
            accepted.append(key)
            continue
        equal((kind, key, done.returncode), (kind, key, 2))
        holds(done.stdout + done.stderr, key, "workflow.yaml:")
        equal(case.pawl("run", "--run-id", f"{kind}-{key}".replace("_", "-")).returncode, 2)
    equal((kind, accepted), (kind, []))


def a_loop_refuses_keys_that_it_ignores(case):
    """`check` refuses every key that a loop does not honour."""
    _refuses(case, "loop")


def a_map_refuses_keys_that_it_ignores(case):
    """`check` refuses every key that a map does not honour."""
    _refuses(case, "map")


def a_child_refuses_keys_that_it_ignores(case):
    """`check` refuses every key that a child workflow does not honour."""
    _refuses(case, "workflow")


def a_gate_refuses_keys_that_it_ignores(case):
    """`check` refuses every key that a gate does not honour."""
    _refuses(case, "approve")


def a_sleep_refuses_keys_that_it_ignores(case):
    """`check` refuses every key that a sleep does not honour."""
    _refuses(case, "sleep")


def a_wait_refuses_keys_that_it_ignores(case):
    """`check` refuses every key that a wait for a signal does not honour."""
    _refuses(case, "wait_for")


def keys_that_work_are_accepted(case):
    """Deadlines of gates, loops, maps and children, and the trees of a map, pass `check`."""
    refused = []
    for kind, key in sorted(WORKS):
        _write(case, kind, key, VALUES[key])
        done = case.pawl("check")
        if done.returncode != 0:
            refused.append((kind, key, done.stderr))
    equal(refused, [])


def the_error_says_where_the_key_belongs(case):
    """The error for `env` on a loop names the line and says to set it on the inner steps."""
    case.write("workflow.yaml", "steps:\n- id: a\n  loop: {max: 1}\n  env: {A: b}\n  steps: [{id: s, run: 'true'}]\n")
    done = case.pawl("check", status=2)
    holds(done.stdout + done.stderr, "workflow.yaml:4", "env", "loop")
    assert "inner" in done.stdout + done.stderr or "steps" in done.stdout + done.stderr


def ignored_keys_in_inner_steps_are_found(case):
    """The same deep inside loops, maps and `on_failure`."""
    for inner in ("loop: {max: 1}\n  steps:\n  - {id: x, approve: 'Go?', env: {A: b}}",
                  "map: {items: [1]}\n  steps:\n  - {id: x, sleep: 1s, working_dir: sub}",
                  "run: 'true'\n  on_failure:\n  - {id: x, workflow: child.yaml, shell: bash}"):
        case.write("child.yaml", "steps:\n- {id: s, run: 'true'}\n")
        case.write("workflow.yaml", f"steps:\n- id: a\n  {inner}\n")
        case.pawl("check", status=2)


main(globals())
