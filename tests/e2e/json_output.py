#!/usr/bin/env python3
"""Tests that the --json output of every command matches the schema that `pawl schema --of` prints, and that names agree
between commands."""
import json
import os

from json_schema import faults
from workflow_case import equal, holds, run_tests, wait_for

WORKFLOW = """\
    name: demo
    vars: { topic: tides }
    steps:
      - id: first
        run: echo '{"tokens":5,"cost_usd":0.01}' >> $PAWL_RESULT; echo hello
        capture: { format: text }
      - id: pages
        needs: [first]
        map: { items: [1, 2, 3], on_item_failure: dlq }
        steps:
          - id: look
            run: test ${item} != 2
      - { id: review, needs: [pages], approve: 'ok?' }
      - { id: send, needs: [review], wait_for: go }
    """


class Checker:
    """Runs commands with --json and validates what they print."""

    def __init__(self, case):
        self.case = case
        self.seen = set()

    def __call__(self, name, *args, status=0, stdin=None, lines=False):
        done = self.case.pawl(*args, "--json", status=status, stdin=stdin)
        self.seen.add(name)
        schema = json.loads(self.case.pawl("schema", "--of", name, status=0).stdout)
        documents = [json.loads(line) for line in done.stdout.splitlines()] if lines else [json.loads(done.stdout)]
        assert documents, f"{name} printed nothing"
        for document in documents:
            found = faults(document, schema)
            assert not found, f"pawl {' '.join(args)}:\n" + "\n".join(found) + f"\n{json.dumps(document)[:2000]}"
        if status not in (0, 3):
            error = json.loads(self.case.pawl("schema", "--of", "error", status=0).stdout)
            equal(faults(json.loads(done.stderr.splitlines()[-1]), error), [])
            self.seen.add("error")
        return documents if lines else documents[0]

    def error(self, *args, status):
        """Validates the error that a command prints, and that it prints no JSON otherwise."""
        done = self.case.pawl(*args[:args.index("--")], "--json", *args[args.index("--"):], status=status) if "--" in args \
            else self.case.pawl(*args, "--json", status=status)
        schema = json.loads(self.case.pawl("schema", "--of", "error", status=0).stdout)
        equal((faults(json.loads(done.stderr.splitlines()[-1]), schema), done.stdout), ([], ""))


def commands_of(case, *path):
    """Returns all commands below `path`, as listed in its help."""
    names, inside = [], False
    for line in case.pawl(*path, "--help", status=0).stdout.splitlines():
        if line.startswith("Options"):
            break
        if line and not line.startswith(" "):
            inside = line.endswith(":") and not line.startswith(("Options", "Arguments", "Examples", "Usage", "Formats"))
        elif inside and line.startswith("  ") and line[2] != " ":
            names.append(line.split()[0])
    return names


def every_command_prints_what_its_schema_says(case):
    check = Checker(case)
    case.write("demo.yaml", WORKFLOW)
    case.write("bad.yaml", "name: bad\nsteps:\n  - id: a\n    rn: x\n")
    check("init", "--store", os.path.join(case.folder, "other"), "init", "--encrypt")
    check("rekey", "--store", os.path.join(case.folder, "other"), "rekey")
    backup = os.path.join(case.folder, "b.tar.zst")
    check("backup create", "--store", os.path.join(case.folder, "other"), "backup", "create", backup)
    check("backup verify", "backup", "verify", backup)
    check("backup restore", "backup", "restore", backup, "--to", os.path.join(case.folder, "restored"))
    check("check", "check", "demo.yaml")
    check("check", "check", "bad.yaml", status=2)
    check("run", "run", "demo.yaml", "--dry-run", lines=True)
    check("run", "run", "demo.yaml", "--run-id", "demo", status=3, lines=True)
    check("list", "list")
    check("show", "show", "demo", "--events", "--all")
    check("dlq list", "dlq", "list", "demo")
    check("dlq show", "dlq", "show", "demo", "pages", "1")
    check("approve", "approve", "demo")
    check("signal", "signal", "demo", "go")
    check("resume", "resume", "demo", lines=True)
    check("show", "show", "demo")
    check("dlq retry", "dlq", "retry", "demo", "--all", "--no-run", lines=True)
    check("resume", "resume", "demo", lines=True)
    check("dlq drop", "dlq", "drop", "demo", "--all")
    check("logs", "logs", "demo", lines=True)
    check("run", "run", "demo.yaml", "--run-id", "second", status=3, lines=True)
    check("reject", "reject", "second")
    check("cancel", "cancel", "second")
    for state in ('{"a": 1}', '{"a": 2}'):
        check("save", "save", "saved", "--name", "x", stdin=state)
    check("show", "show", "saved")
    case.pawl("step", "--run", "job", "fetch", "--", "true", status=0)
    check("show", "show", "job")
    check("show", "show", "saved@1")
    check("show", "show", "saved", "--checkpoints")
    check("restore", "restore", "saved")
    check("diff", "diff", "saved@1", "saved@2")
    check("replay", "replay", "saved", lines=True)
    check("replay", "replay", "demo", lines=True)
    check("fork", "fork", "saved@1", "--run-id", "forked", lines=True)
    check("list", "list")
    check("show", "show", "forked")
    check("rollback", "rollback", "saved@1")
    check("handoff", "handoff", "demo")
    check("config", "config")
    check("doctor", "doctor")
    check("explain", "explain")
    check("explain", "explain", "301")
    check("version", "version")
    check("stats", "stats")
    check("stats", "stats", "saved")
    check("fsck", "fsck")
    check("verify", "verify", "--all")
    check("audit list", "audit", "list", "--all")
    check("audit add", "audit", "add", "saved", "--type", "note", "--data", '{"text": "x"}')
    check("audit report", "audit", "report", "saved")
    check("audit anchor", "audit", "anchor")
    check("audit proof", "audit", "proof", "demo", "1")
    check("audit proof", "audit", "proof", "demo", "--since", "1")
    check("prune", "prune", "--keep", "1", "--dry-run")
    check("prune", "prune", "--logs", "--older-than", "1d")
    check("export", "export", "saved", "-o", "saved.pawl")
    check("export", "export", "saved", "--files", "states")
    check("import", "--store", os.path.join(case.folder, "third"), "import", "saved.pawl")
    check("rm", "rm", "second", "--yes")
    check("list", "list", "--removed")
    check("erase", "erase", "forked", "--reason", "test", "--yes")
    check("rm", "rm", "saved", "--dry-run")
    check("rm", "rm", "forked", "saved", "--reason", "test")
    check("verify", "verify", "--all")
    # Every new command needs a schema and a call above.
    without_json = {"step", "schema", "help", "completion"}
    known = set()
    for command in commands_of(case):
        parts = commands_of(case, command)
        known |= {f"{command} {part}" for part in parts} or {command}
    equal(sorted(known - without_json - check.seen), [])


def names_agree_between_list_show_and_events(case):
    check = Checker(case)
    case.write("demo.yaml", WORKFLOW)
    events = check("run", "run", "demo.yaml", "--run-id", "demo", status=3, lines=True)
    (row,) = check("list", "list")
    shown = check("show", "show", "demo", "--events")
    for name in ("run", "uuid", "status", "created", "updated", "workflow_name", "workflow_file", "workflow_hash", "sequence", "progress", "usage", "error"):
        equal(row[name], shown[name])
    equal(row["progress"], {"done": 2, "total": 4})
    equal(row["usage"], {"tokens": 5, "usd": 0.01, "api_calls": 0})
    told = {(event["event"], event["step"]) for event in events if "step" in event}
    for event in shown["events"]:
        equal(event["run"], "demo")
        if event["event"] == "step_completed":
            assert (event["event"], event["step"]) in told, event
    assert {step["step"] for step in shown["steps"]} >= {"first", "pages", "review", "send"}, shown["steps"]


def an_unknown_schema_is_suggested(case):
    holds(case.pawl("schema", "--of", "lst", status=2).stderr, "--of: unknown value 'lst' (did you mean 'list'?)")


def kill(process):
    process.kill()
    process.wait()


def look(check, *runs):
    """Validates all commands that read a run."""
    check("list", "list")
    for run in runs:
        check("show", "show", run)
        check("show", "show", run, "--checkpoints")
        check("handoff", "handoff", run)
        check("restore", "restore", run)
        if run != "forked":
            check("restore", "restore", run, "--mode", "full")
            check("restore", "restore", run, "--at", "1")
        check("stats", "stats", run)


def errors_match_their_schema(case):
    check = Checker(case)
    for args in (("list",), ("list", "--status", "x"), ("show", "none"), ("nonsense",), ("step", "a", "--", "true")):
        check.error(*args, status=2)
    case.pawl("save", "saved", stdin="{}", status=0)
    case.write("bad.yaml", "steps:\n  - rn: x\n")
    for args in (("show", "none"), ("restore", "saved@9"), ("run", "bad.yaml"), ("run", "none.yaml"), ("resume",), ("signal", "saved", "x"),
                 ("cancel", "saved"), ("logs", "none"), ("handoff", "none"), ("fork", "none"), ("rollback", "none@1"), ("dlq", "list", "none"),
                 ("diff", "none@1", "saved@1"), ("rm", "none"), ("erase", "none", "--reason", "x", "--yes"), ("import", "bad.yaml"), ("export", "none", "-o", "x"),
                 ("replay", "none"), ("explain", "9999"), ("prune", "none", "--keep", "1"), ("audit", "report", "none"), ("verify", "none"),
                 ("step", "--run", "job", "a", "--", "true")):
        check.error(*args, status=2)


def an_empty_store_matches_its_schemas(case):
    check = Checker(case)
    check("init", "init")
    equal(check("list", "list"), [])
    equal(check("list", "list", "--removed"), [])
    for name, *args in (("stats",), ("fsck",), ("verify", "--all"), ("audit list", "--all"), ("prune", "--keep", "1"), ("rm", "--older-than", "1d"), ("doctor",),
                        ("config",)):
        check(name, *name.split(), *args)


def script_runs_match_their_schemas(case):
    check = Checker(case)
    case.pawl("step", "--run", "done", "a", "--", "sh", "-c", "echo '{\"confidence\": 0.5, \"context_usage\": 0.25, \"tokens\": 3}' >> $PAWL_RESULT; echo x", status=0)
    case.pawl("step", "--run", "failed", "a", "--", "false", status=1)
    killed = case.start("step", "--run", "killed", "a", "--", "sleep", "60")
    wait_for(lambda: case.pawl("show", "killed").returncode == 0, "the run")
    look(check, "done", "failed", "killed")
    kill(killed)
    look(check, "killed")
    check("logs", "logs", "done", lines=True)
    check("fork", "fork", "done", "--run-id", "forked", lines=True)
    look(check, "forked")


def runs_in_every_state_match_their_schemas(case):
    check = Checker(case)
    case.write("demo.yaml", WORKFLOW)
    case.write("slow.yaml", """\
        steps:
          - { id: first, run: 'echo {\\"confidence\\":0.5,\\"context_usage\\":0.25} >> $PAWL_RESULT' }
          - { id: slow, needs: [first], run: 'touch started; exec sleep 60' }
        """)
    case.write("bad.yaml", "steps: [{id: a, run: 'echo x; exit 1'}]\n")
    check("run", "run", "demo.yaml", "--run-id", "waiting", status=3, lines=True)
    check("run", "run", "bad.yaml", "--run-id", "failed", status=1, lines=True)
    slow = case.start("run", "slow.yaml", "--run-id", "slow")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "started")), "the second step")
    look(check, "slow")
    kill(slow)
    check("fork", "fork", "slow@2", "--run-id", "forked", lines=True)
    look(check, "waiting", "failed", "slow", "forked")
    check("rollback", "rollback", "waiting@2", "--accept-rerun")
    look(check, "waiting")
    check("cancel", "cancel", "waiting")
    look(check, "waiting")
    equal(check("handoff", "handoff", "slow")["confidence"], 0.5)
    check("handoff", "handoff", "waiting")
    case.write("ok.yaml", "steps: [{id: a, run: 'true'}]\n")
    check("run", "run", "ok.yaml", "--run-id", "ok", lines=True)
    check("run", "run", "ok.yaml", "--run-id", "ok", "--resume", "--detach", lines=True)
    check("export", "export", "ok", "-o", "ok.pawl")
    other = os.path.join(case.folder, "third")
    for extra in (("--dry-run",), (), ("--dry-run",), ()):
        check("import", "--store", other, "import", "ok.pawl", *extra)


def an_encrypted_store_without_its_key_matches_its_schemas(case):
    check = Checker(case)
    case.env["HOME"] = case.folder
    check("init", "init", "--encrypt")
    case.pawl("save", "saved", stdin="{}", status=0)
    case.pawl("step", "--run", "job", "a", "--", "true", status=0)
    case.write("ok.yaml", "steps: [{id: a, run: 'true'}]\n")
    case.pawl("run", "ok.yaml", "--run-id", "flow", status=0)
    case.env["HOME"] = case.env["XDG_CONFIG_HOME"] = "/nonexistent"
    rows = check("list", "list")
    equal({row["run"] for row in rows}, {"saved", "job", "flow"})
    equal({row["progress"] for row in rows}, {None})
    for run in ("job", "flow"):
        check.error("show", run, status=2)
        check.error("handoff", run, status=2)
        check.error("restore", run, status=2)


run_tests(globals())
