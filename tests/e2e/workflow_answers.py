"""Tests what Pawl tells about a run: outputs of failed steps, notifications, times, logs, questions and outputs."""
import json
import os
import time

from engine_case import Terminal
from workflow_case import equal, holds, run_tests


def shown(case, *args, run="r"):
    return json.loads(case.pawl("show", run, "--json", *args, status=0).stdout)


def steps_of(case, *args, run="r"):
    return {step["step"]: step for step in shown(case, *args, run=run)["steps"]}


# What a failed command printed.

def a_failed_step_that_continues_keeps_what_was_captured(case):
    """The next iteration reads why the one before failed."""
    case.run("""
        steps:
        - id: fix
          loop: { max: 3, until: steps.test.status == 'completed' }
          steps:
          - { id: edit, run: 'echo "[$LAST]" >> log', env: { LAST: "${default(loop.previous.test.output, '')}" } }
          - id: test
            run: 'echo "failure ${loop.iteration}"; [ ${loop.iteration} = 3 ]'
            capture: { format: text }
            continue_on_error: true
        """)
    equal(case.log(), ["[]", "[failure 1]", "[failure 2]"])


def captured_output_of_a_failure_is_read_like_that_of_a_success(case):
    """JSON and lines keep their types; what can't be read is null; a large output is found again."""
    case.run("""
        steps:
        - { id: j, run: 'echo "{\\"n\\": 1}"; exit 1', capture: { format: json }, continue_on_error: true }
        - { id: bad, run: 'echo no JSON; exit 1', capture: { format: json }, continue_on_error: true }
        - { id: l, run: 'printf "a\\nb\\n"; exit 1', capture: { format: lines }, continue_on_error: true }
        - { id: none, run: 'echo x; exit 1', continue_on_error: true }
        - { id: reported, run: 'echo "{\\"output\\": 5}" >> "$PAWL_RESULT"; exit 1', continue_on_error: true }
        - { id: large, run: 'head -c 20000 /dev/zero | tr "\\\\0" x; exit 1', capture: { format: text }, continue_on_error: true }
        - { id: use, run: 'echo "${steps.j.output.n} ${length(steps.large.output)} ${steps.l.output}" > used' }
        """)
    equal(case.log("used"), ['1 20000 ["a","b"]'])
    steps = steps_of(case)
    equal([steps[name].get("output") for name in ("j", "bad", "l", "none", "reported")], [{"n": 1}, None, ["a", "b"], None, None])
    equal(len(steps["large"]["output"]), 20000)


def steps_after_a_failure_can_use_its_output(case):
    """`on_failure` of the step and of the run read it, and a resume starts without it."""
    case.run("""
        steps:
        - id: a
          run: 'echo cause; [ -e go ]'
          capture: { format: text }
          on_failure: [{ id: b, run: 'echo "step: ${steps.a.output}" >> log' }]
        on_failure: [{ id: c, run: 'echo "run: ${steps.a.output}" >> log' }]
        """, status=1)
    equal(case.log(), ["step: cause", "run: cause"])
    equal(steps_of(case)["a"]["output"], "cause")
    case.write("go", "")
    case.pawl("resume", "r", status=0)
    equal(steps_of(case)["a"]["output"], "cause")


def a_step_that_times_out_keeps_what_was_captured(case):
    case.run("""
        grace: 100ms
        steps:
        - { id: a, run: 'echo so far; sleep 60', capture: { format: text }, timeout: 500ms, continue_on_error: true }
        - { id: b, run: 'echo "${steps.a.output}" >> log' }
        """)
    equal(case.log(), ["so far"])


def a_failure_that_printed_to_captured_output_shows_its_end(case):
    """Standard error goes first."""
    done = case.run("steps: [{ id: a, run: 'echo out; exit 1', capture: { format: text } }]", status=1)
    holds(done.stdout, "    | out\n")
    done = case.pawl("run", "--run-id", "s", "--json", status=1)
    assert '"log":"out"' in done.stdout, done.stdout
    case.write("workflow.yaml", "steps: [{ id: a, run: 'echo out; echo err >&2; exit 1', capture: { format: text } }]")
    done = case.pawl("run", "--run-id", "t", status=1)
    holds(done.stdout, "    | err\n")
    assert "| out" not in done.stdout, done.stdout


# Notifications.

def a_notification_can_use_values(case):
    """`${...}` in `notify` works as in a step, in each kind of quotes."""
    case.run("""
        name: told
        vars: { who: "a b'c" }
        env: { MODE: fast }
        notify: echo ${run.id} "${run.workflow}" '${run.attempt}' "${vars.who}" ${env.MODE} "$PAWL_STATUS" "$PAWL_WAITING_FOR" "$PAWL_ERROR" >> log
        steps: [{ id: g, approve: 'Go?' }, { id: b, run: 'exit 3' }]
        """, status=3)
    case.pawl("approve", "r", status=0)
    case.pawl("resume", "r", status=1)
    equal(case.log(), ["r told 1 a b'c fast waiting approval of g ", "r told 2 a b'c fast failed  b: exit status 3"])


def a_notification_runs_in_the_shell_of_the_workflow(case):
    case.run("shell: bash\nnotify: '[[ -n \"$BASH_VERSION\" ]] && echo bash >> log'\nsteps: [{ run: 'true' }]\n")
    equal(case.log(), ["bash"])


def a_notification_whose_value_cannot_be_passed_is_reported(case):
    case.run("notify: echo ${json('{')} >> log\nsteps: [{ run: 'true' }]\n")
    equal(case.log(), [])
    holds(case.pawl("show", "r", status=0).stdout, "completed")


# Times.

def inner_steps_of_items_start_before_they_end(case):
    """Failed and completed items have a start and a duration."""
    case.run("""
        steps:
        - id: m
          map: { items: [0, 1], parallel: 2, on_item_failure: dlq }
          steps: [{ id: get, run: 'sleep 0.2; exit ${item}' }, { id: quick, run: 'true' }]
        """)
    steps = steps_of(case, "--all")
    for name in ("m[0]", "m[1]", "m[1].get"):
        step = steps[name]
        assert step["started"] is not None and step["started"] <= step["ended"], step
        assert 150 <= step["ms"] < 10_000, step
    for step in steps.values():
        assert step["started"] is None or step["ended"] is None or step["started"] <= step["ended"], step


# Events.

def as_many_events_are_shown_as_wanted(case):
    case.run("steps:\n" + "".join(f"- {{ id: s{n}, run: 'true' }}\n" for n in range(20)))
    total = len(case.events())
    assert total > 25, total
    numbers = [event["number"] for event in shown(case, "--events")["events"]]
    equal(numbers, list(range(total - 19, total + 1)))
    numbers = [event["number"] for event in shown(case, "--events", "--limit", "5")["events"]]
    equal(numbers, list(range(total - 4, total + 1)))
    equal(len(shown(case, "--events", "--limit", "1000")["events"]), total)
    numbers = [event["number"] for event in shown(case, "--events", "--after", "3", "--limit", "2")["events"]]
    equal(numbers, [4, 5])
    holds(case.pawl("show", "r", "--events", "--limit", "1000", status=0).stdout, "run_started", "run_completed")
    holds(case.pawl("show", "r", "--events", "--checkpoints", status=2).stderr, "can't be used together")


def events_show_the_time_since_the_start_on_a_terminal(case):
    case.run("steps: [{ id: a, run: 'sleep 0.3' }, { id: b, run: 'true' }]\n")
    terminal = Terminal(case, "show", "r", "--events")
    text = terminal.ended(0)
    line = next(line for line in text.splitlines() if "step_completed" in line and " a " in line)
    holds(line, " ms ")
    assert "ago" not in line and "now" not in line, line


# Logs.

def logs_of_short_steps_are_in_their_order(case):
    """Files that were changed at the same time are printed in the order in which the steps started."""
    case.run("""
        steps:
        - { id: z, run: echo z }
        - { id: y, loop: { max: 11 }, steps: [{ id: d, run: echo d }, { id: c, run: echo c }] }
        - { id: a, run: echo a }
        """)
    logs = os.path.join(case.env["PAWL_STORE"], "runs", "r", "logs")
    for folder, _, names in os.walk(logs):
        for name in names:
            os.utime(os.path.join(folder, name), ns=(10**18, 10**18))
    printed = [line.split(" | ")[0].strip() for line in case.pawl("logs", "r", status=0).stdout.splitlines()]
    wanted = ["z"] + [f"y[{n}].{step}" for n in range(1, 12) for step in "dc"] + ["a"]
    equal(printed, wanted)


def logs_of_a_cached_step_say_where_its_output_comes_from(case):
    text = "steps: [{ id: a, run: 'echo 1; echo 2 >&2', capture: { format: json }, cache: { key: k } }, { id: b, run: 'true', when: 'false' }]\n"
    case.run(text)
    case.pawl("run", "--run-id", "s", status=0)
    holds(case.pawl("logs", "s", "a", status=0).stderr, "its output came from the cache")
    holds(case.pawl("logs", "s", "b", status=0).stderr, "it has not run")


def an_item_whose_result_was_cached_names_its_origin(case):
    text = "steps: [{ id: m, map: { items: [1, 2] }, steps: [{ id: a, run: 'echo ${item}', capture: { format: json }, cache: { key: '${item}' } }] }]\n"
    case.run(text)
    case.pawl("run", "--run-id", "s", status=0)
    equal(["cached_from" in event["data"] for event in case.events("item_completed")], [False, False])
    found = case.events("item_completed", run="s")
    equal([event["data"]["cached_from"].split("@")[0] for event in found], ["r", "r"])
    equal([event["data"]["output"] for event in found], [1, 2])


# Failures.

def a_map_counts_items_that_failed_while_it_stopped(case):
    """The error and the numbers of the step agree."""
    done = case.run("""
        steps:
        - id: m
          map: { items: [0, 1, 2, 3, 4], parallel: 2, on_item_failure: dlq, max_failures: 1 }
          steps: [{ id: s, run: 'sleep 0.2; exit 1' }]
        """, status=1)
    step = steps_of(case)["m"]
    holds(done.stderr, f"{step['failed']} of 5 items failed (max_failures: 1)")


def a_loop_that_is_used_up_says_what_helps(case):
    done = case.run("steps: [{ id: l, loop: { max: 2, until: 'false' }, steps: [{ id: a, run: 'true' }] }]\n", status=1)
    holds(done.stderr, "raise `max` of the loop", "pawl resume r --accept-changes")
    holds(case.pawl("show", "r", status=0).stdout, "pawl resume r --accept-changes")


# Values from the command line.

def a_variable_has_the_type_of_its_default(case):
    text = """
        vars: { deploy: true, n: 3, list: [1], map: { a: 1 }, text: x, given: null }
        steps:
        - { id: a, run: 'echo deployed', when: vars.deploy }
        - { id: b, run: 'true', when: 'vars.n > 4' }
        """
    case.run(text, "--var", "deploy=false", "--var", "n=5", "--var", "list=[2, 3]", "--var", 'map={"b": 2}', "--var", "text=5",
             "--var", "given=7")
    equal(shown(case)["vars"], {"deploy": False, "n": 5, "list": [2, 3], "map": {"b": 2}, "text": "5", "given": "7"})
    equal({name: step["status"] for name, step in steps_of(case).items()}, {"a": "skipped", "b": "completed"})
    for value, wanted in (("deploy=no", "true or false"), ("n=many", "a number"), ("n=", "a number"), ("list=1", "a list"),
                          ("map=[]", "an object"), ("deploy=1", "true or false")):
        done = case.pawl("run", "--run-id", "s", "--var", value, status=2)
        holds(done.stderr, f"must be {wanted}", "for example: --var")
    case.pawl("run", "--run-id", "s", "--var", "given=7", "--var-json", 'n="five"', status=1)


# Check.

def a_format_alone_is_no_name_of_an_output(case):
    for word in ("json", "text", "lines"):
        case.write("workflow.yaml", f"steps: [{{ id: a, run: x, capture: {word} }}]\n")
        holds(case.pawl("check", status=2).stdout, f"write capture: {{ format: {word} }}")
        case.write("workflow.yaml", f"steps: [{{ id: a, run: x, capture: {{ as: {word} }} }}]\n")
        case.pawl("check", status=0)


def run_prints_the_warnings_of_check(case):
    text = "steps: [{ id: a, run: 'echo hi' }, { id: b, run: 'echo ${steps.a.output}' }]\n"
    warning = "workflow.yaml:1:"
    done = case.run(text)
    holds(done.stderr, warning, "warning: steps.a.output is null")
    equal(case.pawl("run", "--run-id", "j", "--json", status=0).stderr, "")
    equal(case.pawl("run", "--run-id", "r", "--resume", status=0).stderr, "")  # it has completed
    holds(case.pawl("run", "--run-id", "d", "--detach", status=0).stderr, "warning: steps.a.output is null")


# Questions and answers.

QUESTION = """
    steps:
    - id: review
      approve: |
        Merge?
        -old\tx
        +new\x1b[31m

        end
    """


def a_question_keeps_its_line_breaks(case):
    """Other control characters are escaped. A summary has one line."""
    text = QUESTION.replace("\x1b", "${json('\"\\u001b\"')}")
    done = case.run(text, status=3)
    holds(done.stdout, "review: needs approval:\n    Merge?\n    -old\tx\n    +new\\x1b[31m\n\n    end\n")
    out = case.pawl("show", "r", status=0).stdout
    holds(out, "needs approval: Merge? …", "review asks:\n    Merge?\n    -old\tx\n    +new\\x1b[31m\n\n    end\n")
    terminal = Terminal(case, "resume", "r")
    terminal.until("[l]ater")
    holds(terminal.text.replace("\r\n", "\n"), "review:\n    Merge?\n    -old\tx\n    +new\\x1b[31m\n\n    end\nApprove?")
    terminal.type("y\n")
    terminal.ended(0)


def a_decided_approval_names_who_decided(case):
    case.run("steps: [{ id: review, approve: 'Go?' }, { id: b, run: 'true' }]\n", status=3)
    case.pawl("approve", "r", "--by", "ann", "--comment", "read it", status=0)
    case.pawl("resume", "r", status=0)
    holds(case.pawl("show", "r", status=0).stdout, "approved by ann: read it")


def approve_names_a_run_to_resume_only_if_nobody_executes_it(case):
    case.run("steps: [{ id: review, approve: 'Go?' }]\n", status=3)
    process = case.start("resume", "r", "--wait")
    deadline = time.monotonic() + 20
    while shown(case)["owner"] is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    told = json.loads(case.pawl("approve", "r", "--json", status=0).stdout)
    assert told["owner"] is not None and told["resume"] is None, told
    equal(process.wait(20), 0)


# Results of a run.

def the_outputs_of_a_run_are_told(case):
    text = "steps: [{ id: a, run: 'echo 7', capture: { format: json } }]\noutputs: { n: '${steps.a.output}' }\n"
    done = case.run(text, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    equal([event["outputs"] for event in events if event["event"] == "run_completed"], [{"n": 7}])
    equal(shown(case)["outputs"], {"n": 7})
    case.write("workflow.yaml", "steps: [{ id: a, run: 'true' }]\n")
    case.pawl("run", "--run-id", "s", status=0)
    assert "outputs" not in shown(case, run="s")


if __name__ == "__main__":
    run_tests(globals())
