#!/usr/bin/env python3
"""Tests that the cost of a run grows with its work, and that every id that `check` accepts also runs.

  engine_cost.py PAWL [name of a test]...
"""
import subprocess

from engine_case import begin, ended, main, resume
from workflow_case import equal

ID = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789"
assert len(ID) == 64
NESTED = """
  steps:
  - id: m
    map: {items_from: items.jsonl, parallel: 16}
    steps:
    - id: n
      map: {items: [0, 1]}
      steps: [{id: s, run: ':'}]
  - {id: last, run: '[ -e go ]'}
"""
OUTER = 1600


def nested_maps_are_linear_in_the_outer_items(case):
    """A map of 1,600 items with a map in each ends, and is resumed, without hanging. When the cost grew with the square
    of the outer items, it took longer than this test waits."""
    with open(f"{case.folder}/items.jsonl", "w") as out:
        out.writelines(f"{number}\n" for number in range(OUTER))
    ended(case, begin(case, NESTED), 1, seconds=40)
    equal(case.state()["steps"]["m"]["map"]["done"], f"0-{OUTER - 1}")
    case.write("go", "")
    resume(case)


def _deep(levels, kinds):
    """Steps with the longest ids, nested to this depth. `kinds` are repeated from the outside to the inside."""
    lines, indent = ["steps:"], ""
    for level in range(levels - 1):
        name = ID[:-2] + f"{level:02}"
        lines += [f"{indent}- id: {name}", f"{indent}  {kinds[level % len(kinds)]}", f"{indent}  steps:"]
        indent += "  "
    lines.append(f"{indent}- {{id: {ID}, run: 'echo $PAWL_STEP >> $TOP/log; echo out; echo err >&2', capture: {{format: text}}}}")
    return "\n".join(lines) + "\n"


def _runs(case, text):
    case.env["TOP"] = case.folder
    case.write("workflow.yaml", text)
    case.pawl("check", status=0)
    ended(case, begin(case, text), 0)
    equal(len(case.log()), 1)
    inner = case.log()[0]
    equal(inner.count(ID[:-2]), text.count("id: "))
    case.pawl("logs", "r", status=0)
    case.pawl("fsck", "--repair", status=0)
    case.pawl("fsck", status=0)


def long_ids_six_deep_in_loops_run(case):
    """Ids of 64 characters, nested six deep in loops, run and have logs."""
    _runs(case, _deep(6, ["loop: {max: 1}"]))


def long_ids_six_deep_in_maps_run(case):
    """The same in maps."""
    _runs(case, _deep(6, ["map: {items: [0]}"]))


def long_ids_six_deep_in_both_run(case):
    """The same in maps and loops in turn."""
    _runs(case, _deep(6, ["map: {items: [0]}", "loop: {max: 1}"]))


def a_failed_step_with_a_long_path_can_be_resumed(case):
    """A step with a long path that failed is shown, has its log, and runs again at a resume."""
    text = _deep(6, ["loop: {max: 1}"]).replace("echo out;", "echo out; test -e $TOP/go;")
    case.env["TOP"] = case.folder
    ended(case, begin(case, text), 1)
    case.pawl("show", "r", "--all", status=0)
    case.write("go", "")
    resume(case)
    equal(len(case.log()), 2)


def long_ids_of_children_six_deep_run(case):
    """Child workflows that are called by steps with the longest ids run six deep."""
    case.env["TOP"] = case.folder
    for level in range(1, 6):
        case.write(f"w{level}.yaml", f"steps:\n- {{id: {ID}, workflow: w{level + 1}.yaml}}\n")
    case.write("w6.yaml", f"steps:\n- {{id: {ID}, run: 'echo deep >> $TOP/log'}}\n")
    case.pawl("check", "w1.yaml", status=0)
    ended(case, case.start("run", "w1.yaml", "--run-id", "r"), 0)
    equal((case.log(), case.state()["status"]), (["deep"], "completed"))


def a_long_id_in_a_worktree_runs(case):
    """An item with the longest ids runs in its own worktree."""

    for command in (["init", "-q", "-b", "main"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *command], cwd=case.folder, check=True)
    case.env["TOP"] = case.folder
    text = _deep(4, ["map: {items: [0]}"]).replace("map: {items: [0]}", "map: {items: [0]}\n  isolate: worktree", 1)
    ended(case, begin(case, text), 0)
    equal(len(case.log()), 1)


main(globals())
