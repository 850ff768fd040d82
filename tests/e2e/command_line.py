#!/usr/bin/env python3
"""Tests invalid calls of every command and option, help that fits 80 columns, closed pipes, and lists of runs."""
import json
import os
import pty
import re
import subprocess
import unicodedata

from workflow_case import equal, holds, run_tests, wait_for

# Messages of the parser's library. None of them may reach people.
LIBRARY = re.compile(r"REQUIRED|Required|Excludes|Requires|is required|required (?:TEXT|at least)|not expected|following argument|:(?:UINT|INT|FLOAT|NONNEGATIVE|POSITIVE|\{)"
                     r"|Could not convert|TEXT missing|\[OPTIONS\]|SUBCOMMAND|you should not see this")


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def help_of(case, *path):
    return case.pawl(*path, "--help", status=0).stdout


def rows(text, heading):
    """Returns the labels below a heading."""
    found, inside = [], False
    for line in text.splitlines():
        if line and not line.startswith(" "):
            inside = line == heading + ":"
        elif inside and line.startswith("  ") and line[2] != " ":
            found.append(line.strip().split("  ")[0])
    return found


def commands(case):
    headings = ["Running workflows", "Checkpoints", "Inspecting runs", "Maintenance and help"]
    names = [name for heading in headings for name in rows(help_of(case), heading)]
    assert len(names) > 30, names
    out = []
    for name in names:
        parts = rows(help_of(case, name), "Commands")
        out += [(name, part) for part in parts] or [(name,)]
    return out


def refused(case, *args):
    done = case.pawl(*args, status=2, stdin="")
    assert not LIBRARY.search(done.stderr), f"pawl {' '.join(args)}: {done.stderr}"
    assert done.stderr.startswith("pawl: PAWL-0001: ") and "\nhint: " in done.stderr, f"pawl {' '.join(args)}: {done.stderr}"
    equal(done.stdout, "")
    return done.stderr


def every_bad_call_is_refused_in_plain_words(case):
    for command in commands(case):
        text = help_of(case, *command)
        arguments = rows(text, "Arguments")
        options = rows(text, "Options") + rows(text, "Options for all commands")
        usage = " ".join(text.split("\n\n")[0].split())
        required = [name for name in arguments if f" {name}" in usage and f"[{name}]" not in usage]
        if required:
            holds(refused(case, *command), f"missing argument: {required[0]}")
        given = ["x"] * len(required)
        if not any(name.endswith("...") for name in arguments):
            holds(refused(case, *command, *(["x"] * (len(arguments) + 1))), "unexpected argument: 'x'")
        holds(refused(case, *command, *given, "--no-such-option"), "unknown option --no-such-option")
        for option in options:
            names, _, value = option.replace(", ", ",").partition(" ")
            name = names.split(",")[-1]
            if value:
                holds(refused(case, *command, *given, name), f"missing value for {name}")
            elif name not in ("--help", "--version"):
                holds(refused(case, *command, *given, f"{name}=x"), f"{name} takes no value")
            if value == "N":
                message = refused(case, *command, *given, name, "x")
                assert re.search(f"{name}: not a whole number.*: 'x'|missing option", message), message
            if value == "WORD":
                message = refused(case, *command, *given, name, "no-such-word")
                assert re.search(f"{name}: unknown value 'no-such-word'|missing option", message), message


def bad_values_name_the_option_and_the_limits(case):
    holds(refused(case, "list", "--limit", "x"), "--limit: not a whole number from 1 to 1,000,000: 'x'")
    holds(refused(case, "signal", "r", "go", "--payload", "a", "--json-payload", "1"), "--payload and --json-payload can't be used together")
    holds(refused(case, "audit", "proof", "r", "1", "--since", "2"), "ENTRY and --since can't be used together")
    holds(refused(case, "resume", "r", "--budget-usd", "-1"), "--budget-usd: not a number of at least 0: '-1'")
    holds(refused(case, "prune", "--older-than", "x"), "--older-than: not a number of days: 'x'")
    holds(refused(case, "erase", "r"), "missing option: --reason TEXT")
    holds(refused(case, "list", "--status", "x"), "--status: unknown value 'x'")
    holds(refused(case, "list", "--limit", "1", "--limit", "2"), "--limit can be given only once")
    holds(refused(case, "dlq"), "missing command after 'pawl dlq'", "use one of: list, show, retry, drop")
    holds(refused(case), "missing command")


def help_fits_80_columns_and_starts_with_a_capital(case):
    for path in [(), *commands(case)]:
        text = help_of(case, *path)
        for line in text.splitlines():
            assert columns(line) <= 80, f"pawl {' '.join(path)} --help: {line}"
        for heading in ("Options", "Arguments"):
            for line in text.split(f"\n{heading}:\n")[-1].split("\n\n")[0].splitlines() if f"\n{heading}:\n" in text else []:
                said = re.sub(r"^  \S.*?  +", "", line) if re.match(r"^  \S.*?  +\S", line) else ""
                assert not said or said[0].isupper() or said[0] in "-json" or said.split()[0].islower(), line


def a_workflow_that_is_not_there_is_named(case):
    holds(case.pawl("run", status=2).stderr, "there is no workflow.yaml in this folder", "hint: name a workflow file, for example: pawl run notes.yaml")
    holds(case.pawl("check", status=2).stderr, "there is no workflow.yaml in this folder")
    for command in ("run", "check"):
        holds(case.pawl(command, "no.yaml", status=2).stderr, "no such file: 'no.yaml'")


def the_hint_of_check_names_the_file(case):
    case.write("a b.yaml", "steps:\n- {id: a, run: x, foo: 1}\n")
    holds(case.pawl("check", "a b.yaml", status=2).stderr, "hint: fix it, then run: pawl check 'a b.yaml'\n")


def names_that_the_shell_does_not_know_are_warned_of(case):
    flow = "vars: {topic: tides, n: 1}\nsteps:\n- {id: x, run: echo hi, capture: {format: text}}\n- id: a\n  run: |\n    %s\n"
    for command, told in (('echo "${topic}"', "a: '${topic}' is a variable of the shell; write ${vars.topic}"),
                          ("echo $topic", "a: '$topic' is a variable of the shell; write ${vars.topic}"),
                          ("echo $vars.topic", "a: '$vars.topic' is a variable of the shell; write ${vars.topic}"),
                          ("echo '{{ vars.topic }}'", "a: '{{ vars.topic }}' is not replaced by a value; write ${vars.topic}"),
                          ("echo ${x.output}", "a: '${x.output}' is not replaced by a value; write ${steps.x.output}"),
                          ("echo read it; echo $topic ${vars.n}", "a: '$topic' is a variable of the shell; write ${vars.topic}")):
        case.write("w.yaml", flow % command)
        holds(case.pawl("check", "w.yaml", status=0).stdout, f"w.yaml:4:3: warning: {told}\n")
    for command in ("topic=1; echo $topic", "read topic; echo $topic", "for topic in a; do echo $topic; done", "echo '$topic'", "echo ${vars.topic}", "echo ${steps.x.output}"):
        case.write("w.yaml", flow % command)
        assert "warning" not in case.pawl("check", "w.yaml", status=0).stdout, command
    case.write("w.yaml", flow % "echo $topic" + "  env: {topic: '${vars.topic}'}\n")
    assert "warning" not in case.pawl("check", "w.yaml", status=0).stdout


class Screen:
    """Runs the program on a terminal of a given width and returns what it prints."""

    def __init__(self, case, width):
        self.case, self.width = case, width

    def __call__(self, *args):
        import fcntl
        import struct
        import termios
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, self.width, 0, 0))
        env = {name: value for name, value in self.case.env.items() if name != "COLUMNS"} | {"TERM": "xterm", "NO_COLOR": "1"}
        process = subprocess.Popen([self.case.program, *args], cwd=self.case.folder, env=env, stdin=subprocess.DEVNULL, stdout=secondary, stderr=subprocess.PIPE)
        os.close(secondary)
        text = b""
        while True:
            try:
                part = os.read(primary, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(primary)
        process.stderr.close()
        process.wait()
        return text.decode().replace("\r\n", "\n")


LONG = "nightly-report-of-all-regions-and-all-products-2026-11-16-k3f9"


def tables_fit_the_terminal(case):
    case.write("workflow.yaml", """\
        name: demo
        steps:
          - id: gather-everything-from-everywhere
            run: echo '{"tokens":5,"cost_usd":1.25}' >> $PAWL_RESULT
          - id: pages
            map: { items: ['漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字', 2], on_item_failure: dlq }
            steps: [{ id: t, run: 'echo a long explanation of what went wrong in this item of the map >&2; exit 3' }]
          - { id: fail, run: 'echo the disk of the machine is full and nothing can be written >&2; exit 9' }
        """)
    case.pawl("run", "--run-id", LONG, status=1)
    for n in range(12):
        case.pawl("save", f"small-{n}", "--name", "名前" * 10, "--stage", "a-stage-with-a-long-name", stdin=json.dumps({"n": n}), status=0)
    for command in (["list"], ["stats"], ["stats", "small-1"], ["dlq", "list", LONG], ["show", "small-1", "--checkpoints"], ["show", "small-1"], ["show", LONG, "--events"],
                    ["audit", "list", LONG], ["audit", "list", "--all"], ["config"], ["explain"]):
        for width in (80, 160):
            lines = Screen(case, width)(*command).splitlines()
            assert lines, command
            for line in lines:
                is_to_copy = "  pawl " in line  # a command is never truncated
                assert columns(line) <= width or is_to_copy, f"{command} at {width}: {line}"
        headers = [line for line in lines if re.match(r"^[A-Z]+( |$)", line)]
        assert headers or command[0] == "show", f"{command}: no header in upper case:\n" + "\n".join(lines)
    narrow, wide = Screen(case, 80)("list"), Screen(case, 160)("list")
    holds(narrow, "RUN", "STATUS", "AGE", LONG)
    assert "KIND" not in narrow.splitlines()[0], narrow
    holds(wide, LONG, "KIND", "LATEST")
    piped = case.pawl("list", status=0).stdout
    holds(piped, LONG, "KIND", "UPDATED")
    assert "…" not in piped, piped
    equal({len(re.split(r"  +", line)) for line in piped.splitlines()}, {9})
    holds(case.pawl("list", "--utc", status=0).stdout, "Z  ")


def runs_are_listed_by_status(case):
    case.write("waits.yaml", "name: waits\nsteps:\n  - { id: gate, approve: 'ok?' }\n")
    case.write("fails.yaml", "name: fails\nsteps:\n  - { id: x, run: 'exit 1' }\n")
    case.write("sleeps.yaml", "name: sleeps\nsteps:\n  - { id: x, run: 'sleep 30' }\n")
    case.pawl("run", "waits.yaml", "--run-id", "w", status=3)
    case.pawl("run", "fails.yaml", "--run-id", "f", status=1)
    process = case.start("run", "sleeps.yaml", "--run-id", "s")

    def listed(*args):
        return sorted(row["run"] for row in json.loads(case.pawl("list", "--json", *args, status=0).stdout))

    wait_for(lambda: listed("--running") == ["s"], "the run to start")
    equal(listed("--status", "running"), ["s"])
    equal(listed("--status", "waiting,failed"), ["f", "w"])
    equal(listed("--status", "waiting", "--status", "failed"), ["f", "w"])
    equal(listed("--failed"), ["f"])
    equal(listed("--status", "completed"), [])
    rows_by_id = {row["run"]: row for row in json.loads(case.pawl("list", "--json", status=0).stdout)}
    equal(rows_by_id["w"]["progress"], {"done": 0, "total": 1})
    holds(rows_by_id["f"]["error"], "exit status 1")
    equal(rows_by_id["w"]["error"], None)
    process.kill()


def shell(case, line):
    return subprocess.run(["bash", "-c", line], cwd=case.folder, env=case.env | {"PAWL": case.program}, capture_output=True, text=True, timeout=60)


def a_closed_pipe_ends_reading_commands_silently(case):
    for n in range(40):
        case.pawl("save", f"run-{n}", stdin='{"n": 1}', status=0)
    for command in ("list", "list --json", "stats --top 50", "show run-1", "explain", "config checkpoint", "--help", "restore run-1", "audit list --all"):
        # The reader exits before the program starts.
        done = shell(case, f"mkfifo p; exec 3<>p; exec 4>p; exec 3<&-; $PAWL {command} >&4; echo status $?; rm p")
        equal((done.stdout, done.stderr), ("status 141\n", ""))
    done = shell(case, "$PAWL list | true; true")
    equal(done.stderr, "")


def running_commands_keep_their_status_when_output_is_closed(case):
    case.write("ok.yaml", "name: ok\nsteps:\n  - { id: a, run: 'echo hello' }\n")
    case.write("bad.yaml", "name: bad\nsteps:\n  - { id: a, run: 'exit 1' }\n")
    broken = "mkfifo p; exec 3<>p; exec 4>p; exec 3<&-; {} >&4; echo status $?; rm p"
    equal(shell(case, broken.format("$PAWL run ok.yaml --run-id a")).stdout, "status 0\n")
    equal(shell(case, broken.format("$PAWL run ok.yaml --run-id b --json")).stdout, "status 0\n")
    equal(shell(case, broken.format("$PAWL run bad.yaml --run-id c")).stdout, "status 1\n")
    equal(shell(case, broken.format("$PAWL resume c")).stdout, "status 1\n")
    equal(shell(case, broken.format("$PAWL step s --run d -- true")).stdout, "status 0\n")
    equal(shell(case, broken.format("$PAWL step t --run d -- sh -c 'exit 7'")).stdout, "status 7\n")
    for line, status in (("$PAWL run ok.yaml --run-id e >&-", 0), ("$PAWL run bad.yaml --run-id f >&-", 1), ("$PAWL step u --run d -- true >&-", 0)):
        done = shell(case, line)
        equal((done.returncode, "can't write" in done.stderr), (status, False))
    for run in ("a", "b", "e"):
        equal(json.loads(case.pawl("show", run, "--json", status=0).stdout)["status"], "completed")


run_tests(globals())
