#!/usr/bin/env python3
"""Tests the rules of the workflow language, one test per rule, with the real program and real shells.

  workflow_rulings.py PAWL [name of a test]...
"""
import json
import os
import re
import signal
import time

from workflow_case import equal, holds, run_tests, wait_for


# Order and execution.

def order_without_needs_is_that_of_the_file(case):
    case.run("steps:\n- {id: a, run: sleep 0.1; echo a >> log}\n- {id: b, run: echo b >> log}\n")
    equal(case.log(), ["a", "b"])


def needs_empty_is_a_root(case):
    case.run("""
      steps:
      - {id: a, run: "while [ ! -e b.done ]; do sleep 0.01; done; echo a >> log"}
      - {id: b, needs: [], run: "echo b >> log; touch b.done"}
    """)
    equal(case.log(), ["b", "a"])


def needs_wait_for_those_siblings(case):
    case.run("""
      steps:
      - {id: a, run: sleep 0.1; echo a >> log}
      - {id: b, needs: [], run: sleep 0.2; echo b >> log}
      - {id: c, needs: [a, b], run: echo c >> log}
    """)
    equal(case.log()[2], "c")


def layers_get_a_checkpoint_when_they_complete(case):
    case.run("steps:\n- {id: a, run: 'true'}\n- {id: b, needs: [], run: 'true'}\n- {id: c, needs: [a, b], run: 'true'}\n")
    equal([event["data"]["layer"] for event in case.events("layer_completed")], [0, 1])


def stages_run_one_after_the_other(case):
    case.run("""
      stages:
      - {id: one, type: parallel, steps: [{id: a, run: sleep 0.1; echo 1 >> log}, {id: b, run: echo 1 >> log}]}
      - {id: meet, type: barrier}
      - {id: two, steps: [{id: c, run: echo 2 >> log}, {id: d, run: echo 3 >> log}]}
    """)
    equal(case.log(), ["1", "1", "2", "3"])
    kinds = [json.loads(line)["kind"] for line in case.pawl("show", "r", "--checkpoints", "--json").stdout.splitlines() if line.startswith("{")] or \
        [row["kind"] for row in json.loads(case.pawl("show", "r", "--checkpoints", "--json").stdout)]
    assert "barrier" in kinds and "stage_complete" in kinds, kinds


# Values.

def dollar_braces_of_the_shell_stay_the_shells(case):
    case.run("""
      vars: { a: one }
      steps:
      - id: a
        run: |
          X=two; echo "${vars.a} ${X} ${Y:-three}" '$${vars.a}'
        capture: {format: text}
    """)
    equal(case.output("a"), "one two three ${vars.a}")


def unknown_names_are_an_error_before_anything_runs(case):
    for text in ("${vars.nope}", "${steps.nope.output}", "${steps.a.nope}", "${index}"):
        done = case.run(f"steps:\n- {{id: a, run: touch ran}}\n- {{id: b, run: 'echo {text}'}}\n", status=2)
        holds(done.stderr, "workflow.yaml:")
    assert not os.path.exists(os.path.join(case.folder, "ran"))


def values_are_never_parsed_by_the_shell(case):
    evil = "$(touch pwned) `touch pwned`; touch pwned #\"' *"
    case.run("""
      vars: { v: null }
      steps:
      - {id: a, run: "printf '%s' ${vars.v}", capture: {format: text}}
      - {id: b, run: 'printf "%s" "<${vars.v}>"', capture: {format: text}}
      - {id: c, run: "printf '%s' 'x${vars.v}y'", capture: {format: text}}
      - {id: d, run: 'printf "%s" "$(printf "%s" "${vars.v}")"', capture: {format: text}}
    """, "--var", f"v={evil}")
    equal([case.output(step) for step in "abcd"], [evil, f"<{evil}>", f"x{evil}y", evil])
    assert not os.path.exists(os.path.join(case.folder, "pwned"))


def values_in_here_documents_are_refused(case):
    done = case.run("vars: {v: 1}\nsteps:\n- id: a\n  run: |\n    cat <<EOF\n    ${vars.v}\n    EOF\n", status=2)
    holds(done.stderr, "env")


def large_values_fail_clearly_before_spawning(case):
    done = case.run("""
      vars: { v: null }
      steps:
      - {id: make, run: "head -c 200000 /dev/zero | tr '\\\\0' x", capture: {format: text}}
      - {id: use, run: "echo ${steps.make.output}"}
      - {id: never, run: touch ran}
    """, "--var", "v=1", status=1)
    holds(done.stderr, "PAWL_INPUT")
    case2 = case.write("workflow.yaml", """
      steps:
      - {id: make, run: "head -c 200000 /dev/zero | tr '\\\\0' x", capture: {format: text}}
      - {id: use, run: "wc -c < $PAWL_INPUT", capture: {format: text}}
    """)
    case.pawl("run", case2, "--run-id", "r2", status=0)
    assert int(case.output("use", "r2")) > 200000


def expressions_are_typed_and_braces_optional(case):
    case.run("""
      vars: { n: 3 }
      steps:
      - {id: a, when: "${vars.n} > 2", run: 'true'}
      - {id: b, when: "vars.n > 2 && vars.n < 4", run: 'true'}
      - {id: c, when: "default(vars.n, 0) == 4", run: 'true'}
    """)
    equal(case.steps(), {"a": "completed", "b": "completed", "c": "skipped"})


def if_suggests_when(case):
    holds(case.run("steps:\n- {id: a, if: 1 == 1, run: 'true'}\n", status=2).stderr, "when")


def a_lone_value_keeps_its_type(case):
    case.run("""
      steps:
      - {id: a, run: "echo '[1, {\\"x\\": true}]'", capture: {format: json}}
      - {id: m, map: {items: "${steps.a.output}"}, steps: [{id: s, run: 'echo ${item}', capture: {format: text}}]}
      - {id: c, run: 'echo "<${steps.a.output}>"', capture: {format: text}}
    """)
    equal([event["data"]["output"] for event in case.events("item_completed")], ["1", '{"x":true}'])
    equal(case.output("c"), '<[1,{"x":true}]>')


# Capture.

def capture_sets_output_and_an_alias(case):
    case.run("steps:\n- {id: a, run: echo hi, capture: greeting}\n- {id: b, run: 'echo ${greeting} ${steps.a.output}', capture: {format: text}}\n")
    equal(case.output("b"), "hi hi")


def without_capture_the_output_is_null_unless_reported(case):
    case.run("""
      steps:
      - {id: a, run: echo hi}
      - {id: b, run: 'echo "{\\"output\\": {\\"x\\": 1}}" >> $PAWL_RESULT'}
    """)
    equal((case.output("a"), case.output("b")), (None, {"x": 1}))


def the_reported_output_wins_by_its_last_line(case):
    case.run("""
      steps:
      - id: a
        run: |
          echo '{"output": 1}' >> $PAWL_RESULT
          echo '{"output": 2}' >> $PAWL_RESULT
          echo printed
        capture: {format: text}
    """)
    equal(case.output("a"), 2)


def lines_of_failed_attempts_count_for_cost_not_for_output(case):
    case.run("""
      retry: {attempts: 2, backoff: 1ms}
      steps:
      - id: a
        run: |
          echo '{"output": "bad", "cost_usd": 0.5, "tokens": 10}' >> $PAWL_RESULT
          [ "$PAWL_ATTEMPT" = 2 ] || exit 1
          : > $PAWL_RESULT; echo '{"cost_usd": 0.25, "tokens": 5}' >> $PAWL_RESULT
    """)
    equal(case.output("a"), None)
    equal(case.state()["usage"], {"tokens": 15, "usd": 0.75})


def invalid_json_captured_fails_and_is_retried(case):
    done = case.run("retry: {attempts: 2, backoff: 1ms}\nsteps:\n- {id: a, run: 'echo a >> log; echo {oops', capture: {format: json}}\n", status=1)
    equal(len(case.log()), 2)
    holds(done.stderr, "JSON")


def captured_text_loses_one_newline_and_must_be_utf8(case):
    case.run("steps:\n- {id: a, run: 'printf \"x\\\\n\\\\n\"', capture: {format: text}}\n")
    equal(case.output("a"), "x\n")
    case.write("w2.yaml", "steps:\n- {id: a, run: 'printf \"\\\\377\"', capture: {format: text}}\n")
    holds(case.pawl("run", "w2.yaml", "--run-id", "r2", status=1).stderr, "UTF-8")
    case.write("w3.yaml", "steps:\n- {id: a, run: 'head -c 1100000 /dev/zero | tr \"\\\\0\" x', capture: {format: text}}\n")
    holds(case.pawl("run", "w3.yaml", "--run-id", "r3", status=1).stderr, "1100000")


# Shells.

def a_failing_first_line_fails_the_step(case):
    case.run("steps:\n- id: a\n  run: |\n    false\n    touch ran\n", status=1)
    assert not os.path.exists(os.path.join(case.folder, "ran"))


def bash_has_pipefail(case):
    case.run("steps:\n- {id: a, shell: bash, run: 'false | true'}\n", status=1)
    case.write("w2.yaml", "steps:\n- {id: a, run: 'false | true'}\n")
    case.pawl("run", "w2.yaml", "--run-id", "r2", status=0)


# Loops and maps.

def inner_paths_have_index_and_iteration(case):
    case.run("""
      steps:
      - {id: improve, loop: {max: 2}, steps: [{id: score, run: 'echo $PAWL_STEP $PAWL_IDEMPOTENCY_KEY >> log'}]}
      - {id: pages, map: {items: [a, b]}, steps: [{id: write, run: 'echo $PAWL_STEP $PAWL_IDEMPOTENCY_KEY >> log'}]}
    """)
    equal([line.split()[0] for line in case.log()], ["improve[1].score", "improve[2].score", "pages[0].write", "pages[1].write"])
    equal(len({line.split()[1] for line in case.log()}), 4)


def inner_ids_cannot_be_needed_from_outside(case):
    holds(case.run("steps:\n- {id: l, loop: {max: 1}, steps: [{id: x, run: 'true'}]}\n- {id: b, needs: [x], run: 'true'}\n", status=2).stderr, "x")


def until_sees_the_iterations_steps(case):
    case.run("""
      steps:
      - {id: l, loop: {max: 5, until: "steps.s.output >= 2"}, steps: [{id: s, run: 'echo ${loop.iteration}', capture: {format: json}}]}
      - {id: b, run: 'echo ${steps.l.output}', capture: {format: text}}
    """)
    equal(case.output("b"), "2")


def a_resumed_loop_does_not_run_more_often_than_its_max(case):
    case.write("w.yaml", """
name: w
steps:
  - id: l
    loop: { max: 3 }
    steps:
      - { id: z, run: "echo ${loop.iteration} of ${loop.max} >> log" }
      - { id: ok, approve: "go?" }
""")
    case.pawl("run", "w.yaml", "--run-id", "x", status=3)
    for left in (2, 1, 0):
        case.pawl("approve", "x", status=0)
        case.pawl("resume", "x", status=3 if left else 0)
    equal(case.log("log"), ["1 of 3", "2 of 3", "3 of 3"])
    # Failed in its second iteration.
    case.write("u.yaml", """
name: u
steps:
  - id: l
    loop: { max: 3 }
    steps:
      - { id: z, run: "echo ${loop.iteration} >> log3; test ${loop.iteration} != 2 || test -e go3" }
""")
    case.pawl("run", "u.yaml", "--run-id", "u", status=1)
    case.write("go3", "")
    case.pawl("resume", "u", status=0)
    equal(case.log("log3"), ["1", "2", "2", "3"])


def a_loop_that_reaches_its_max_fails_unless_told_otherwise(case):
    loop = "steps:\n- {id: l, loop: {max: 2, until: 'false'%s}, steps: [{id: s, run: 'true'}]}\n"
    case.run(loop % "", status=1)
    case.write("w2.yaml", loop % ", on_max: continue")
    case.pawl("run", "w2.yaml", "--run-id", "r2", status=0)


def map_results_are_in_index_order(case):
    case.run("""
      steps:
      - id: m
        map: {items: [3, 1, 2], parallel: 3, on_item_failure: dlq}
        steps: [{id: s, run: 'sleep 0.0${item}; [ ${item} != 1 ]; echo ${item}', capture: {format: json}}]
        reduce: {run: 'cat $PAWL_ITEMS; echo ${map.total} ${map.succeeded} ${map.failed}', capture: {format: lines}}
    """)
    lines = case.output("m")
    equal(lines[3], "3 2 1")
    rows = [json.loads(line) for line in lines[:3]]
    equal([(row["index"], row["item"], row["status"], row["output"]) for row in rows],
          [(0, 3, "completed", 3), (1, 1, "failed", None), (2, 2, "completed", 2)])
    assert rows[1]["error"]


def without_reduce_the_results_are_the_output(case):
    case.run("""
      steps:
      - {id: m, map: {items: [a, b]}, steps: [{id: s, run: 'echo ${item}', capture: {format: text}}]}
      - {id: n, run: 'echo ${steps.m.output[1].output}', capture: {format: text}}
    """)
    equal(case.output("n"), "b")


def max_failures_stops_new_starts(case):
    done = case.run("""
      steps:
      - id: m
        map: {items: [0, 1, 2, 3, 4, 5, 6, 7], on_item_failure: dlq, max_failures: 2}
        steps: [{id: s, run: 'echo ${item} >> log; false'}]
        reduce: {run: touch reduced}
    """, status=1)
    equal(len(case.log()), 3)
    assert not os.path.exists(os.path.join(case.folder, "reduced"))
    holds(done.stderr, "3 of 8")


def below_max_failures_the_map_completes(case):
    case.run("""
      steps:
      - id: m
        map: {items: [0, 1, 2, 3], on_item_failure: dlq, max_failures: 2}
        steps: [{id: s, run: '[ ${item} -gt 1 ]'}]
        reduce: {run: 'echo ${map.failed}', capture: {format: text}}
    """)
    equal(case.output("m"), "2")
    equal(case.state()["steps"]["m"]["map"]["failed"], "0-1")


def a_changed_items_file_is_refused_at_resume(case):
    case.write("items.jsonl", "1\n2\n3\n")
    case.run("steps:\n- {id: m, map: {items_from: items.jsonl}, steps: [{id: s, run: '[ ${item} != 2 ] || [ -e fixed ]'}]}\n", status=1)
    case.write("items.jsonl", "1\n2\n4\n")
    case.write("fixed", "")
    holds(case.pawl("resume", "r", status=4).stderr, "PAWL-0209")
    case.write("items.jsonl", "1\n2\n3\n")
    case.pawl("resume", "r")


def a_circuit_breaker_opens(case):
    done = case.run("""
      steps:
      - id: m
        map: {items: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], on_item_failure: dlq, circuit_breaker: {failures: 2, cool_down: 10ms, trips: 2}}
        steps: [{id: s, run: 'echo x >> log; false'}]
    """, status=1)
    equal(len(case.log()), 3)
    holds(done.stderr, "circuit")


# Skipping and failing.

def a_skipped_need_skips_its_dependents(case):
    case.run("""
      steps:
      - {id: a, when: "false", run: 'true'}
      - {id: b, needs: [a], run: 'true'}
      - {id: c, needs: [b], when: always(), run: 'echo "<${steps.a.output}>"', capture: {format: text}}
      - {id: d, run: 'true'}
    """)
    equal(case.steps(), {"a": "skipped", "b": "skipped", "c": "completed", "d": "completed"})
    equal(case.output("c"), "<null>")
    holds(case.state()["steps"]["b"]["reason"], "a")


def after_a_failure_running_steps_finish_and_none_start(case):
    case.run("""
      steps:
      - {id: a, needs: [], run: 'while [ ! -e b.runs ]; do sleep 0.01; done; false'}
      - {id: b, needs: [], run: touch b.runs; sleep 0.3; touch b.done}
      - {id: c, needs: [b], run: touch c.ran}
    """, status=1)
    assert os.path.exists(os.path.join(case.folder, "b.done")) and not os.path.exists(os.path.join(case.folder, "c.ran"))


def fail_fast_ends_running_steps(case):
    began = time.monotonic()
    case.run("""
      fail_fast: true
      grace: 1s
      steps:
      - {id: a, needs: [], run: 'while [ ! -e b.runs ]; do sleep 0.01; done; false'}
      - {id: b, needs: [], run: touch b.runs; sleep 30}
    """, status=1)
    assert time.monotonic() - began < 20


def continue_on_error_goes_on(case):
    case.run("steps:\n- {id: a, continue_on_error: true, run: exit 7}\n- {id: b, run: 'echo ${steps.a.status} ${steps.a.exit_code}', capture: {format: text}}\n")
    equal(case.output("b"), "failed 7")


def always_and_failed_steps_run_after_a_failure(case):
    case.run("""
      steps:
      - {id: a, run: 'false'}
      - {id: b, run: touch b.ran}
      - {id: c, when: failed(), run: echo c >> log}
      - {id: d, when: always(), run: echo d >> log}
    """, status=1)
    equal(case.log(), ["c", "d"])
    assert not os.path.exists(os.path.join(case.folder, "b.ran"))


def on_failure_runs_after_the_last_attempt_and_does_not_rescue(case):
    case.run("""
      steps:
      - {id: a, retry: {attempts: 2, backoff: 1ms}, run: 'echo a >> log; false', on_failure: [{id: tidy, run: 'echo tidy ${steps.a.error} >> log'}]}
      - {id: b, run: echo b >> log}
    """, status=1)
    equal(case.log(), ["a", "a", "tidy exit status 1"])


def rescue_makes_the_step_succeed(case):
    case.run("steps:\n- {id: a, run: 'false', on_failure: [{id: tidy, run: 'true'}], rescue: true}\n- {id: b, run: echo b >> log}\n")
    equal(case.log(), ["b"])


def the_workflows_on_failure_runs_at_the_end(case):
    case.run("steps:\n- {id: a, run: 'false'}\non_failure:\n- {id: page, run: echo page >> log}\n", status=1)
    equal(case.log(), ["page"])


# Retries.

def what_is_retried(case):
    case.run("""
      retry: {attempts: 2, backoff: 1ms}
      grace: 100ms
      steps:
      - {id: exit, continue_on_error: true, run: exit 3}
      - {id: timeout, continue_on_error: true, timeout: 50ms, run: sleep 5}
      - {id: signal, continue_on_error: true, run: kill -9 $$}
      - {id: missing, continue_on_error: true, run: ./not-there}
      - {id: named, continue_on_error: true, retry: {no_retry_codes: [5]}, run: exit 5}
    """)
    equal({path: record["attempts"] for path, record in case.state()["steps"].items()},
          {"exit": 2, "timeout": 2, "signal": 2, "missing": 1, "named": 1})


def retry_settings_replace_key_by_key(case):
    case.run("retry: {attempts: 3, backoff: 1ms}\nsteps:\n- {id: a, retry: {attempts: 2}, run: 'echo x >> log; false'}\n", status=1)
    equal(len(case.log()), 2)
    equal([event["data"].get("again_in_ms") for event in case.events("attempt_failed")], [1, None])


def backoff_grows_to_its_limit(case):
    case.run("steps:\n- {id: a, retry: {attempts: 5, backoff: 1ms, max_backoff: 3ms}, run: 'false'}\n", status=1)
    equal([event["data"].get("again_in_ms") for event in case.events("attempt_failed")], [1, 2, 3, 3, None])


def a_manual_resume_gives_fresh_attempts(case):
    case.run("steps:\n- {id: a, retry: {attempts: 2, backoff: 1ms}, run: 'echo x >> log; [ -e fixed ]'}\n", status=1)
    case.pawl("resume", "r", status=1)
    equal(len(case.log()), 4)
    case.write("fixed", "")
    case.pawl("resume", "r", status=0)
    equal(case.state()["steps"]["a"]["attempts"], 5)


def interrupted_attempts_do_not_count(case):
    case.write("workflow.yaml", "grace: 200ms\nsteps:\n- {id: a, run: 'echo $PAWL_ATTEMPT $PAWL_IDEMPOTENCY_KEY >> log; [ -e fixed ] || sleep 30'}\n")
    for _ in range(2):
        process = case.start("run", "--run-id", "r") if not case.log() else case.start("resume", "r")
        lines = len(case.log())
        wait_for(lambda: len(case.log()) > lines, "the step")
        process.send_signal(signal.SIGINT)
        equal(process.wait(20), 130)
    case.write("fixed", "")
    case.pawl("resume", "r", status=0)
    equal([line.split()[0] for line in case.log()], ["1", "1", "1"])
    equal(len({line.split()[1] for line in case.log()}), 1)
    equal(case.state()["steps"]["a"].get("attempts", 1), 1)


def a_timeout_ends_the_whole_group_and_what_left_it(case):
    case.run("""
      grace: 100ms
      steps:
      - {id: a, timeout: 300ms, run: "trap '' TERM; (sleep 60 & echo $! >> pids); setsid sh -c \\"trap '' TERM; echo \\\\$\\\\$ >> pids; sleep 60\\" & sleep 60"}
    """, status=1)
    for pid in case.log("pids"):
        wait_for(lambda pid=pid: not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat").read().split()[2] == "Z", f"the end of {pid}")


def total_timeout_is_for_all_attempts(case):
    done = case.run("steps:\n- {id: a, total_timeout: 300ms, retry: {attempts: 100, backoff: 50ms, factor: 1}, run: 'false'}\n", status=1)
    holds(done.stderr, "together")


# Environment.

def environment_goes_from_process_to_step(case):
    case.write("e.env", "B=file\nC=file\nD=file\n")
    case.run("""
      env_file: e.env
      env: {C: workflow, D: workflow}
      steps:
      - {id: a, env: {D: step}, run: 'echo $A $B $C $D $PAWL_STEP', capture: {format: text}}
    """, env={"A": "process", "B": "process", "C": "process", "D": "process", "PAWL_STEP": "fake"})
    equal(case.output("a"), "process file workflow step a")


def the_working_directory_is_the_files_folder(case):
    os.mkdir(os.path.join(case.folder, "sub"))
    case.write("sub/w.yaml", "steps:\n- {id: a, run: pwd, capture: {format: text}}\n")
    case.pawl("run", "sub/w.yaml", "--run-id", "r", status=0)
    equal(os.path.realpath(case.output("a")), os.path.realpath(os.path.join(case.folder, "sub")))


def variables_are_declared_and_typed(case):
    text = "vars: {a: null, b: 2}\nsteps:\n- {id: s, run: 'echo ${vars.a} ${vars.b}', capture: {format: text}}\n"
    case.run(text, status=2)
    case.run(text, "--var", "a=1", "--var", "c=1", status=2)
    case.run(text, "--var", "a=x=y", "--var-json", "b=[1]", status=0)
    equal(case.output("s"), "x=y [1]")


def secrets_are_masked_everywhere(case):
    done = case.run("""
      secrets: [TOKEN]
      steps:
      - {id: a, run: 'echo "the token is $TOKEN"; echo $TOKEN >&2', capture: {format: text}}
      - {id: b, run: 'echo "bad $TOKEN" >&2; false'}
    """, env={"TOKEN": "hush-hush-7"}, status=1)
    assert "hush-hush-7" not in done.stdout + done.stderr, done.stdout + done.stderr
    for folder, _, names in os.walk(case.env["PAWL_STORE"]):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert b"hush-hush-7" not in file.read(), os.path.join(folder, name)


# Documentation.

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/workflow.md")


def the_guide_describes_every_key(case):
    with open(GUIDE) as file:
        guide = file.read()
    schema = json.loads(case.pawl("schema", status=0).stdout)
    for name, described in {"workflow": schema, **schema["$defs"]}.items():
        for key in described["properties"]:
            assert re.search(rf"`[^`\n]*\b{key}\b[^`\n]*`|\b{key}: ", guide), f"docs/workflow.md does not describe {name}.{key}"


def the_template_in_the_guide_can_be_used(case):
    with open(GUIDE) as file:
        blocks = re.findall(r"^```yaml\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    templates = next(i for i, block in enumerate(blocks) if block.startswith("templates:"))
    case.write("steps.yaml", blocks[templates])
    case.write("workflow.yaml", "vars: { source: src }\nsteps:\n" + blocks[templates + 1])
    case.write("lint.sh", "#!/bin/sh\necho \"$@\" >linted\n")
    os.chmod(os.path.join(case.folder, "lint.sh"), 0o755)
    case.pawl("check", status=0)
    case.pawl("run", "--run-id", "r", status=0)
    with open(os.path.join(case.folder, "linted")) as file:
        equal(file.read(), "--level 2 src\n")


def complete_workflows_in_the_guide_are_valid(case):
    with open(GUIDE) as file:
        blocks = re.findall(r"^```yaml\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    complete = [block for block in blocks if re.search(r"^(steps|stages):", block, re.MULTILINE)]
    assert len(complete) >= 5, complete
    for block in complete:
        case.write("workflow.yaml", block)
        case.pawl("check", status=0)


run_tests(globals())
