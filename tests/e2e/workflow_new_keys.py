#!/usr/bin/env python3
"""Tests deadlines, templates, matrices, computed settings and other keys of workflows with the real program.

  workflow_new_keys.py PAWL [name of a test]...
"""
from workflow_case import equal, holds, run_tests, wait_for


# Loops and deadlines.

def the_iteration_before_is_known(case):
    case.run("""
      steps:
      - id: fix
        loop: { max: 5, until: "steps.test.output == 3" }
        steps:
        - { id: edit, run: 'echo "${default(loop.previous.test.output, 0)}" >>log' }
        - { id: test, run: 'echo ${loop.iteration}', capture: { format: json } }
    """)
    equal(case.log(), ["0", "1", "2"])


def a_gate_without_an_answer_is_rejected(case):
    case.run("steps: [{ id: g, approve: Sure, timeout: 200ms }]\n", "--wait", status=1)
    equal(case.steps(), {"g": "failed"})
    holds(case.state()["steps"]["g"]["error"], "no decision within 200 ms")


def a_gate_can_fail_and_ask_again(case):
    case.run("steps: [{ id: g, approve: Sure, timeout: 200ms, on_timeout: fail, retry: { attempts: 2, backoff: 10ms } }]\n",
             "--wait", status=1)
    equal(case.state()["steps"]["g"]["attempts"], 2)


def a_gate_can_continue(case):
    case.run("""
      steps:
      - { id: g, approve: Sure, timeout: 200ms, on_timeout: continue }
      - { id: a, run: 'echo ${steps.g.output.approved} >>log' }
    """, "--wait")
    equal(case.log(), ["false"])


def a_loop_has_a_deadline(case):
    loop = "{ id: l, loop: { max: 1000 }, timeout: 400ms%s, steps: [{ id: s, run: sleep 0.1 }] }"
    case.run("steps: [%s]\n" % (loop % ""), status=1)
    holds(case.state()["steps"]["l"]["error"], "timed out after 400 ms")
    case.write("workflow.yaml", "steps: [%s, { id: b, run: echo on >>log }]\n" % (loop % ", on_timeout: continue"))
    case.pawl("run", "--run-id", "r2", status=0)
    equal(case.log(), ["on"])


# Retries.

def a_retry_condition_decides(case):
    case.run("steps: [{ id: a, run: echo >>log; exit 75, retry: { attempts: 5, backoff: 1ms, when: exit_code == 75 && attempt < 3 } }]\n",
             status=1)
    equal(len(case.log()), 3)


def only_listed_codes_are_retried(case):
    case.run("steps: [{ id: a, run: echo >>log; exit 3, retry: { attempts: 5, backoff: 1ms, on_codes: [75] } }]\n", status=1)
    equal(len(case.log()), 1)


def a_step_says_when_to_try_again(case):
    case.run("""
      steps:
      - id: a
        run: |
          date +%s%N >>log
          echo '{"retry_after": "700ms"}' >>"$PAWL_RESULT"
          [ $PAWL_ATTEMPT = 2 ]
        retry: { attempts: 2, backoff: 1ms }
    """)
    first, second = (int(line) for line in case.log())
    assert second - first >= 700_000_000, (first, second)


# Maps.

def a_matrix_is_a_product_the_last_key_fastest(case):
    case.run("""
      steps:
      - id: m
        map: { matrix: { model: [a, b], case: "${range(3)}" } }
        steps: [{ run: "echo ${item.model}${item.case} >>log" }]
    """)
    equal(case.log(), ["a0", "a1", "a2", "b0", "b1", "b2"])


def a_failure_limit_can_be_a_percentage(case):
    text = """
      steps:
      - id: m
        map: { items: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], on_item_failure: dlq, max_failures: %s }
        steps: [{ run: "[ $I -gt 2 ]", env: { I: "${item}" } }]
    """
    case.run(text % "20%")
    case.write("workflow.yaml", text % "10%")
    case.pawl("run", "--run-id", "r2", status=1)


# Settings.

def settings_can_be_expressions(case):
    case.run("""
      vars: { n: 2 }
      steps:
      - { id: plan, run: echo 3, capture: { format: json } }
      - { id: l, loop: { max: "${steps.plan.output}" }, steps: [{ run: echo l >>log }] }
      - { id: a, run: 'echo a >>log; exit 1', retry: { attempts: "${vars.n}", backoff: 1ms }, continue_on_error: true }
      - { id: t, run: sleep 30, timeout: "${vars.n * 100}ms", continue_on_error: true }
    """, "--var-json", "n=4")
    equal(case.log(), ["l"] * 3 + ["a"] * 4)
    holds(case.state()["steps"]["t"]["error"], "timed out")


def an_invalid_setting_fails_the_step(case):
    done = case.run("vars: { n: null }\nsteps: [{ id: l, loop: { max: '${vars.n}' }, steps: [{ run: x }] }]\n", "--var", "n=many", status=1)
    holds(done.stdout + done.stderr, "'max: ${vars.n}' must be a whole number from 1 to 1000000, not 'many'")


# The end of a run.

def finally_runs_after_success_and_failure(case):
    text = "steps: [{ id: a, run: '%s' }]\nfinally: [{ run: 'echo \"${steps.a.status}\" >>log' }]\n"
    case.run(text % "true")
    case.write("workflow.yaml", text % "false")
    case.pawl("run", "--run-id", "r2", status=1)
    equal(case.log(), ["completed", "failed"])


# Templates.

TEMPLATES = """
  templates:
    lint:
      inputs: { path: null, level: 2 }
      run: echo "${inputs.level} ${inputs.path}" >>log
"""


def a_template_gives_a_step_its_keys(case):
    case.write("steps.yaml", TEMPLATES)
    case.run("""
      vars: { path: "a b" }
      steps:
      - { id: one, use: ./steps.yaml#lint, with: { path: "${vars.path}" } }
      - { id: two, use: ./steps.yaml#lint, with: { path: x, level: 3 } }
    """)
    equal(case.log(), ["2 a b", "3 x"])
    holds(case.pawl("show", "r", status=0).stdout, "one", "two")


def a_changed_template_is_a_changed_workflow(case):
    case.write("steps.yaml", TEMPLATES)
    text = "steps: [{ id: a, use: steps.yaml#lint, with: { path: x } }, { id: b, run: '[ -e ok ]' }]\n"
    case.run(text, status=1)
    case.write("steps.yaml", TEMPLATES.replace("level: 2", "level: 4"))
    refused = case.pawl("resume", "r", status=4)
    holds(refused.stdout + refused.stderr, "level: 4")
    case.write("ok", "")
    case.pawl("resume", "r", "--accept-changes", status=0)
    equal(case.log(), ["2 x", "4 x"])


def errors_in_a_template_name_its_file(case):
    case.write("steps.yaml", "templates:\n  lint:\n    run: echo ${vars.x}\n")
    case.write("workflow.yaml", "steps: [{ use: steps.yaml#lint }]\n")
    holds(case.pawl("check", status=2).stdout, "steps.yaml:3:17: unknown variable 'x'")


# Keys without effect, and long ids.

def a_key_without_effect_stops_a_new_run_and_warns_an_old_one(case):
    case.run("steps: [{ id: l, loop: { max: 1 }, steps: [{ id: a, run: '[ -e ok ]' }] }]\n", status=1)
    case.write("ok", "")
    case.write("workflow.yaml", "steps: [{ id: l, loop: { max: 1 }, env: { A: b }, steps: [{ id: a, run: '[ -e ok ]' }] }]\n")
    holds(case.pawl("run", "--run-id", "r2", status=2).stderr, "'env' has no effect on 'loop'")
    holds(case.pawl("check", status=2).stdout, "'env' has no effect on 'loop'")
    resumed = case.pawl("resume", "r", "--accept-changes", status=0)
    holds(resumed.stdout + resumed.stderr, "'env' has no effect on 'loop'")


IDS = [letter * 64 for letter in "abcdef"]


def nested(kind, command, depth=0):
    if depth == 5:
        return "{ id: %s, run: '%s' }" % (IDS[depth], command)
    inner = nested(kind, command, depth + 1)
    return kind % (IDS[depth], inner)


def long_ids_run_six_deep(case):
    kinds = {
        "loops": "{ id: %s, loop: { max: 1 }, steps: [ %s ] }",
        "maps": "{ id: %s, map: { items: [1, 2] }, steps: [ %s ] }",
        "asides": "{ id: %s, run: 'false', on_failure: [ %s ], rescue: true }",
    }
    for name, kind in kinds.items():
        case.write("workflow.yaml", "steps: [ %s ]\n" % nested(kind, "echo said"))
        case.pawl("check", status=0)
        case.pawl("run", "--run-id", name, status=0)
        holds(case.pawl("logs", name, status=0).stdout, "said")
        path = {"loops": "[1].".join(IDS), "maps": "[1].".join(IDS), "asides": ".on_failure.".join(IDS)}[name]
        holds(case.pawl("logs", name, path, status=0).stdout, "said")


def long_ids_of_children_run_six_deep(case):
    for i, name in enumerate(IDS):
        work = "workflow: w%d.yaml" % (i + 1) if i < 5 else "run: echo said >>log"
        case.write("w%d.yaml" % i, "steps: [{ id: %s, %s }]\n" % (name, work))
    case.pawl("run", "w0.yaml", "--run-id", "r" * 100, status=0)
    equal(case.log(), ["said"])


def reports_of_long_ids_survive_a_crash(case):
    case.script("work.sh", """
      echo '{"progress": 7}' >>"$PAWL_RESULT"
      echo "$PAWL_PREVIOUS" >>log
      sleep 30
    """)
    case.write("workflow.yaml", "steps: [ %s ]\n" % nested("{ id: %s, loop: { max: 1 }, steps: [ %s ] }", "./work.sh"))
    for started in (1, 2):
        process = case.start(*(["run", "--run-id", "r"] if started == 1 else ["resume", "r"]))
        wait_for(lambda: len(case.log()) == started, "the step")
        process.kill()
        process.wait()
    equal(case.log(), ["", "7"])


run_tests(globals())
