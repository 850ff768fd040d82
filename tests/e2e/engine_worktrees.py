#!/usr/bin/env python3
"""Tests `isolate: worktree` with real git: one tree per item, merged once, in item order.

  engine_worktrees.py PAWL [name of a test]...
"""
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
      echo "$@" > $TOP/held
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
