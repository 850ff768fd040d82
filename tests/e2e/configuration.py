#!/usr/bin/env python3
"""Tests settings with the real program: their sources and effects, and the commands config, doctor and stats.

    configuration.py PROGRAM [TEST...]
"""
import json
import os
import stat

from workflow_case import equal, holds, run_tests, wait_for


def settings(case, text):
    os.makedirs(case.env["PAWL_STORE"], exist_ok=True)
    return case.write("store/config.yaml", text)


def users_settings(case, text):
    os.makedirs(os.path.join(case.env["XDG_CONFIG_HOME"], "pawl"), exist_ok=True)
    return case.write("xdg/pawl/config.yaml", text)


def config(case, *args, **kwargs):
    return json.loads(case.pawl("config", *args, "--json", status=0, **kwargs).stdout)


# Sources of settings.

def later_places_win_and_each_value_says_where_it_came_from(case):
    users = users_settings(case, "checkpoint: { keep: 1, retention_days: 1 }\nrecovery: { auto: true }\n")
    stores = settings(case, "checkpoint:\n  keep: 2\n  retention_days: 2\n")
    shown = config(case, env={"PAWL_CHECKPOINT_RETENTION_DAYS": "3"})
    equal(shown["checkpoint.retention_days"], {"value": 3, "source": "PAWL_CHECKPOINT_RETENTION_DAYS"})
    equal(shown["checkpoint.keep"], {"value": 2, "source": f"{stores}:2"})
    equal(shown["recovery.auto_recovery"], {"value": True, "source": f"{users}:2"})
    equal(shown["performance.compression_level"], {"value": 3, "source": "default"})
    table = case.pawl("config", status=0)
    holds(table.stdout, "SETTING", "checkpoint.keep", f"{stores}:2")
    holds(table.stderr, users, stores)


def one_setting_or_section_can_be_asked_for(case):
    for name in ("checkpoint.keep", "keep", "max_checkpoints", "checkpoint_config.max_checkpoints"):
        equal(config(case, name), {"checkpoint.keep": {"value": 100, "source": "default"}})
    equal(len(config(case, "recovery")), 5)
    failed = case.pawl("config", "retention_day", status=2)
    holds(failed.stderr, "did you mean `pawl config retention_days`?")


def every_command_that_opens_the_store_refuses_wrong_settings(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'true'}\n")
    case.pawl("save", "r", stdin="{}", status=0)
    path = settings(case, "checkpoint:\n  retention_day: 30\n")
    for args in (["save", "r"], ["restore", "r"], ["list"], ["show", "r"], ["run"], ["stats"], ["fsck"], ["config"], ["resume"]):
        failed = case.pawl(*args, stdin="{}", status=2)
        holds(failed.stderr, "PAWL-0025", f"{path}:2:3", "did you mean 'retention_days'?")
    failed = case.pawl("list", "--json", status=2)
    equal(json.loads(failed.stderr.splitlines()[-1])["error"]["code"], "PAWL-0025")


def a_misspelt_variable_is_an_error(case):
    failed = case.pawl("list", env={"PAWL_RECOVERY_AUTO_RECOVRY": "true"}, status=2)
    holds(failed.stderr, "PAWL-0025", "PAWL_RECOVERY_AUTO_RECOVERY")


def huge_and_deep_settings_are_refused(case):
    for text in ("#" * 100_000, "a: " + "[" * 60_000, "\tx: 1\n", "a: b: c\n", "checkpoint: {}\ncheckpoint: {}\n"):
        settings(case, text)
        holds(case.pawl("list", status=2, timeout=20).stderr, "PAWL-0025")


def settings_that_cant_be_read_are_not_ignored(case):
    os.makedirs(os.path.join(case.env["PAWL_STORE"], "config.yaml"))
    holds(case.pawl("save", "r", stdin="1", status=2).stderr, "PAWL-0025", "store/config.yaml")


# Effects of settings.

def the_storage_path_names_the_store(case):
    env = {"PAWL_STORE": ""}
    users_settings(case, "checkpoint: { storage_path: ./outputs }\n")
    case.pawl("save", "r", stdin="1", status=0, env=env)
    assert os.path.isdir(os.path.join(case.folder, "outputs", "runs", "r"))
    case.pawl("save", "r", stdin="1", status=0, env={**env, "PAWL_CHECKPOINT_STORAGE_PATH": "other"})
    assert os.path.isdir(os.path.join(case.folder, "other", "runs", "r"))
    case.pawl("--store", "third", "save", "r", stdin="1", status=0, env=env)
    assert os.path.isdir(os.path.join(case.folder, "third", "runs", "r"))
    users_settings(case, "checkpoint: { storage_path: './outputs/{TASK}/checkpoints' }\n")
    holds(case.pawl("list", status=2, env=env).stderr, "placeholder")


def checkpoints_can_be_turned_off(case):
    path = settings(case, "checkpoint: { enabled: false }\n")
    for args in ([], ["--json"]):
        done = case.run("steps:\n- {id: a, run: echo a >> log}\n", *args)
        line = f"checkpoints are off (checkpoint.enabled: false in {path}:1): this run can't be resumed"
        equal(done.stderr.count(line), 2)
    equal(case.log(), ["a", "a"])
    equal(os.listdir(case.env["PAWL_STORE"]), ["config.yaml"])
    for args in (["save", "r"], ["resume", "r"], ["step", "a", "--run", "r", "--", "true"]):
        holds(case.pawl(*args, stdin="1", status=4).stderr, "PAWL-0240", f"{path}:1")
    failed = case.run("steps:\n- {id: a, run: 'false'}\n", status=1)
    assert "pawl resume" not in failed.stderr, failed.stderr
    case.pawl("save", "r", stdin="1", status=0, env={"PAWL_CHECKPOINT_ENABLED": "true"})


def a_large_state_is_saved_with_a_warning(case):
    large = json.dumps({"notes": "x" * 600_000})
    saved = case.pawl("save", "r", stdin=large, status=0)
    equal(saved.stdout, "r@1\n")
    holds(saved.stderr, "warning: ", "500KB", "pawl stats r")
    patched = json.loads(case.pawl("save", "r", "--patch", "--json", stdin='{"a": 1}', status=0).stdout)
    equal(len(patched["warnings"]), 1)
    small = json.loads(case.pawl("save", "s", "--json", stdin="{}", status=0).stdout)
    assert "warnings" not in small
    quiet = case.pawl("save", "t", stdin=large, status=0, env={"PAWL_CHECKPOINT_SIZE_WARNING": "1MB"})
    equal(quiet.stderr, "")


def a_workflow_with_a_large_state_says_so_once(case):
    text = ("steps:\n- {id: a, run: \"head -c 700 /dev/zero | tr '\\\\0' x\", capture: {format: text}}\n"
            "- {id: b, run: 'true'}\n- {id: c, run: 'true'}\n")
    done = case.run(text, env={"PAWL_CHECKPOINT_SIZE_WARNING": "600B"})
    equal(done.stderr.count("warning: "), 1)
    equal(len(case.events("large_checkpoint")), 1)


def a_state_above_the_limit_is_refused(case):
    env = {"PAWL_CHECKPOINT_CHECKPOINT_SIZE_LIMIT_MB": "1"}
    failed = case.pawl("save", "r", stdin=json.dumps("x" * 1_100_000), status=2, env=env)
    holds(failed.stderr, "PAWL-0009", "1048576", "checkpoint_size_limit_mb")
    case.pawl("save", "r", stdin=json.dumps({"a": "x" * 1_000_000}), status=0, env=env)
    failed = case.pawl("save", "r", "--patch", stdin=json.dumps({"b": "x" * 100_000}), status=2, env=env)
    holds(failed.stderr, "PAWL-0009", "1048576", "checkpoint_size_limit_mb")
    case.pawl("save", "r", "--patch", stdin=json.dumps({"b": "x" * 100_000}), status=0)


def a_workflow_whose_state_passes_the_limit_stops_and_can_go_on_with_a_larger_one(case):
    text = "steps:\n- {id: a, run: echo a >> log; printf %01600d 1, capture: {format: text}}\n- {id: b, run: echo b >> log}\n"
    failed = case.run(text, status=2, env={"PAWL_CHECKPOINT_SIZE_LIMIT": "1500B"}, timeout=20)
    holds(failed.stderr, "PAWL-0009", "1500", "checkpoint_size_limit_mb")
    assert "b" not in case.log()
    case.pawl("resume", "r", status=0)
    equal(case.log(), ["a", "a", "b"])


def new_runs_are_made_with_async_writes(case):
    case.pawl("save", "old", stdin="1", status=0)
    settings(case, "performance: { async_writes: true }\n")
    case.pawl("save", "old", stdin="2", status=0)
    case.pawl("save", "new", stdin="1", status=0)
    case.pawl("save", "sync", "--durability", "sync", stdin="1", status=0)
    levels = {run["run"]: run["durability"] for run in json.loads(case.pawl("list", "--json", status=0).stdout)}
    equal(levels, {"old": "sync", "new": "async", "sync": "sync"})


def decisions_are_saved_one_by_one_where_asked(case):
    text = ("steps:\n- id: a\n  run: |\n    for n in 1 2 3; do echo \"{\\\"decision\\\": {\\\"n\\\": $n}}\" >> $PAWL_RESULT; done\n")
    case.run(text)
    equal(len({event["seq"] for event in case.events("decision")}), 1)
    case.write("workflow.yaml", text)
    case.pawl("run", "--run-id", "alone", status=0, env={"PAWL_PERFORMANCE_BATCH_DECISIONS": "false"})
    events = case.events("decision", run="alone")
    equal([event["data"]["n"] for event in events], [1, 2, 3])
    equal(len({event["seq"] for event in events}), 3)


def a_decision_that_was_saved_alone_is_not_told_again_after_a_crash(case):
    case.write("workflow.yaml", """\
        steps:
        - id: a
          run: |
            i=0
            while [ $i -lt 400 ]; do i=$((i + 1)); echo "{\\"decision\\": {\\"n\\": $i, \\"by\\": $$}}"; done > $PAWL_RESULT
        """)
    case.env["PAWL_PERFORMANCE_BATCH_DECISIONS"] = "false"
    process = case.start("run", "--run-id", "r")

    def told():
        listed = case.pawl("list", "--json")
        return listed.returncode == 0 and any(run["latest"] > 10 for run in json.loads(listed.stdout))

    wait_for(told, "some decisions")
    process.kill()
    process.wait()
    case.pawl("resume", "r", status=0)
    pairs = [(event["data"]["n"], event["data"]["by"]) for event in case.events("decision")]
    equal(len(pairs), len(set(pairs)))
    equal({n for n, _ in pairs}, set(range(1, 401)))


def an_automatic_recovery_has_a_time_limit(case):
    case.write("crash.yaml", "grace: 100ms\nsteps:\n- {id: a, run: touch runs; sleep 60}\n")
    process = case.start("run", "crash.yaml", "--run-id", "crashed")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    process.kill()
    process.wait()
    settings(case, "recovery: { auto_recovery: true, timeout: 300ms }\n")
    done = case.run("steps:\n- {id: a, run: 'true'}\n")
    holds(done.stderr, "run crashed: not completed within 300 ms", "pawl resume crashed")
    equal((case.state("crashed")["status"], case.state()["status"]), ("interrupted", "completed"))


# Doctor.

def checks_of(done):
    return {check["check"]: check for check in json.loads(done.stdout)["checks"]}


def the_doctor_says_what_is_fine(case):
    case.pawl("save", "r", stdin="1", status=0)
    checks = checks_of(case.pawl("doctor", "--json", status=0))
    for name in ("version", "settings", "store", "file system", "free space", "sync", "clock", "permissions", "locks", "left-overs", "sh", "git"):
        assert name in checks, name
        assert checks[name]["verdict"] != "broken", checks[name]
    holds(checks["store"]["what"], "format ", "1 run")
    text = case.pawl("doctor", status=0).stdout
    holds(text, "ok       version: pawl", "no run has a writer")


def the_doctor_works_without_a_store(case):
    checks = checks_of(case.pawl("doctor", "--json", status=0))
    equal(checks["store"]["verdict"], "warning")
    holds(checks["store"]["advice"], "pawl init")
    assert "sync" in checks and not os.path.exists(case.env["PAWL_STORE"])


def the_doctor_finds_wrong_settings(case):
    settings(case, "recovery: { auto: perhaps }\n")
    done = case.pawl("doctor", "--json", status=2)
    equal(checks_of(done)["settings"]["verdict"], "broken")
    equal(checks_of(done)["settings"]["code"], "PAWL-0025")


def the_doctor_finds_an_open_key_file_and_an_open_folder(case):
    case.pawl("save", "r", stdin="1", status=0)
    key = case.write("key", "secret")
    os.chmod(key, 0o644)
    settings(case, f"encryption: {{ key_file: {key} }}\n")
    os.chmod(case.env["PAWL_STORE"], stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
    done = case.pawl("doctor", "--json")
    checks = checks_of(done)
    equal((done.returncode, checks["key file"]["verdict"], checks["permissions"]["verdict"]), (5, "broken", "warning"))
    holds(checks["key file"]["advice"], "chmod 600")
    os.chmod(key, 0o600)
    equal(checks_of(case.pawl("doctor", "--json"))["key file"]["verdict"], "ok")


def the_doctor_names_who_writes_a_run_and_what_was_left_over(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: touch runs; sleep 60}\n")
    process = case.start("run", "--run-id", "r")
    wait_for(lambda: os.path.exists(os.path.join(case.folder, "runs")), "the step")
    left = case.write("store/runs/r/old.tmp", "x")
    os.utime(left, (1, 1))
    checks = checks_of(case.pawl("doctor", "--json", status=0))
    process.terminate()
    process.wait()
    holds(checks["locks"]["what"], "r by", str(process.pid))
    equal(checks["left-overs"]["verdict"], "warning")
    holds(checks["left-overs"]["what"], left)


def the_doctor_finds_a_damaged_store(case):
    case.pawl("save", "r", stdin="1", status=0)
    case.write("store/store.json", "{")
    done = case.pawl("doctor", "--json", status=4)
    equal(checks_of(done)["store"]["verdict"], "broken")


# Stats.

def stats_show_which_runs_are_large(case):
    case.pawl("save", "small", stdin='{"a": 1}', status=0)
    for n in range(1, 11):
        case.pawl("save", "large", stdin=json.dumps({"log": ["x" * 1000] * n, "k": 1}), status=0)
    case.write("workflow.yaml", "steps:\n- {id: a, run: head -c 200000 /dev/zero}\n")
    case.pawl("run", "--run-id", "flow", status=0)
    shown = json.loads(case.pawl("stats", "--json", status=0).stdout)
    rows = {row["run"]: row for row in shown["runs"]}
    equal(shown["runs"], sorted(shown["runs"], key=lambda row: -row["bytes"]))
    assert rows["flow"]["footprint"]["logs"] >= 200000, rows["flow"]
    assert rows["flow"]["footprint"]["events"] > 0
    equal((rows["large"]["checkpoints"], rows["small"]["growth_per_checkpoint"]), (10, 0))
    assert 900 < rows["large"]["growth_per_checkpoint"] < 1100, rows["large"]
    total = shown["total"]
    equal((total["runs"], total["bytes"]), (3, total["run_bytes"] + total["shared_bytes"]))
    equal(total["run_bytes"], sum(row["bytes"] for row in shown["runs"]))
    assert total["shared_bytes"] > 0
    equal(len(json.loads(case.pawl("stats", "--top", "1", "--json", status=0).stdout)["runs"]), 1)
    text = case.pawl("stats", "--top", "1", status=0)
    holds(text.stdout, "RUN", "flow", "3 runs", "journals and catalogue")
    holds(text.stderr, "use --top to see more")


def stats_show_which_keys_grow(case):
    for n in range(1, 31):
        case.pawl("save", "r", stdin=json.dumps({"history": {"long": ["x" * 100] * n, "short": 1}, "fixed": "y" * 500, "n": n}), status=0)
    shown = json.loads(case.pawl("stats", "r", "--json", status=0).stdout)
    equal([key["key"] for key in shown["keys"]], ["history", "fixed", "n"])
    history, fixed = shown["keys"][0], shown["keys"][1]
    assert history["grown_bytes"] > 2900 and history["share"] > 0.8, history
    equal(fixed["grown_bytes"], 0)
    equal(history["keys"][0]["key"], "long")
    equal(len(history["history"]), 10)
    equal(history["history"], sorted(history["history"]))
    sequences = [sample["sequence"] for sample in shown["history"]]
    equal((sequences[0], sequences[-1], len(sequences)), (1, 30, 10))
    text = case.pawl("stats", "r", status=0).stdout
    holds(text, "30 checkpoints", "history", "  .long", "fixed", "@1")
    holds(case.pawl("stats", "missing", status=2).stderr, "PAWL-0101")
    holds(case.pawl("--store", "nowhere", "stats", status=2).stderr, "PAWL-0103")


def stats_of_one_checkpoint_and_of_states_without_keys(case):
    case.pawl("save", "one", stdin='{"a": "\\u001b[31m"}', status=0)
    case.pawl("save", "plain", stdin="42", status=0)
    equal(json.loads(case.pawl("stats", "one", "--json", status=0).stdout)["growth_per_checkpoint"], 0)
    equal(json.loads(case.pawl("stats", "plain", "--json", status=0).stdout)["keys"], [])
    holds(case.pawl("stats", "plain", status=0).stdout, "no keys")


run_tests(globals())
