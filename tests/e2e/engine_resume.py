#!/usr/bin/env python3
"""Tests that a resume runs what is left, and only that, and that it can succeed, with the real program.

  engine_resume.py PAWL [name of a test]...
"""
import json
import os
import signal
import time

from engine_case import appears, begin, ended, kill, log_until, main, resume, shown
from workflow_case import equal, holds, wait_for

ADD_TWO = '{"add_steps": [{"id": "x", "run": "echo x >> log"}, {"id": "y", "run": "echo y >> log"}]}'


# What runs again.

def the_loop_of_a_failed_item_continues_in_its_iteration(case):
    """Completed iterations of a loop inside a failed item are not run again."""
    case.run("""
      steps:
      - id: m
        map: {items: [a]}
        steps:
        - id: l
          loop: {max: 3}
          steps:
          - {id: s, run: 'echo $PAWL_STEP >> log; [ ${loop.iteration} != 2 ] || [ -e go ]'}
    """, status=1)
    case.write("go", "")
    resume(case)
    equal(case.log(), ["m[0].l[1].s", "m[0].l[2].s", "m[0].l[2].s", "m[0].l[3].s"])


def the_map_of_a_failed_item_continues_with_its_items(case):
    """Completed items of a map inside a failed item are not run again."""
    case.run("""
      steps:
      - id: m
        map: {items: [a]}
        steps:
        - id: n
          map: {items: [0, 1, 2]}
          steps:
          - {id: s, run: 'echo $PAWL_STEP >> log; [ ${item} != 1 ] || [ -e go ]'}
    """, status=1)
    case.write("go", "")
    resume(case)
    equal(case.log(), ["m[0].n[0].s", "m[0].n[1].s", "m[0].n[1].s", "m[0].n[2].s"])


def the_iteration_of_an_item_in_a_loop_in_an_item_continues(case):
    """A map in a loop in a map: the steps of each failed tree that were completed are not run again."""
    case.run("""
      steps:
      - id: m
        map: {items: [a, b], on_item_failure: dlq}
        steps:
        - {id: first, run: 'echo $PAWL_STEP >> log'}
        - id: l
          loop: {max: 2}
          steps:
          - {id: t, run: 'echo $PAWL_STEP >> log'}
          - id: n
            map: {items: [0, 1]}
            steps:
            - {id: s, run: 'echo $PAWL_STEP >> log; [ $PAWL_STEP != "m[1].l[2].n[1].s" ] || [ -e go ]'}
      - {id: last, run: '[ -e go ]'}
    """, status=1)
    before = case.log()
    equal(before[-1], "m[1].l[2].n[1].s")
    case.write("go", "")
    case.pawl("dlq", "retry", "r", "m", status=0)
    equal(case.log()[len(before):], ["m[1].l[2].n[1].s"])


def a_loop_at_its_maximum_gets_no_more_iterations(case):
    """`max` counts over all resumes: a loop that has used it fails again without another iteration."""
    case.run("steps:\n- {id: l, loop: {max: 2, until: 'false'}, steps: [{id: s, run: 'echo x >> log'}]}\n", status=1)
    equal(len(case.log()), 2)
    for _ in range(2):
        holds(resume(case, status=1), "2 iterations")
    equal(len(case.log()), 2)


def a_loop_that_fails_in_its_last_iteration_repeats_only_that(case):
    """A loop that failed within its last iteration repeats that iteration and gets no other."""
    case.run("steps:\n- {id: l, loop: {max: 3, until: 'false'}, steps: [{id: s, run: 'echo ${loop.iteration} >> log; [ ${loop.iteration} != 3 ] || [ -e go ]'}]}\n", status=1)
    case.write("go", "")
    resume(case, status=1)
    resume(case, status=1)
    equal(case.log(), ["1", "2", "3", "3"])


def added_steps_stay_completed_when_changes_are_accepted(case):
    """Steps that were added by a step and are completed do not run again after --accept-changes."""
    text = f"""
      steps:
      - {{id: plan, run: 'echo plan >> log; cat add >> $PAWL_RESULT'}}
      - {{id: last, run: 'echo last >> log; %s'}}
    """
    case.write("add", ADD_TWO + "\n")
    case.run(text % "false", status=1)
    case.write("workflow.yaml", text % "true")
    resume(case, "--accept-changes")
    equal(case.log(), ["plan", "x", "y", "last", "last"])


def a_step_that_exits_with_0_because_it_was_told_to_stop_is_not_completed(case):
    """An attempt that an interrupt told to stop is not completed, whatever its exit code; a resume runs it again."""
    for name in ("INT", "TERM", "HUP"):
        case.write("workflow.yaml", f"""
          steps:
          - {{id: a, run: 'echo a >> {name}; [ -e go-{name} ] && exit 0; trap "exit 0" TERM; touch runs-{name}; while :; do sleep 0.05; done'}}
          - {{id: b, run: 'echo b >> {name}'}}
        """)
        process = case.start("run", "--run-id", name)
        appears(case, f"runs-{name}")
        process.send_signal(getattr(signal, "SIG" + name))
        ended(case, process, 130, run=name)
        equal(case.steps(name), {"a": "interrupted"})
        case.write(f"go-{name}", "")
        resume(case, run=name)
        equal(case.log(name), ["a", "a", "b"])


LISTED = """
  steps:
  - {id: first, run: 'true'}
  - {id: list, run: cat %s, capture: {format: json}}
  - id: m
    map: {items: "${steps.list.output}"}
    steps:
    - {id: one, run: 'echo one ${item} >> log; echo ${item}', capture: {format: text}}
    - {id: two, run: 'echo two ${item} ${steps.one.output} >> log; [ ${item} != bad ] || [ -e go ]; echo out ${item}', capture: {format: text}}
  - {id: use, run: '[ -e go ]; echo "${steps.m.output}" > result'}
"""


def _results(case):
    with open(os.path.join(case.folder, "result")) as result:
        return [(row["index"], row["item"], row["status"], row["output"]) for row in json.load(result)]


def a_map_after_a_rollback_has_only_the_items_that_exist(case):
    """After a rollback, the result of a map contains its present items and nothing of the items before."""
    case.write("items", '["x", "y", "z"]')
    case.run(LISTED % "items", status=1)
    case.pawl("rollback", "r@step:first", "--accept-rerun", status=0)  # `list` had not run yet
    case.write("items", '["v", "y"]')
    case.write("go", "")
    resume(case)
    equal(_results(case), [(0, "v", "completed", "out v"), (1, "y", "completed", "out y")])


def a_map_with_fewer_items_puts_out_only_those(case):
    """After --accept-changes, the result of a map contains its present items, each with its own output."""
    listed = LISTED.replace('"${steps.list.output}"', "%s") % ("items", "%s")
    case.write("items", "[]")
    case.run(listed % "[x, y, z]", status=1)
    case.write("workflow.yaml", listed % "[x, z]")
    case.write("go", "")
    resume(case, "--accept-changes")
    equal(case.log().count("one z"), 2)
    equal(_results(case), [(0, "x", "completed", "out x"), (1, "z", "completed", "out z")])


def a_map_whose_items_are_in_another_order_uses_none_of_the_old_results(case):
    """An item is identified by its index and its content: a result of another item at that index does not count."""
    case.write("items", '["x", "y", "z", "bad"]')
    case.write("other", '["z", "y", "x", "bad", "w"]')
    case.run(LISTED % "items", status=1)
    case.write("workflow.yaml", LISTED % "other")
    case.write("go", "")
    resume(case, "--accept-changes")
    equal(_results(case), [(index, item, "completed", f"out {item}") for index, item in enumerate(["z", "y", "x", "bad", "w"])])
    equal([case.log().count(f"one {item}") for item in ("x", "y", "z", "w")], [2, 1, 2, 1])


def the_record_of_a_removed_item_is_not_used_for_another(case):
    """The failed item `bad` is replaced by another at the same index, which runs from its first step."""
    case.write("items", '["x", "bad"]')
    case.write("other", '["x", "d"]')
    case.run(LISTED % "items", status=1)
    case.write("workflow.yaml", LISTED % "other")
    case.write("go", "")
    resume(case, "--accept-changes")
    equal(_results(case), [(0, "x", "completed", "out x"), (1, "d", "completed", "out d")])
    equal([line for line in case.log() if " d" in line], ["one d", "two d d"])
    equal([line for line in case.log() if " x" in line], ["one x", "two x x"])


def a_child_does_not_adopt_a_run_of_the_same_name(case):
    """A run that happens to be called RUN.STEP is nobody's child; it is neither resumed nor taken for the child."""
    case.write("other.yaml", "steps:\n- {id: g, approve: 'Go?'}\n- {id: o, run: 'echo other >> log'}\n")
    case.write("child.yaml", "steps:\n- {id: s, run: 'echo child >> log; echo mine', capture: {format: text}}\noutputs: {x: '${steps.s.output}'}\n")
    case.pawl("run", "other.yaml", "--run-id", "r.c", status=3)
    ended(case, begin(case, "steps:\n- {id: c, workflow: child.yaml}\n"), 0)
    equal(case.log(), ["child"])
    equal(case.output("c"), {"x": "mine"})
    equal(case.state("r.c")["status"], "waiting")
    assert "parent" not in shown(case, "r.c")
    equal(shown(case, case.state()["steps"]["c"]["child"])["parent"], {"run": "r", "step": "c"})


def a_child_of_another_run_is_not_adopted(case):
    """A child that belongs to another step is not taken over, even if it is unfinished and has the right name."""
    case.write("child.yaml", "steps:\n- {id: g, approve: 'Go?'}\n- {id: s, run: 'echo $PAWL_RUN_UUID >> log'}\n")
    case.write("workflow.yaml", "steps:\n- {id: b.c, workflow: child.yaml}\n".replace("b.c", "c"))
    case.pawl("run", "--run-id", "r.b", status=3)  # its child is r.b.c
    case.write("nested.yaml", "steps:\n- {id: c, workflow: child.yaml}\n")
    done = begin(case, "steps:\n- {id: b, workflow: nested.yaml}\n")  # its grandchild would be called r.b.c as well
    ended(case, done, 3)
    equal(shown(case, "r.b.c")["parent"], {"run": "r.b", "step": "c"})
    child = case.state()["steps"]["b"]["child"]
    assert child != "r.b", "the run r.b was adopted"


def always_steps_stay_completed(case):
    """A completed `always()` step is not repeated by a resume."""
    case.run("steps:\n- {id: a, run: '[ -e go ]'}\n- {id: tidy, when: always(), run: echo tidy >> log}\n", status=1)
    equal(case.log(), ["tidy"])
    case.write("go", "")
    resume(case)
    equal(case.log(), ["tidy"])


# Resumes that must be able to succeed.

def the_time_between_executions_does_not_count_as_total_timeout(case):
    """`total_timeout` counts only while a process drives the run."""
    process = begin(case, "steps:\n- {id: a, total_timeout: 4s, run: 'echo x >> log; [ -e go ] || sleep 60'}\n")
    log_until(case, "x")
    kill(process)
    time.sleep(5)
    case.write("go", "")
    resume(case)
    equal(case.log(), ["x", "x"])


def a_step_that_reported_much_progress_starts_again(case):
    """Progress of more than 128 KiB does not keep the next attempt from starting."""
    text = """
      retry: {attempts: 2, backoff: 1ms}
      steps:
      - id: a
        run: |
          echo $PAWL_ATTEMPT >> log
          [ $PAWL_ATTEMPT = 1 ] || exit 0
          { printf '{"progress": "'; head -c 300000 /dev/zero | tr '\\000' x; printf '"}\\n'; } >> $PAWL_RESULT
          exit 1
    """
    ended(case, begin(case, text), 0)
    equal(case.log(), ["1", "2"])


def a_killed_step_that_reported_much_progress_starts_again(case):
    """The same after a crash: the progress that was left behind does not keep the step from starting."""
    process = begin(case, """
      steps:
      - id: a
        run: |
          echo x >> log
          [ ! -e go ] || exit 0
          { printf '{"progress": "'; head -c 300000 /dev/zero | tr '\\000' x; printf '"}\\n'; } >> $PAWL_RESULT
          touch reported
          sleep 60
    """)
    appears(case, "reported")
    process.send_signal(signal.SIGUSR1)
    wait_for(lambda: "partial" in case.state()["steps"].get("a", {}), "the checkpoint with the progress")
    kill(process)
    case.write("go", "")
    resume(case)
    equal(case.log(), ["x", "x"])


def a_child_whose_values_changed_runs_again(case):
    """A completed child whose `with` has changed since runs again with the new values."""
    case.write("child.yaml", "vars: {n: null}\nsteps:\n- {id: s, run: 'echo ${vars.n} >> log; echo ${vars.n}', capture: {format: text}}\noutputs: {n: '${steps.s.output}'}\n")
    text = "steps:\n- {id: c, workflow: child.yaml, with: {n: %s}}\n- {id: b, run: '[ -e go ]; echo got ${steps.c.output.n} >> log'}\n"
    case.run(text % "one", status=1)
    case.write("workflow.yaml", text % "two")
    case.write("go", "")
    resume(case, "--accept-changes")
    equal(case.log(), ["one", "two", "got two"])


def a_failed_child_whose_values_changed_gets_the_new_ones(case):
    """A failed child whose `with` has changed since is not continued with the old values."""
    case.write("child.yaml", "vars: {n: null}\nsteps:\n- {id: s, run: 'echo ${vars.n} >> log; [ ${vars.n} = two ]'}\n")
    text = "steps:\n- {id: c, workflow: child.yaml, with: {n: %s}}\n"
    case.run(text % "one", status=1)
    case.write("workflow.yaml", text % "two")
    resume(case, "--accept-changes")
    equal(case.log(), ["one", "two"])


def a_variable_that_was_added_to_the_file_has_its_default(case):
    """After --accept-changes, a new variable has its default, and the old ones have the values of the run."""
    case.run("vars: {old: null}\nsteps:\n- {id: a, run: 'false'}\n", "--var", "old=given", status=1)
    case.write("workflow.yaml", "vars: {old: null, new: fresh}\nsteps:\n- {id: a, run: 'echo ${vars.old} ${vars.new} >> log'}\n")
    resume(case, "--accept-changes")
    equal(case.log(), ["given fresh"])


def a_required_variable_that_was_added_is_refused_with_its_name(case):
    """A new variable without a default can't have a value: the resume is refused and says which one it is."""
    case.run("steps:\n- {id: a, run: 'false'}\n", status=1)
    case.write("workflow.yaml", "vars: {new: null}\nsteps:\n- {id: a, run: 'echo ${vars.new} >> log'}\n")
    done = case.pawl("resume", "r", "--accept-changes")
    assert done.returncode in (2, 4), f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    holds(done.stderr, "new", "hint:")
    equal(case.log(), [])


def a_large_map_does_not_fail_steps_that_do_not_use_it(case):
    """The results of a map without `reduce` may exceed 64 MiB as long as no step asks for them."""
    ended(case, begin(case, """
      steps:
      - {id: m, map: {items: "${vars.items}", parallel: 4}, steps: [{id: s, run: "head -c 1000000 /dev/zero | tr '\\\\0' x", capture: {format: text}}]}
      - {id: a, run: 'echo a >> log'}
      - {id: n, map: {items: [1]}, steps: [{id: s, run: 'echo n >> log'}]}
      - {id: c, run: 'echo ${steps.a.status} >> log'}
      vars: {items: %s}
    """ % json.dumps(list(range(72)))), 0, seconds=120)
    equal(case.log(), ["a", "n", "completed"])


def a_run_that_was_killed_at_its_end_is_completed_once(case):
    """A kill right after the last step leaves a run that a resume completes without running anything again."""
    for number in range(5):
        case.write("workflow.yaml", f"steps:\n- {{id: a, run: 'echo a >> log{number}'}}\n- {{id: b, run: 'echo b >> log{number}; touch ended{number}'}}\n")
        process = case.start("run", "--run-id", f"k{number}")
        appears(case, f"ended{number}")
        time.sleep(0.002 * number)
        kill(process)
        completed = case.pawl("restore", f"k{number}").returncode == 0 and case.steps(f"k{number}").get("b") == "completed"
        done = case.pawl("resume", f"k{number}")
        assert done.returncode == 0 or "is completed" in done.stderr, done.stderr
        equal(case.log(f"log{number}").count("a"), 1)
        equal(case.log(f"log{number}").count("b"), 1 if completed else case.log(f"log{number}").count("b"))
        equal(case.steps(f"k{number}"), {"a": "completed", "b": "completed"})


main(globals())
