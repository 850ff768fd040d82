#!/usr/bin/env python3
"""The commands that trace_states.py traces, and the program that runs them under strace.

A group is a list of commands that run at the same time. A group begins when the one before it has ended.
"""
import json
import os
import subprocess
import sys

SECRET = "MARKER-OF-AN-ERASED-RUN-"
PRUNED = "MARKER-OF-A-PRUNED-STATE-"

WORKFLOWS = {
    "flow.yaml": """\
name: flow
steps:
  - { id: one, run: 'echo "${run.id} one" >> log; echo 1', capture: { format: json } }
  - { id: two, run: 'echo "${run.id} two" >> log', needs: [] }
  - { id: gate, approve: 'Continue?', needs: [one, two] }
  - { id: three, run: 'echo "${run.id} three" >> log' }
  - { id: four, run: 'echo "${run.id} four" >> log' }
""",
    "signal.yaml": """\
name: signal
steps:
  - { id: one, run: 'echo "${run.id} one" >> log' }
  - { id: go, wait_for: go }
  - { id: two, run: 'echo "${run.id} two" >> log' }
""",
    "items.yaml": """\
name: items
steps:
  - id: pages
    map: { items: [a, b, c], parallel: 2, on_item_failure: dlq }
    steps:
      - { id: page, run: 'echo "${run.id} page-${item}" >> log; test ${item} != b || test -e fixed' }
    reduce: { run: 'echo "${run.id} reduce" >> log' }
""",
    "nested.yaml": """\
name: nested
steps:
  - { id: one, run: 'echo "${run.id} one" >> log' }
  - { id: inner, workflow: inner.yaml }
  - id: turns
    loop: { max: 2 }
    steps: [{ id: turn, run: 'echo "${run.id} turn-${loop.iteration}" >> log' }]
""",
    "inner.yaml": "name: inner\nsteps:\n  - { id: deep, run: 'echo \"${run.id} deep\" >> log' }\n",
}


def save(run, state, *more, store="store", **others):
    return {"args": ["save", run, *more], "stdin": json.dumps(state), "store": store, "run": run, "saves": True, **others}


def identified(run, state, identity, *more, **others):
    return save(run, state, "--id", identity, *more, **others)


def wide(number, size, mark=""):
    return {"number": number, "rows": [f"{mark}{number:04} {row % 97:06}" for row in range(size // (14 + len(mark)))]}


def act(*args, store="store", status=0, **others):
    return {"args": list(args), "stdin": "", "store": store, "status": status, **others}


def start(file, run, status):
    return act("run", f"outside/{file}", "--run-id", run, status=status, run=run, workflow=file)


def step(name, command, status=0):
    return act("step", "--run", "script", name, "--", "sh", "-c", command, status=status, run="script", step=name)


def wait_lock(command):
    command["args"] += ["--wait-lock", "60s"]
    return command


def beginning():
    return [
        [act("init")],
        [identified("alpha", {"done": 1}, "a-1")],
        [identified("alpha", {"done": 2}, "a-2", "--patch")],
        [save("alpha", {"done": 3, "text": "x" * 300}, "--name", "kept")],
        [identified("beta", wide(1, 200_000), "b-1")],
        [identified("beta", {"extra": True}, "b-2", "--patch")],
    ]


def short():
    """For the gate: most kinds of commands once, few bytes."""
    return [
        *beginning(),
        [step("one", "echo 'script one' >> outside/log; echo said")],
        [start("flow.yaml", "flow", 3)],
        [act("approve", "flow", run="flow", unblocks="flow")],
        [act("resume", "flow", run="flow", workflow="flow.yaml")],
        [act("fork", "alpha@2", "--run-id", "fork", run="fork")],
        [identified(f"together-{number}", wide(number, 30_000), f"t-{number}") for number in range(3)] + [act("fsck", "--repair")],
        [act("prune", "alpha", "--keep", "1", run="alpha")],
        [save("secret", {"text": SECRET * 30}, "--step", SECRET)],
        [act("erase", "secret", "--reason", "request", "--yes", run="secret", erases=SECRET)],
        [act("remove-catalogue")],
        [identified("alpha", {"done": 4}, "a-4")],
    ]


def full(commands):
    """Returns 60 commands and more. `commands` is what `pawl --help` prints: it tells which commands there are."""
    gamma = [[identified("gamma", wide(number, 900_000), f"g-{number}")] for number in range(7)]
    groups = [
        *beginning(),
        [save("beta", wide(2, 1_600_000))],  # a blob
        [step("one", "echo 'script one' >> outside/log; echo said")],
        [step("two", "echo 'script two' >> outside/log; test -e outside/fixed", status=1)],
        [step("three", "echo 'script three' >> outside/log; head -c 300000 /dev/zero | tr '\\0' x")],
        [start("flow.yaml", "flow", 3)],
        [act("approve", "flow", run="flow", unblocks="flow")],
        [act("resume", "flow", run="flow", workflow="flow.yaml")],
        [start("signal.yaml", "signal", 3)],
        [act("signal", "signal", "go", "--payload", "now", run="signal", unblocks="signal")],
        [act("resume", "signal", run="signal", workflow="signal.yaml")],
        [act("fork", "alpha@2", "--run-id", "fork", run="fork")],
        [identified("fork", {"of": "alpha"}, "f-1")],
        [act("fork", "fork@3", "--run-id", "fork-2", run="fork-2")],
        [act("rollback", "alpha@1", run="alpha")],
        *gamma,
        [identified(f"together-{number}", wide(number, 400_000), f"t-{number}") for number in range(4)],
        [wait_lock(identified("queue", {"turn": turn}, f"q-{turn}")) for turn in range(3)] + [act("fsck", "--repair"), act("list")],
        [identified(f"together-{number}", wide(number + 4, 900_000), f"u-{number}") for number in range(4)] + [act("fsck", "--repair")],
        [start("items.yaml", "items", 0)],
        [act("dlq", "retry", "items", "--no-run", run="items")],
        [act("resume", "items", run="items", workflow="items.yaml")],
        [act("dlq", "drop", "items", "--all", run="items")],
        [start("nested.yaml", "nested", 0)],
        [save("pruned", {"text": PRUNED * 30})],
        [save("pruned", {"text": "y" * 900, "number": 2})],
        [identified("pruned", {"text": "y" * 900, "number": 3}, "p-3")],
        [act("prune", "pruned", "--keep", "1", run="pruned")],
        [act("prune", "alpha", "--keep", "2", run="alpha")],
        [save("alpha", {"done": 5})],
        [act("prune", "gamma", "--keep", "1", run="gamma"), identified("beta", {"extra": False}, "b-3", "--patch")],
        [identified("secret", {"text": SECRET * 30}, "s-1", "--step", SECRET)],
        [identified("secret", {"text": SECRET * 40}, "s-2", "--metadata", json.dumps({"about": SECRET}))],
        [act("erase", "secret", "--reason", "request", "--yes", run="secret", erases=SECRET)],
        [save("doomed", {"done": 1})],
        [act("rm", "doomed", "--reason", "old", "--yes", run="doomed")],
        [act("export", "fork", "-o", "fork.pawl")],
        [act("export", "gamma", "-o", "gamma.pawl")],
        [act("import", "gamma.pawl", store="other", run="gamma")],
        [identified("gamma", {"in": "other"}, "o-1", store="other")],
        [act("init", "--encrypt", "--key-file", "@/vault.key", store="vault")],
        [identified("hidden", {"done": 1}, "h-1", store="vault")],
        [identified("hidden", wide(1, 100_000), "h-2", store="vault")],
        [act("rekey", store="vault", changes_key=True)],
        [identified("hidden", {"done": 3}, "h-3", store="vault")],
        [act("audit", "add", "alpha", "--type", "reviewed", "--data", "{}", run="alpha")],
        [act("remove-catalogue")],
        [act("list")],
        [act("remove-catalogue")],
        [identified("alpha", {"done": 6}, "a-6")],
        [wait_lock(identified("queue", {"turn": turn}, f"q-{turn}")) for turn in range(3, 6)] + [act("prune", "beta", "--keep", "2", run="beta"), act("fsck", "--repair")],
    ]
    if " backup " in commands:
        groups += [
            [act("backup", "create", "@/backup.pawl", backup="backup.pawl")],
            [act("backup", "create", "@/second.pawl", backup="second.pawl"), identified("alpha", {"done": 7}, "a-7")],
            [act("backup", "restore", "@/backup.pawl", "--to", "@/restored")],
            [identified("alpha", {"in": "the restored store"}, "r-1", store="restored")],
        ]
    return groups


def environment(folder, store="store"):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
    made = {**kept, "PAWL_STORE": os.path.join(folder, store), "NO_COLOR": "1", "PAWL_CHECKPOINT_COMPRESSION": "none", "USER": "ada",
            "XDG_CONFIG_HOME": os.path.join(folder, "outside", "config")}
    if store == "vault":
        made["PAWL_KEY_FILE"] = os.path.join(folder, "vault.key")
    return made


def perform(program, folder, groups):
    """Runs the groups. Reports each command that ended in outside/acknowledged, whose writes are in the trace."""
    number = 0
    with open("outside/acknowledged", "w", buffering=1, encoding="utf-8") as report:
        for index, group in enumerate(groups):
            report.write(json.dumps({"group": index}) + "\n")
            running = []
            for command in group:
                number += 1
                if command["args"] == ["remove-catalogue"]:
                    os.unlink("store/catalogue.db")
                    continue
                # A pipe for the input, so that no traced file is needed for it.
                with open(f"outside/out.{number}", "w", encoding="utf-8") as out, open(f"outside/err.{number}", "w", encoding="utf-8") as errors:
                    process = subprocess.Popen([program, *(arg.replace("@/", folder + "/") if arg.startswith("@/") else arg for arg in command["args"])], cwd=folder, env=environment(folder, command["store"]),
                                               stdin=subprocess.PIPE, stdout=out, stderr=errors)
                running.append((number, command, process))
                process.stdin.write(command["stdin"].encode())
                process.stdin.close()
            waiting = {process.pid: (number, command, process) for number, command, process in running}
            while waiting:
                pid, status = os.wait()
                if pid in waiting:
                    ended, command, process = waiting.pop(pid)
                    process.returncode = os.waitstatus_to_exitcode(status)
                    report.write(json.dumps({"ended": ended, "status": process.returncode}) + "\n")
            report.write(json.dumps({"done": index}) + "\n")
            print(index, flush=True)
            if not sys.stdin.readline():  # until what the store contains now was written down
                return


if __name__ == "__main__":
    with open(sys.argv[3], encoding="utf-8") as chosen:
        os.chdir(sys.argv[2])
        perform(sys.argv[1], sys.argv[2], json.load(chosen))
