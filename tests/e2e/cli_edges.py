#!/usr/bin/env python3
"""Tests what happens at the edges of the command line: runs in use, lost streams, odd files, signals and hints.

  cli_edges.py PAWL [name of a test]...
"""
import json
import os
import signal
import subprocess
import time

from workflow_case import equal, holds, run_tests, wait_for


def start_step(case, name, command, *args, run="job"):
    return case.start("step", "--run", run, name, *args, "--", "sh", "-c", command)


def shell(case, line, timeout=60):
    return subprocess.run(["bash", "-c", line], cwd=case.folder, env=case.env | {"PAWL": case.program}, capture_output=True, text=True, timeout=timeout)


def exists(case, name):
    return os.path.exists(os.path.join(case.folder, name))


def shown(case, run="job"):
    return json.loads(case.pawl("show", run, "--json", status=0).stdout)


def listed(case, option=None, *args):
    return {row["run"]: row["status"] for row in json.loads(case.pawl("list", "--json", *([option] if option else []), *args, status=0).stdout)}


def a_run_whose_step_is_running_is_not_removed(case):
    process = start_step(case, "a", "touch runs; while [ ! -e go ]; do sleep 0.02; done; echo result")
    wait_for(lambda: exists(case, "runs"), "the step")
    equal((listed(case)["job"], shown(case)["status"]), ("running", "running"))
    equal(list(listed(case, "--running")), ["job"])
    holds(case.pawl("rm", "job", "--yes", status=4).stderr, "PAWL-0201", "step 'a' is running")
    holds(case.pawl("rm", "job", "--yes", "--force", status=4).stderr, "PAWL-0201")
    holds(case.pawl("erase", "job", "--reason", "x", "--yes", status=4).stderr, "PAWL-0201")
    case.pawl("rm", "--older-than", "0d", "--yes", status=0)
    case.write("go", "")
    equal((process.communicate(timeout=20)[0], process.returncode), ("result\n", 0))
    equal((listed(case)["job"], shown(case)["status"]), ("completed", "completed"))
    case.pawl("rm", "job", "--yes", status=0)


def erasing_waits_for_a_step_on_request(case):
    process = start_step(case, "a", "touch runs; sleep 1; echo result")
    wait_for(lambda: exists(case, "runs"), "the step")
    case.pawl("erase", "job", "--reason", "x", "--yes", "--wait-lock", "20s", status=0)
    equal((process.communicate(timeout=20)[0], process.returncode), ("result\n", 0))


def a_run_whose_step_was_interrupted_is_removed_only_on_request(case):
    process = start_step(case, "a", "touch runs; sleep 60")
    wait_for(lambda: exists(case, "runs"), "the step")
    process.kill()
    process.wait(20)
    wait_for(lambda: shown(case)["status"] == "interrupted", "the keeper to end the step")
    equal(listed(case)["job"], "interrupted")
    equal(list(listed(case, "--status", "interrupted")), ["job"])
    holds(case.pawl("rm", "job", "--yes", status=4).stderr, "PAWL-0257", "--force")
    case.pawl("rm", "--older-than", "0d", "--yes", status=0)
    equal(list(listed(case)), ["job"])
    case.pawl("rm", "job", "--yes", "--force", status=0)


def runs_that_go_on_are_not_selected_by_age(case):
    for status in ("active", "recovering", "completed"):
        case.pawl("save", status, stdin="{}", status=0)
        if status != "active":
            case.pawl("save", status, "--status", status, stdin='{"n": 1}', status=0)
    case.pawl("rm", "--older-than", "0d", "--yes", status=0)
    equal(sorted(listed(case)), ["active", "recovering"])


BROKEN = "mkfifo p; exec 3<>p; exec 4>p; exec 3<&-; {} >&4; echo status $?; rm p"


def output_that_cannot_be_passed_on_is_recorded(case):
    command = "$PAWL step {} --run job -- sh -c 'echo one; sleep 0.2; echo two; echo ran >> log; exit {}'"
    for number, line in enumerate((BROKEN.format(command), command + " >&-; echo status $?", command + " >/dev/full; echo status $?", command + " | true; echo status ${{PIPESTATUS[0]}}")):
        for status in (0, 7):
            name = f"s{number}-{status}"
            done = shell(case, line.format(name, status))
            equal(done.stdout, f"status {status}\n")
            equal("No space left on device" in done.stderr, "/dev/full" in line)
            equal(case.pawl("logs", "job", name, status=0).stdout, "one\ntwo\n")
        equal(shell(case, command.format(f"s{number}-0", 0)).stdout, "one\ntwo\n")
    equal(case.log(), ["ran"] * 8)


def a_blocked_reader_holds_up_neither_timeouts_nor_signals(case):
    reading, writing = os.pipe()
    began = time.monotonic()
    done = subprocess.run([case.program, "step", "--run", "job", "a", "--timeout", "1s", "--", "yes"], cwd=case.folder, env=case.env, stdout=writing, timeout=30)
    equal(done.returncode, 124)
    process = subprocess.Popen([case.program, "step", "--run", "job", "b", "--", "sh", "-c", "touch runs; yes"], cwd=case.folder, env=case.env, stdout=writing)
    case.started.append(process)
    wait_for(lambda: exists(case, "runs"), "the step")
    time.sleep(0.3)
    process.terminate()
    equal(process.wait(20), 143)
    # A command that has finished keeps its status, even if nobody reads its last output.
    process = subprocess.Popen([case.program, "step", "--run", "job", "c", "--", "sh", "-c", "echo last; touch done"], cwd=case.folder, env=case.env, stdout=writing)
    case.started.append(process)
    wait_for(lambda: exists(case, "done"), "the command")
    time.sleep(0.3)
    process.terminate()
    equal(process.wait(20), 0)
    assert time.monotonic() - began < 25
    os.close(reading)
    os.close(writing)
    equal({one["id"]: one["status"] for one in shown(case)["steps"]}, {"a": "failed", "b": "interrupted", "c": "completed"})


def a_slow_reader_gets_everything(case):
    done = shell(case, "$PAWL step a --run job -- head -c 3000000 /dev/zero | (sleep 0.5; wc -c)")
    equal(done.stdout.strip(), "3000000")


ODD_RESULTS = ("mkfifo $PAWL_RESULT", "ln -s /etc/passwd $PAWL_RESULT", "ln -s /nowhere $PAWL_RESULT", "mkdir $PAWL_RESULT")


def a_result_that_is_not_a_regular_file_fails_the_step(case):
    for number, command in enumerate(ODD_RESULTS):
        done = case.pawl("step", "--run", "job", f"s{number}", "--", "sh", "-c", command, status=1, timeout=20)
        holds(done.stderr, "can't read $PAWL_RESULT: not a regular file")
        assert "root" not in done.stderr, done.stderr
        case.write("workflow.yaml", f"steps:\n  - {{id: a, run: '{command}'}}\n")
        done = case.pawl("run", "--run-id", f"w{number}", status=1, timeout=20)
        holds(done.stderr + done.stdout, "can't read $PAWL_RESULT: not a regular file")
    equal({one["status"] for one in shown(case)["steps"]}, {"failed"})
    case.pawl("step", "--run", "job", "s0", "--", "true", status=0)


def a_save_does_not_replace_the_list_of_steps(case):
    case.pawl("step", "--run", "job", "a", "--", "echo", "A", status=0)
    for extra in ((), ("--patch",), ("--force",)):
        holds(case.pawl("save", "job", *extra, stdin='{"steps": null}', status=4).stderr, "PAWL-0204", "pawl step")
    equal(case.pawl("step", "--run", "job", "a", "--", "echo", "B", status=0).stdout, "A\n")
    case.pawl("fork", "job", "--run-id", "copy", status=0)
    case.pawl("save", "copy", stdin="{}", status=4)
    case.pawl("save", "own", stdin="{}", status=0)
    holds(case.pawl("step", "--run", "own", "a", "--", "true", status=2).stderr, "PAWL-0107", "steps of a script can't be recorded in this run")


def a_store_that_is_a_broken_link_is_an_error(case):
    os.makedirs(os.path.join(case.folder, "q", "sub"))
    os.symlink("/mnt/not-mounted/store", os.path.join(case.folder, "q", ".pawl"))
    case.env.pop("PAWL_STORE")
    for folder in ("q/sub", "q"):
        for command in ("step --run r a -- echo ran", "list", "save r --state /dev/null", "fsck"):
            done = shell(case, f"cd {folder}; echo '{{}}' | $PAWL {command}; echo status $?")
            if "save" not in command:
                holds(done.stderr, "PAWL-0103", "symbolic link to /mnt/not-mounted/store", "q/.pawl" if folder == "q/sub" else ".pawl")
            equal(done.stdout, "status 2\n")
            equal(os.listdir(os.path.join(case.folder, "q", "sub")), [])
    done = shell(case, "$PAWL --store q/.pawl list; ln -s /mnt/x/y z; echo '{}' | $PAWL --store z save r")
    holds(done.stderr, "/mnt/not-mounted/store", "/mnt/x/y")


def a_missing_place_for_the_store_is_named(case):
    case.env.pop("PAWL_STORE")
    for command in ("list", "step --run r a -- true"):
        done = shell(case, f"mkdir gone; cd gone; rmdir ../gone; $PAWL {command}")
        holds(done.stderr, "the current folder no longer exists")
    holds(shell(case, "echo '{}' | $PAWL --store /proc/x save r").stderr, "no folder can be created there")
    holds(shell(case, "echo '{}' | $PAWL --store no/x save r").stderr, "create its parent folder first")


def signals_for_the_command_are_passed_on(case):
    script = 'trap "echo USR1 >> log" USR1; trap "echo USR2 >> log" USR2; trap "echo ALRM >> log" ALRM; echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; echo fine'
    process = start_step(case, "a", script)
    wait_for(lambda: case.log("pid"), "the step")
    for name in ("USR1", "USR2", "ALRM"):
        process.send_signal(getattr(signal, f"SIG{name}"))
        wait_for(lambda: name in case.log(), name)
    process.send_signal(signal.SIGWINCH)
    case.write("go", "")
    equal((process.communicate(timeout=20)[0], process.returncode), ("fine\n", 0))
    equal(shown(case)["status"], "completed")


def a_limit_on_the_size_of_files_is_a_storage_error(case):
    case.pawl("step", "--run", "job", "a", "--", "true", status=0)
    done = shell(case, "ulimit -f 1; head -c 100000 /dev/urandom | base64 -w 0 | sed 's/.*/\"&\"/' | $PAWL save big; echo status ${PIPESTATUS[3]}")
    equal(done.stdout, "status 5\n")
    holds(done.stderr, "File too large", "ulimit -f")


def dropped_items_stay_failed(case):
    case.write("workflow.yaml", """
        steps:
          - id: m
            map: {items: [1, 2, 3], on_item_failure: dlq}
            steps: [{id: i, run: 'test ${item} = 1'}]
        """)
    case.pawl("run", "--run-id", "r", status=0)
    before = shown(case, "r")["steps"]
    case.pawl("dlq", "drop", "r", "2", status=0)
    case.pawl("dlq", "drop", "r", "--all", status=0)
    step = [one for one in shown(case, "r")["steps"] if one["id"] == "m"][0]
    equal((step["succeeded"], step["failed"]), (1, 2))
    equal([one for one in before if one["id"] == "m"][0]["failed"], 2)
    holds(case.pawl("show", "r", status=0).stdout, "1 succeeded, 2 failed (3 items)")
    holds(case.pawl("handoff", "r", status=0).stdout, "3 items, 2 failed")
    equal(json.loads(case.pawl("dlq", "list", "r", "--json", status=0).stdout), [])
    case.pawl("dlq", "retry", "r", status=4)


def removing_waits_for_a_run_on_request(case):
    case.write("workflow.yaml", "steps: [{id: a, run: 'touch runs; sleep 1'}]\n")
    process = case.start("run", "--run-id", "w")
    wait_for(lambda: exists(case, "runs"), "the step")
    case.pawl("rm", "w", "--yes", status=4)
    done = case.pawl("export", "w", status=4)
    assert "--wait-lock" not in done.stderr, done.stderr
    case.pawl("rm", "w", "--yes", "--wait-lock", "20s", status=0)
    process.wait(20)
    for command in (("dlq", "retry", "w"), ("dlq", "drop", "w")):
        holds(case.pawl(*command, "--help", status=0).stdout, "--wait-lock")


def a_number_that_json_cannot_hold_is_refused_by_fork(case):
    case.pawl("save", "n", stdin='{"n": 1}', status=0)
    for number in ("99999999999999999999999", "1e400", "-1e999", '[1, 1e400]'):
        holds(case.pawl("fork", "n", "--run-id", "n2", "--set", f"n={number}", status=2).stderr, "PAWL-0008")
    case.pawl("fork", "n", "--run-id", "n2", "--set", "n=01", status=0)
    equal(json.loads(case.pawl("restore", "n2", status=0).stdout), {"n": "01"})
    holds(case.pawl("fork", "n", "--set", "n.x=1", "--create", status=2).stderr, "pawl restore n@1")


def a_fork_of_a_completed_run_can_go_on(case):
    case.pawl("save", "r", "--status", "completed", stdin='{"a": 1}', status=0)
    holds(case.pawl("save", "r", "--status", "active", stdin='{"a": 2}', status=4).stderr, "PAWL-0204", "pawl fork r")
    case.pawl("fork", "r", "--run-id", "f", status=0)
    equal(listed(case)["f"], "active")
    case.pawl("save", "f", "--status", "active", stdin='{"a": 2}', status=0)


def without_its_key_a_list_shows_no_wrong_status(case):
    case.env["HOME"] = case.folder
    case.pawl("init", "--encrypt", status=0)
    case.pawl("step", "--run", "s", "a", "--", "echo", "hi", status=0)
    case.write("workflow.yaml", "steps: [{id: a, run: 'exit 1'}]\n")
    case.pawl("run", "--run-id", "w", status=1)
    equal(listed(case), {"s": "completed", "w": "failed"})
    case.env["HOME"] = case.env["XDG_CONFIG_HOME"] = "/nonexistent"
    equal(listed(case), {"s": "unknown", "w": "unknown"})
    holds(case.pawl("list", status=0).stderr, "unknown", "key")
    for status in ("active", "completed"):
        equal(listed(case, "--status", status), {})
    case.pawl("rm", "--older-than", "0d", "--yes", status=0)
    equal(len(listed(case)), 2)


def a_finished_run_keeps_its_status_whatever_the_workflow_is_now(case):
    case.write("workflow.yaml", "name: a\nsteps: [{id: a, run: 'true'}]\n")
    case.pawl("run", "--run-id", "r", "--session", "night", status=0)
    case.write("workflow.yaml", "name: b\nsteps: [{id: a, run: 'false'}]\n")
    done = case.pawl("run", "--run-id", "r", "--resume", "--session", "other", status=0)
    holds(done.stdout, "already completed")
    holds(done.stderr, "--session is ignored: run r already belongs to session 'night'")
    equal(case.pawl("run", "--run-id", "r", "--resume", "--session", "night", status=0).stderr, "")


def a_detached_resume_of_a_completed_run_says_so(case):
    case.write("workflow.yaml", "steps: [{id: a, run: 'true'}]\n")
    case.pawl("run", "--run-id", "r", status=0)
    done = case.pawl("run", "--run-id", "r", "--resume", "--detach", status=0)
    equal(done.stdout, "r\n")
    holds(done.stderr, "already completed")
    equal(json.loads(case.pawl("run", "--run-id", "r", "--resume", "--detach", "--json", status=0).stdout), {"run": "r", "log": None})


def hints_name_commands_that_work(case):
    case.write("workflow.yaml", "name: w\nsteps: [{id: g, approve: 'ok?'}]\n")
    case.pawl("run", "--run-id", "g", status=3)
    case.pawl("reject", "g", "g", status=0)
    case.pawl("resume", "g")
    equal(listed(case)["g"], "failed")
    assert "pawl resume" not in "".join(case.pawl("show", "g", status=0).stdout.splitlines()[1:]), "a rejection is final"
    equal(listed(case, "--resumable"), {})
    case.pawl("step", "--run", "s", "a", "--", "true", status=0)
    for command in (("cancel", "s"), ("approve", "s"), ("signal", "s", "x"), ("resume", "s")):
        holds(case.pawl(*command, status=2).stderr, "PAWL-0106", "run the script again", "pawl show s")
    holds(case.pawl("show", "s", "--all", status=0).stdout, "a")
    holds(case.pawl("show", "s", "--events", status=2).stderr, "PAWL-0106", "--events", "pawl show s")
    case.pawl("export", "s", "-o", "s.pawl", status=0)
    case.pawl("rm", "s", "--yes", status=0)
    holds(case.pawl("import", "s.pawl", status=2).stderr, "PAWL-0110", "import it into another store")
    assert "choose another id" not in case.pawl("show", "s", status=2).stderr
    case.write("odd name.yaml", "steps: [{id: a}]\n")
    holds(case.pawl("check", "odd name.yaml", status=2).stderr, "fix it, then run: pawl check 'odd name.yaml'")


def accepting_changes_in_another_folder_repeats_the_folder(case):
    os.makedirs(os.path.join(case.folder, "old"))
    case.write("old/workflow.yaml", "name: w\nsteps: [{id: a, run: 'test -e ok'}]\n")
    shell(case, "cd old; $PAWL run --run-id r")
    os.rename(os.path.join(case.folder, "old"), os.path.join(case.folder, "new"))
    case.write("new/workflow.yaml", "name: w\nsteps: [{id: a, run: 'true'}]\n")
    done = case.pawl("resume", "r", "--working-dir", "new", status=4)
    hint = done.stderr.split("hint: ")[1].strip().split(": ")[-1]
    holds(hint, "--working-dir", "--accept-changes")
    equal(shell(case, hint.replace("pawl", "$PAWL", 1)).returncode, 0)


def a_text_below_a_block_sign_must_be_indented(case):
    case.write("workflow.yaml", "steps:\n  - run: |\n    echo hi: x\n")
    holds(case.pawl("check", status=2).stdout, "2:10: 'run' is empty (indent the text below '|' more than 'run')")


def durations_of_zero_are_allowed_only_where_they_make_sense(case):
    case.pawl("save", "r", "--wait-lock", "0s", stdin="{}", status=0)
    for option in ("--timeout", "--backoff"):
        holds(case.pawl("step", "--run", "s", "a", option, "0s", "--", "true", status=2).stderr, "must be positive")


def an_invalid_progress_interval_is_an_error(case):
    case.write("workflow.yaml", "steps: [{id: a, run: 'true'}]\n")
    for value in ("bogus", "0s"):
        holds(case.pawl("run", status=2, env={"PAWL_PROGRESS_INTERVAL": value}).stderr, "PAWL-0025", "PAWL_PROGRESS_INTERVAL", value)
    case.pawl("run", status=0, env={"PAWL_PROGRESS_INTERVAL": "1m"})


run_tests(globals())
