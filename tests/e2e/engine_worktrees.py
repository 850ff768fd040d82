#!/usr/bin/env python3
"""Tests `isolate: worktree` with real git: one tree per item, merged once, in item order.

  engine_worktrees.py PAWL [name of a test]...
"""
import json
import os
import random
import signal
import subprocess
import time

from engine_case import begin, ended, exists, log_until, main, resume
from workflow_case import equal, holds, wait_for

PERSON = {f"GIT_{role}_{what}": "t@t" if what == "EMAIL" else "t" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def _git(case, *args):
    return subprocess.run(["git", *args], cwd=case.folder, env={**os.environ, **PERSON}, capture_output=True, text=True, check=True).stdout


def _repository(case, **files):
    """Makes the folder of the case a repository with a first commit. What the tests write beside it is ignored."""
    case.write(".gitignore", "/store\n/xdg\n/*.yaml\n/log*\n/go*\n/held*\n/bin\n/order\n/step.sh\n.gitignore\n")
    for name, text in {"base": "base\n", **files}.items():
        case.write(name, text)
    _git(case, "init", "-q", "-b", "main")
    _git(case, "add", ".")
    _git(case, "commit", "-q", "-m", "first")
    case.env["TOP"] = case.folder


def _files(case):
    return sorted(set(_git(case, "ls-tree", "-r", "--name-only", "HEAD").split()) - {"base"})


def _changes(case):
    """Returns, oldest first, the files that each commit after the first one adds. Merge commits add nothing."""
    commits = _git(case, "rev-list", "--reverse", "--no-merges", "HEAD").split()[1:]
    return [sorted(_git(case, "show", "--name-only", "--format=", commit).split()) for commit in commits]


def _is_clean(case):
    equal(_git(case, "status", "--porcelain"), "")
    equal(_git(case, "branch", "--show-current"), "main\n")


def an_item_is_merged_once_and_items_in_order(case):
    """Each item makes one commit with everything its steps have changed; the commits are in the order of the items."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0, 1, 2], parallel: 3}
        isolate: worktree
        steps:
        - {id: one, run: 'test ${item} != 0 || sleep 0.5; echo > one-${item}'}
        - {id: two, run: 'test -e one-${item}; echo > two-${item}'}
    """), 0)
    equal(_changes(case), [["one-0", "two-0"], ["one-1", "two-1"], ["one-2", "two-2"]])
    _is_clean(case)


def nothing_is_on_the_branch_before_the_item_ends(case):
    """While a later step of an item runs, what its first step has changed is not on the branch."""
    _repository(case)
    process = begin(case, """
      steps:
      - id: m
        map: {items: [0]}
        isolate: worktree
        steps:
        - {id: one, run: 'echo > one'}
        - {id: two, run: 'echo two >> $TOP/log; while [ ! -e $TOP/go ]; do sleep 0.02; done; echo > two'}
    """)
    log_until(case, "two")
    equal((_files(case), exists(case, "one")), ([], False))
    case.write("go", "")
    ended(case, process, 0)
    equal(_changes(case), [["one", "two"]])


def a_dead_lettered_item_leaves_nothing_on_the_branch(case):
    """Of an item that finally fails, not even the changes of its completed steps are on the branch."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0, 1, 2], on_item_failure: dlq}
        isolate: worktree
        steps:
        - {id: one, run: 'echo > one-${item}'}
        - {id: two, run: 'echo > two-${item}; [ ${item} != 1 ]'}
        - {id: three, run: 'echo > three-${item}'}
    """), 0)
    equal(_changes(case), [["one-0", "three-0", "two-0"], ["one-2", "three-2", "two-2"]])
    _is_clean(case)
    assert not exists(case, "one-1")


def the_inner_steps_of_a_dead_lettered_item_leave_nothing_on_the_branch(case):
    """The same for steps in a loop, in a map and under `on_failure` inside the item."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0, 1], on_item_failure: dlq}
        isolate: worktree
        steps:
        - {id: l, loop: {max: 1}, steps: [{id: s, run: 'echo > loop-${item}'}]}
        - {id: n, map: {items: [x]}, steps: [{id: s, run: 'echo > map-${item}'}]}
        - {id: last, run: 'false', on_failure: [{id: t, run: 'echo > failure-${item}'}]}
    """), 0)
    equal((_files(case), _changes(case)), ([], []))
    _is_clean(case)


def a_dead_lettered_item_is_merged_when_its_retry_succeeds(case):
    """`pawl dlq retry` continues in the tree of the item, and its end is merged as a whole."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0, 1], on_item_failure: dlq}
        isolate: worktree
        steps:
        - {id: one, run: 'echo one-${item} >> $TOP/log; echo > one-${item}'}
        - {id: two, run: '[ ${item} != 0 ] || [ -e $TOP/go ]; test -e one-${item}; echo > two-${item}'}
    """), 0)
    equal(_changes(case), [["one-1", "two-1"]])
    case.write("go", "")
    case.pawl("dlq", "retry", "r", status=0)
    equal(_changes(case), [["one-1", "two-1"], ["one-0", "two-0"]])
    equal(sorted(case.log()), ["one-0", "one-1"])
    _is_clean(case)


def a_loop_in_an_item_shares_its_tree(case):
    """The steps of a loop inside an item see and keep what the item has changed so far."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0]}
        isolate: worktree
        steps:
        - {id: one, run: 'echo > one'}
        - id: l
          loop: {max: 3}
          steps:
          - {id: s, run: 'test -e one; echo ${loop.iteration} >> lines'}
        - {id: last, run: 'wc -l < lines >> $TOP/log'}
    """), 0)
    equal((case.log(), _changes(case)), (["3"], [["lines", "one"]]))


def a_map_in_an_item_shares_its_tree(case):
    """The items of a map inside an item work in the tree of the outer item."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0]}
        isolate: worktree
        steps:
        - {id: one, run: 'echo > one'}
        - id: n
          map: {items: [1, 2]}
          steps:
          - {id: s, run: 'test -e one; echo > n-${item}'}
        - {id: last, run: 'test -e n-1; test -e n-2; echo > last'}
    """), 0)
    equal(_changes(case), [["last", "n-1", "n-2", "one"]])


def a_second_root_in_an_item_shares_its_tree(case):
    """Steps of an item that run at the same time all run in its tree, from their first moment."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0, 1], parallel: 2}
        isolate: worktree
        steps:
        - {id: one, run: 'pwd >> $TOP/log-${item}; echo > one-${item}'}
        - {id: two, needs: [], run: 'pwd >> $TOP/log-${item}; git rev-parse --is-inside-work-tree > /dev/null; echo > two-${item}'}
        - {id: three, needs: [], run: 'pwd >> $TOP/log-${item}; echo > three-${item}'}
    """), 0)
    equal(_changes(case), [["one-0", "three-0", "two-0"], ["one-1", "three-1", "two-1"]])
    places = [set(case.log(f"log-{number}")) for number in range(2)]
    equal([len(place) for place in places], [1, 1])
    assert not places[0] & places[1]


def on_failure_in_an_item_shares_its_tree(case):
    """The `on_failure` steps of an item's step see what the failed step has left, and a rescue keeps it."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0]}
        isolate: worktree
        steps:
        - {id: one, run: 'echo > one'}
        - id: two
          run: 'echo > half; false'
          on_failure: [{id: mend, run: 'test -e one; test -e half; echo > mended'}]
          rescue: true
        - {id: three, run: 'test -e half; test -e mended'}
    """), 0)
    equal(_changes(case), [["half", "mended", "one"]])


def a_retried_first_step_starts_from_a_clean_tree(case):
    """A retry of the first step does not see what its failed attempt has left."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0]}
        isolate: worktree
        steps:
        - {id: one, retry: {attempts: 2, backoff: 1ms}, run: 'test ! -e half; echo > half; [ $PAWL_ATTEMPT = 2 ]'}
    """), 0)
    equal(_changes(case), [["half"]])


def a_retried_later_step_keeps_what_the_steps_before_have_done(case):
    """A retry of a later step starts from what the completed steps of the item have left, and from nothing else."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0]}
        isolate: worktree
        steps:
        - {id: one, run: 'echo > one'}
        - {id: two, retry: {attempts: 2, backoff: 1ms}, run: 'test -e one; test ! -e half; echo > half; [ $PAWL_ATTEMPT = 2 ]'}
    """), 0)
    equal(_changes(case), [["half", "one"]])


# Manual merges.

MANUAL = """
  steps:
  - id: m
    map: {items: [0, 1, 2], on_item_failure: dlq}
    isolate: worktree
    merge: manual
    steps:
    - {id: one, run: 'echo change ${item} > file-${item}'}
    - {id: two, run: '[ ${item} != 1 ]; echo > two-${item}'}
"""


def _branches(case):
    """Returns the files that each branch but `main` adds, by its name."""
    names = [line for line in _git(case, "branch", "--format=%(refname:short)").splitlines() if line != "main"]
    return {name: sorted(set(_git(case, "ls-tree", "-r", "--name-only", name).split()) - {"base"}) for name in names}


def _merged_nothing(case):
    equal((_files(case), _changes(case)), ([], []))
    equal(len(_git(case, "worktree", "list").splitlines()), 1)
    _is_clean(case)


def a_manual_merge_keeps_a_branch_per_item(case):
    """With `merge: manual` nothing is merged: each completed item leaves a branch with one commit for review."""
    _repository(case)
    said = ended(case, begin(case, MANUAL), 0)
    equal((_files(case), exists(case, "file-0")), ([], False))
    branches = _branches(case)
    equal(branches, {"pawl/r/m-0": ["file-0", "two-0"], "pawl/r/m-2": ["file-2", "two-2"]})
    for text in (said, case.pawl("show", "r", "--all").stdout, case.pawl("show", "r", "--json", "--all").stdout,
                 case.pawl("handoff", "r").stdout):
        holds(text, *branches)
    listed = json.loads(case.pawl("show", "r", "--json", "--all").stdout)["branches"]
    equal(listed, [{"branch": name, "step": "m"} for name in sorted(branches)])
    equal([each["branch"] for each in json.loads(case.pawl("handoff", "r", "--json").stdout)["branches"]], sorted(branches))
    for branch in sorted(branches):
        _git(case, "merge", "-q", "--no-edit", branch)
    equal(_files(case), ["file-0", "file-2", "two-0", "two-2"])


def an_item_without_changes_keeps_no_branch(case):
    """An item that changes nothing leaves no branch, and no event if there is no other."""
    _repository(case)
    said = ended(case, begin(case, """
      steps:
      - id: m
        map: {items: [0, 1]}
        isolate: worktree
        merge: manual
        steps: [{id: s, run: 'true'}]
    """), 0)
    equal((_branches(case), "review" in said), ({}, False))
    assert "branches" not in json.loads(case.pawl("show", "r", "--json", "--all").stdout)
    _merged_nothing(case)


def a_plain_step_keeps_a_branch(case):
    """A run step with `merge: manual` keeps one branch, also when it has committed its changes itself."""
    _repository(case)
    said = ended(case, begin(case, """
      steps:
      - {id: one, run: 'echo > file', isolate: worktree, merge: manual}
      - {id: two, run: 'echo > own; git add own; git -c user.name=t -c user.email=t@t commit -q -m own', isolate: worktree, merge: manual}
      - {id: none, run: 'true', isolate: worktree, merge: manual}
      - {id: auto, run: 'echo > auto', isolate: worktree, merge: auto}
    """), 0)
    equal(_branches(case), {"pawl/r/one": ["file"], "pawl/r/two": ["own"]})
    holds(said, "one: kept for review: pawl/r/one", "two: kept for review: pawl/r/two")
    equal(_changes(case), [["auto"]])


def the_items_of_a_map_in_a_map_keep_a_branch_each(case):
    """The path of a nested item becomes a valid name."""
    _repository(case)
    ended(case, begin(case, """
      steps:
      - id: outer
        map: {items: [a, b], parallel: 2}
        steps:
        - id: m
          map: {items: [0, 1], parallel: 2}
          isolate: worktree
          merge: manual
          steps: [{id: s, run: 'echo > file-${item}'}]
    """), 0)
    equal(_branches(case), {f"pawl/r/outer-{outer}.m-{inner}": [f"file-{inner}"] for outer in (0, 1) for inner in (0, 1)})
    _merged_nothing(case)


def a_run_id_that_git_refuses_becomes_a_valid_name(case):
    """The name of a branch can't contain two dots in a row or end with .lock."""
    _repository(case)
    case.write("workflow.yaml", "steps:\n- {id: s, run: 'echo > file', isolate: worktree, merge: manual}\n")
    for run in ("a..b", "c.lock", "d."):
        case.pawl("run", "--run-id", run, status=0)
    equal(sorted(_branches(case)), ["pawl/a.-b/s", "pawl/c.lock-/s", "pawl/d.-/s"])


def a_retried_dead_letter_keeps_its_branch(case):
    """A dead-lettered item leaves no branch before its retry succeeds, which is told again."""
    _repository(case)
    ended(case, begin(case, MANUAL.replace("[ ${item} != 1 ];", "[ ${item} != 1 ] || [ -e $TOP/go ];")), 0)
    equal(sorted(_branches(case)), ["pawl/r/m-0", "pawl/r/m-2"])
    case.write("go", "")
    case.pawl("dlq", "retry", "r", status=0)
    equal(_branches(case)["pawl/r/m-1"], ["file-1", "two-1"])
    equal(sorted(each["branch"] for each in json.loads(case.pawl("show", "r", "--json", "--all").stdout)["branches"]),
          ["pawl/r/m-0", "pawl/r/m-1", "pawl/r/m-2"])
    _merged_nothing(case)


def a_branch_in_the_way_loses_no_item(case):
    """Branches that Pawl did not create stay. The items fail, say why, and are kept once the branch is gone."""
    _repository(case)
    for name, why in (("pawl", "can't create branch 'pawl/r1/m-0' beside branch 'pawl'"),
                      ("pawl/r2", "can't create branch 'pawl/r2/m-0' beside branch 'pawl/r2'"),
                      ("pawl/r3/m-0", "branch 'pawl/r3/m-0' already exists")):
        run = why.split("/")[1]
        _git(case, "branch", name)
        case.write("workflow.yaml", MANUAL.replace("[0, 1, 2]", "[0]"))
        holds(case.pawl("run", "--run-id", run, status=0).stdout, why)
        holds(case.pawl("dlq", "list", run, status=0).stdout, "rename")
        equal(_branches(case)[name], [])
        _git(case, "branch", "-D", name)
        case.pawl("dlq", "retry", run, status=0)
        equal(_branches(case), {f"pawl/{run}/m-0": ["file-0", "two-0"]})
        _git(case, "branch", "-D", f"pawl/{run}/m-0")
        _merged_nothing(case)


def a_branch_in_the_way_of_a_failing_map_loses_no_item(case):
    """The same for a map that fails with its first item, and for a plain step: a resume keeps the branches."""
    _repository(case)
    _git(case, "branch", "pawl")
    process = begin(case, """
      steps:
      - id: m
        map: {items: [0, 1]}
        isolate: worktree
        merge: manual
        steps: [{id: s, run: 'echo ${item} >> $TOP/log; echo > file-${item}'}]
      - {id: p, run: 'echo > file', isolate: worktree, merge: manual}
    """)
    holds(ended(case, process, 1), "beside branch 'pawl'")
    _git(case, "branch", "-D", "pawl")
    resume(case)
    equal(_branches(case), {"pawl/r/m-0": ["file-0"], "pawl/r/m-1": ["file-1"], "pawl/r/p": ["file"]})
    _merged_nothing(case)


# Kills.

MANY = f"""
  grace: 200ms
  steps:
  - id: m
    map: {{items: {list(range(6))}, parallel: 3}}
    isolate: worktree
    steps:
    - {{id: one, run: 'echo one-${{item}} >> $TOP/log; echo > one-${{item}}'}}
    - {{id: two, run: 'echo > two-${{item}}'}}
  - {{id: after, run: 'ls | grep -c "^one-" >> $TOP/order'}}
"""


def _finished_after(case, run):
    for _ in range(3):
        done = case.pawl("resume", run, timeout=60)
        if done.returncode == 0 or "is completed" in done.stderr:
            break
    assert done.returncode == 0 or "is completed" in done.stderr, f"{run} can't go on after a kill:\n{done.stderr}"
    equal((run, _files(case)), (run, sorted(f"{name}-{number}" for name in ("one", "two") for number in range(6))))
    equal((run, _changes(case)), (run, [[f"one-{number}", f"two-{number}"] for number in range(6)]))
    _is_clean(case)


def a_kill_at_any_time_leaves_a_run_that_can_go_on(case):
    """After a kill at a random time, a resume completes the run: every item is merged once, in order."""
    chance = random.Random(13)
    _repository(case)
    case.write("workflow.yaml", MANY)
    first = _git(case, "rev-parse", "HEAD").strip()
    for number in range(10):
        _git(case, "reset", "-q", "--hard", first)
        process = begin(case, MANY.replace("grace: 200ms", f"grace: 200ms\n  name: k{number}")) if number == 0 else \
            case.start("run", "--run-id", f"k{number}")
        run = "r" if number == 0 else f"k{number}"
        time.sleep(chance.uniform(0.02, 0.5))
        process.kill()
        process.wait()
        if case.pawl("restore", run).returncode != 0:
            continue  # killed before its first save
        _finished_after(case, run)


# The real git, which hangs at the N-th call that takes a lock, with the lock in place.
HANGING_GIT = """
  for word in "$@"; do
    case "$word" in
      add|commit|cherry-pick|merge|reset|worktree|update-ref|checkout|branch|read-tree|apply|am|rebase) taking=1 ;;
    esac
  done
  if [ -n "$taking" ] && [ ! -e $TOP/held ]; then
    echo x >> $TOP/held-count
    if [ "$(wc -l < $TOP/held-count)" = "$HOLD_AT" ]; then
      where="."
      [ "$1" = -C ] && where="$2"
      folder=$(PATH=$REAL_PATH git -C "$where" rev-parse --absolute-git-dir)
      : > "$folder/index.lock"
      echo "$@" > $TOP/held.new
      mv $TOP/held.new $TOP/held
      sleep 60
    fi
  fi
  PATH=$REAL_PATH exec git "$@"
"""


def locks_that_a_killed_git_left_do_not_stop_the_run(case):
    """A kill while git holds the lock of an index leaves the lock behind. A resume cleans or avoids it."""
    _repository(case)
    os.mkdir(os.path.join(case.folder, "bin"))
    case.script("bin/git", HANGING_GIT)
    case.write("workflow.yaml", MANY.replace(str(list(range(6))), str([0, 1])).replace("parallel: 3", "parallel: 1"))
    first = _git(case, "rev-parse", "HEAD").strip()
    held = 0
    for number in range(1, 13):
        _git(case, "reset", "-q", "--hard", first)
        for name in ("held", "held-count"):
            if exists(case, name):
                os.remove(os.path.join(case.folder, name))
        env = {**case.env, "REAL_PATH": os.environ["PATH"], "PATH": f"{case.folder}/bin:{os.environ['PATH']}", "HOLD_AT": str(number)}
        process = subprocess.Popen([case.program, "run", "--run-id", f"h{number}"], cwd=case.folder, env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        case.started.append(process)
        wait_for(lambda process=process: exists(case, "held") or process.poll() is not None, "git or the end of the run")
        if not exists(case, "held"):
            equal(process.wait(), 0)
            break  # git was not called that often
        held += 1
        process.kill()
        process.wait()
        call = case.log("held")[0]
        for _ in range(2):
            done = case.pawl("resume", f"h{number}", timeout=60)
        assert done.returncode == 0 or "is completed" in done.stderr, f"after a kill within `git {call}` (call {number}):\n{done.stderr}"
        equal((number, call, _changes(case)), (number, call, [["one-0", "two-0"], ["one-1", "two-1"]]))
        _is_clean(case)
    assert held >= 3, "git was hardly called"


def a_kill_while_a_branch_is_kept_leaves_a_run_that_can_go_on(case):
    """After a kill within any command of git, a resume keeps the branches of all items and of a step, and names them."""
    _repository(case)
    os.mkdir(os.path.join(case.folder, "bin"))
    case.script("bin/git", HANGING_GIT)
    case.write("workflow.yaml", """
      steps:
      - id: m
        map: {items: [0, 1]}
        isolate: worktree
        merge: manual
        steps: [{id: s, run: 'echo > file-${item}'}]
      - {id: p, run: 'echo > file', isolate: worktree, merge: manual}
    """)
    held = set()
    for number in range(1, 40):
        for name in ("held", "held-count"):
            if exists(case, name):
                os.remove(os.path.join(case.folder, name))
        run = f"h{number}"
        env = {**case.env, "REAL_PATH": os.environ["PATH"], "PATH": f"{case.folder}/bin:{os.environ['PATH']}", "HOLD_AT": str(number)}
        process = subprocess.Popen([case.program, "run", "--run-id", run], cwd=case.folder, env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        case.started.append(process)
        wait_for(lambda process=process: exists(case, "held") or process.poll() is not None, "git or the end of the run")
        if not exists(case, "held"):
            equal(process.wait(), 0)
            break  # git was not called that often
        process.kill()
        process.wait()
        call = case.log("held")[0]
        held.update(call.split())
        for _ in range(2):
            done = case.pawl("resume", run, timeout=60)
        assert done.returncode == 0 or "is completed" in done.stderr, f"after a kill within `git {call}` (call {number}):\n{done.stderr}"
        wanted = {f"pawl/{run}/m-0": ["file-0"], f"pawl/{run}/m-1": ["file-1"], f"pawl/{run}/p": ["file"]}
        equal((number, call, {name: files for name, files in _branches(case).items() if f"/{run}/" in name}), (number, call, wanted))
        told = [each["branch"] for each in json.loads(case.pawl("show", run, "--json", "--all").stdout)["branches"]]
        equal((number, call, sorted(told)), (number, call, sorted(wanted)))
        _merged_nothing(case)
    assert {"branch", "commit"} <= held and "remove" in held, f"killed only within {held}"


def an_interrupt_while_git_works_leaves_a_run_that_can_go_on(case):
    """The same with SIGINT instead of a kill, at random times."""
    chance = random.Random(14)
    _repository(case)
    case.write("workflow.yaml", MANY)
    first = _git(case, "rev-parse", "HEAD").strip()
    for number in range(5):
        _git(case, "reset", "-q", "--hard", first)
        process = case.start("run", "--run-id", f"i{number}")
        time.sleep(chance.uniform(0.02, 0.5))
        process.send_signal(signal.SIGINT)
        ended(case, process, run=f"i{number}")
        if case.pawl("restore", f"i{number}").returncode == 0:
            _finished_after(case, f"i{number}")


def a_completed_map_is_not_merged_again_by_a_resume(case):
    """A resume after a later failure does not merge the items of a completed map again."""
    _repository(case)
    ended(case, begin(case, MANY + "  - {id: last, run: '[ -e go ]'}\n"), 1)
    before = _git(case, "rev-parse", "HEAD")
    case.write("go", "")
    resume(case)
    equal((_git(case, "rev-parse", "HEAD"), case.log("order")), (before, ["6"]))


main(globals())
