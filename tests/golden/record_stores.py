#!/usr/bin/env python3
"""Records golden stores of the format that a program writes, and what the program said about them.

    tests/golden/record_stores.py PAWL OUT [NAME...]

Writes OUT/NAME.tar.xz, a folder with a store and the files that its workflows need, and OUT/NAME.json with the answers
of list, show, restore, verify, audit and fsck. stores_test.py compares the answers of the current program with them.
Recordings are made once per format and never changed afterwards: they stand for the stores that people have.
"""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
from workflow_case import Case, wait_for  # noqa: E402

MEMBERS_OF_RUN = ("run", "uuid", "kind", "status", "created", "updated", "durability", "workflow_hash", "session", "latest",
                  "sequence", "workflow_name", "progress", "usage")
MEMBERS_OF_CHECKPOINT = ("run", "sequence", "parent", "id", "created", "kind", "status", "reason", "name", "caller_id", "stage", "step",
                         "metadata", "state_bytes", "checksum")
MEMBERS_OF_STEP = ("step", "status", "attempts")
MEMBERS_OF_PROOF = ("run", "ok", "uuid", "entries", "head", "root", "checkpoints", "pruned", "events")


def prepare(case):
    """Sets what differs between machines and users, so that every store is recorded alike."""
    case.env = {name: value for name, value in case.env.items() if not name.startswith("PAWL_")}
    case.env.update(PAWL_STORE=os.path.join(case.folder, "store"), USER="ada", NO_COLOR="1", PAWL_CHECKPOINT_COMPRESSION="none")
    key = os.path.join(case.folder, "store.key")
    if os.path.exists(key):
        case.env["PAWL_KEY_FILE"] = key


def picked(record, members):
    return {name: record[name] for name in members if name in record}


def answer(case, *args):
    return json.loads(case.pawl(*args, "--json", status=0).stdout)


def facts(case):
    """Asks the program everything that must stay the same for a store that nobody changes."""
    listed = answer(case, "list", "--limit", "1000")
    result = {
        "list": [picked(run, MEMBERS_OF_RUN) for run in listed],
        "removed": [picked(run, ("run", "uuid", "latest", "by", "reason")) for run in answer(case, "list", "--removed")],
        "runs": {},
    }
    for run in (entry["run"] for entry in listed):
        result["runs"][run] = facts_of_run(case, run)
    proof = case.pawl("verify", "--all", "--json")
    result["verify"] = {"status": proof.returncode, "runs": [picked(run, MEMBERS_OF_PROOF) for run in json.loads(proof.stdout)["runs"]]}
    checked = json.loads(case.pawl("fsck", "--json").stdout)
    result["fsck"] = {"ok": checked["ok"], "runs": checked["runs"], "checkpoints": checked["checkpoints"]}
    return result


def facts_of_run(case, run):
    shown = case.pawl("show", run, "--checkpoints", "--after", "0", "--limit", "1000", "--json")
    if shown.returncode != 0:  # erased
        return {"unreadable": shown.stderr.split(": ")[1]}
    checkpoints = []
    for checkpoint in json.loads(shown.stdout):
        state = subprocess.run([case.program, "restore", f"{run}@{checkpoint['sequence']}"], cwd=case.folder, env=case.env,
                               capture_output=True, check=True).stdout
        checkpoints.append({**picked(checkpoint, MEMBERS_OF_CHECKPOINT), "restored": hashlib.sha256(state).hexdigest()})
    details = answer(case, "show", run)
    details = details if isinstance(details, dict) else {}  # a run without steps: a list of checkpoints
    trail = answer(case, "audit", "list", run)
    return {
        "checkpoints": checkpoints,
        "steps": [picked(step, MEMBERS_OF_STEP) for step in details.get("steps") or []],
        "waiting_for": [wait["what"] for wait in details.get("waiting_for") or []],
        "fork_of": details.get("fork_of"),
        "audit": [[entry["entry"], entry["type"], entry["hash"]] for entry in trail],
    }


def save(case, run, state, *more):
    case.pawl("save", run, *more, stdin=state if isinstance(state, str) else json.dumps(state), status=0)


def grow(case, run, count, first=1):
    for number in range(first, first + count):
        save(case, run, {"done": list(range(number)), "text": f"state {number} of {run} " + "x" * 200})


def start(case, *args, marker):
    """Starts a command, and waits until one of its steps has written the marker."""
    process = subprocess.Popen([case.program, *args], cwd=case.folder, env=case.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    case.started.append(process)
    wait_for(lambda: os.path.exists(os.path.join(case.folder, marker)), marker)
    time.sleep(0.2)  # for the steps beside it
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


GATE = "until test -e open; do sleep 0.02; done"


# Each function records one store.


def saves(case):
    """Saves with every label, as text, as patches and as a large state. The journal contains all of them."""
    save(case, "alpha", {"done": 1}, "--name", "first", "--session", "night", "--id", "job-1")
    save(case, "alpha", {"done": 2, "text": "Grüße, \u2028 and \u0000"}, "--stage", "load", "--step", "fetch", "--metadata", '{"team": "blue"}')
    save(case, "alpha", '{\n  "done": 2.50,\n  "lines": ["kept as given"]\n}\n')
    save(case, "alpha", {"done": 4, "lines": {"$append": ["more"]}}, "--patch", "--id", "job-4")
    save(case, "alpha", {"done": 5}, "--name", "last", "--kind", "barrier", "--status", "completed", "--reason", "after_step")
    save(case, "beta", {"words": ["a", "b"]}, "--session", "night", "--durability", "async")
    save(case, "large", {"rows": [f"row {number % 100:05}" for number in range(130_000)]})  # a blob
    save(case, "large", {"extra": 1}, "--patch")


def settled(case):
    """More than the segments of a journal hold, so that they were settled and recycled. Then nothing is in a journal."""
    grow(case, "small", 5)
    for number in range(12):
        save(case, "wide", {"number": number, "rows": [f"{number:04} {row % 64:06}" for row in range(50_000)]}, "--id", f"wide-{number}")
    grow(case, "small", 5, first=6)
    case.pawl("audit", "add", "small", "--type", "reviewed", "--data", '{"verdict": "fine"}', status=0)
    case.pawl("fsck", "--repair", status=0)


def pruned(case):
    """Pruned runs: dropped groups, kept files, tails, caller ids of pruned saves."""
    for number in range(1, 31):
        labels = ["--name", f"mark-{number}"] if number in (4, 17) else []
        save(case, "tail", {"number": number, "text": "y" * 300}, "--id", f"tail-{number}", *labels)
    case.pawl("prune", "tail", "--keep", "6", status=0)
    for number in range(1, 9):
        save(case, "groups", {"number": number, "rows": [f"{number:04} {row % 64:06}" for row in range(20_000)]}, "--stage", f"s{number % 2}")
    case.pawl("prune", "groups", "--keep-per-stage", "1", status=0)
    grow(case, "twice", 20)
    case.pawl("prune", "twice", "--keep", "10", status=0)
    grow(case, "twice", 5, first=21)
    case.pawl("prune", "twice", "--keep", "3", status=0)
    grow(case, "whole", 3)


def forks(case):
    """Forks of forks, forks of pruned runs, a changed fork, and a parent that was pruned afterwards."""
    grow(case, "root", 8)
    case.pawl("fork", "root@5", "--run-id", "one", status=0)
    grow(case, "one", 3, first=101)
    case.pawl("fork", "one@7", "--run-id", "two", "--set", "text=changed", status=0)
    grow(case, "two", 2, first=201)
    case.pawl("fork", "two@3", "--run-id", "three", status=0)  # a checkpoint of the first run
    grow(case, "pruned", 10)
    case.pawl("prune", "pruned", "--keep", "4", status=0)
    case.pawl("fork", "pruned@8", "--run-id", "late", status=0)
    grow(case, "late", 2, first=301)
    grow(case, "pruned", 4, first=11)
    case.pawl("prune", "pruned", "--keep", "2", status=0)
    case.pawl("rollback", "one@6", status=0)


def erased(case):
    """An erased run, an erased fork with its parent, and a removed run, beside one that stays."""
    for run in ("kept", "gone", "parent", "old"):
        grow(case, run, 4)
    case.pawl("fork", "parent@2", "--run-id", "child", status=0)
    case.pawl("erase", "gone", "--reason", "request 17", "--yes", status=0)
    case.pawl("erase", "parent", "--cascade", "--reason", "request 18", "--yes", status=0)
    case.pawl("rm", "old", "--reason", "old", "--yes", status=0)


def erasing(case):
    """An erasure that waits for a process that was killed."""
    grow(case, "kept", 2)
    grow(case, "target", 4)
    case.write("hold.yaml", f"name: hold\nsteps:\n  - {{ id: first, run: echo first >> log }}\n  - {{ id: hold, run: 'touch held; {GATE}; echo hold >> log' }}\n")
    process = start(case, "run", "hold.yaml", "--run-id", "hold", marker="held")
    process.send_signal(signal.SIGSTOP)  # so that it does not complete the erasure
    case.pawl("erase", "target", "--reason", "request 19", "--yes", status=3)
    kill(process)


def waiting(case):
    """Runs that wait for approval, a signal and a timer; one with an answer that nobody has read yet."""
    case.write("waits.yaml", """\
        name: waits
        vars: { way: null, log: null }
        steps:
          - { id: first, run: 'echo first >> ${vars.log}' }
          - { id: gate, approve: 'Continue?', when: "vars.way == 'approve'" }
          - { id: go, wait_for: go, when: "vars.way == 'signal'" }
          - { id: pause, sleep: 1s, when: "vars.way == 'timer'" }
          - { id: last, run: 'echo last >> ${vars.log}' }
        """)
    for run, way in (("approval", "approve"), ("answered", "approve"), ("signal", "signal"), ("signalled", "signal")):
        case.pawl("run", "waits.yaml", "--run-id", run, "--var", f"way={way}", "--var", f"log={run}.log", status=3)
    case.pawl("approve", "answered", "--by", "bob", "--comment", "read", status=0)
    case.pawl("signal", "signalled", "go", "--json-payload", '{"version": 3}', status=0)
    process = subprocess.Popen([case.program, "run", "waits.yaml", "--run-id", "timer", "--var", "way=timer", "--var", "log=timer.log"],
                               cwd=case.folder, env=case.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wait_for(lambda: "sleeps" in process.stdout.readline(), "the timer")
    time.sleep(0.1)
    kill(process)
    process.stdout.close()


def failed(case):
    """Failed runs, failed items of a map, a budget that was reached, a cancelled run, and a session."""
    case.write("fails.yaml", "name: fails\nsteps:\n  - { id: first, run: echo first >> fails.log }\n  - { id: second, run: 'test -e open; echo second >> fails.log' }\n")
    case.pawl("run", "fails.yaml", "--run-id", "failed", "--session", "day", status=1)
    case.write("items.yaml", """\
        name: items
        steps:
          - id: pages
            map: { items: [a, b, c, d], parallel: 2, on_item_failure: dlq }
            steps:
              - { id: page, run: 'test ${item} != b || test -e open; echo ${item} >> items.log', capture: { format: text } }
            reduce: { run: 'echo reduce >> items.log' }
        """)
    case.pawl("run", "items.yaml", "--run-id", "items", "--session", "day", status=0)
    case.write("spends.yaml", """\
        name: spends
        budget: { usd: 1 }
        steps:
          - { id: first, run: 'echo first >> spends.log; echo "{\\"cost_usd\\": 1.5, \\"tokens\\": 10}" >> "$PAWL_RESULT"' }
          - { id: second, run: echo second >> spends.log }
        """)
    case.pawl("run", "spends.yaml", "--run-id", "spends", status=3)
    case.write("stops.yaml", "name: stops\nsteps:\n  - { id: ask, approve: 'Continue?' }\n")
    case.pawl("run", "stops.yaml", "--run-id", "cancelled", status=3)
    case.pawl("cancel", "cancelled", status=0)


def interrupted(case):
    """Runs whose process was killed while a step ran: plain, in a map, in a loop, in a child workflow, in a script."""
    case.write("plain.yaml", f"name: plain\nsteps:\n  - {{ id: first, run: echo first >> plain.log }}\n  - {{ id: second, run: 'touch plain.on; {GATE}; echo second >> plain.log' }}\n")
    case.write("nested.yaml", f"""\
        name: nested
        steps:
          - {{ id: first, run: echo first >> nested.log, capture: {{ format: text }} }}
          - id: turns
            loop: {{ max: 2 }}
            steps:
              - {{ id: turn, run: 'echo turn ${{loop.iteration}} >> nested.log' }}
          - {{ id: inner, workflow: inner.yaml, with: {{ word: hello }} }}
          - {{ id: last, run: 'echo last ${{steps.inner.output.said}} >> nested.log' }}
        """)
    case.write("inner.yaml", f"""\
        name: inner
        vars: {{ word: null }}
        steps:
          - {{ id: say, run: 'echo inner >> nested.log; echo ${{vars.word}}', capture: {{ format: text }} }}
          - id: items
            map: {{ items: [1, 2, 3], parallel: 3 }}
            steps:
              - {{ id: item, run: 'test ${{item}} != 3 || {{ sleep 0.3; touch nested.on; {GATE}; }}; echo item ${{item}} >> nested.log' }}
        outputs: {{ said: "${{steps.say.output}}" }}
        """)
    beside = start(case, "run", "plain.yaml", "--run-id", "plain", marker="plain.on")  # so that there are two journals
    kill(start(case, "run", "nested.yaml", "--run-id", "nested", marker="nested.on"))
    kill(beside)
    case.pawl("step", "--run", "script", "first", "--", "sh", "-c", "echo first >> script.log; echo said", status=0)
    case.pawl("step", "--run", "script", "wrong", "--", "sh", "-c", "test -e open && echo wrong >> script.log", status=1)
    kill(start(case, "step", "--run", "script", "second", "--", "sh", "-c", f"touch script.on; {GATE}; echo second >> script.log", marker="script.on"))


def completed(case):
    """Completed workflows with stages, loops, maps, child workflows and added steps, and an export that was imported."""
    case.write("stages.yaml", """\
        name: stages
        stages:
          - { id: fetch, type: parallel, steps: [{ id: a, run: echo a }, { id: b, run: echo b }] }
          - { id: meet, type: barrier }
          - id: build
            steps:
              - { id: more, run: 'echo "{\\"decision\\": {\\"description\\": \\"go\\"}, \\"confidence\\": 0.5}" >> "$PAWL_RESULT"' }
        """)
    case.pawl("run", "stages.yaml", "--run-id", "stages", status=0)
    case.write("outer.yaml", "name: outer\nsteps:\n  - { id: inner, workflow: small.yaml }\n  - id: turns\n    loop: { max: 3 }\n    steps: [{ id: turn, run: echo turn }]\n")
    case.write("small.yaml", "name: small\nsteps:\n  - id: items\n    map: { items: [x, y], parallel: 2 }\n    steps: [{ id: item, run: 'echo ${item}', capture: { format: text } }]\n")
    case.pawl("run", "outer.yaml", "--run-id", "outer", status=0)
    other = os.path.join(case.folder, "other")
    for number in range(1, 5):
        case.pawl("--store", other, "save", "moved", "--id", f"moved-{number}", stdin=f'{{"number": {number}}}', status=0)
    case.pawl("--store", other, "export", "moved", "-o", "moved.pawl", status=0)
    case.pawl("import", "moved.pawl", status=0)
    shutil.rmtree(other)


NEST = """\
    name: nest
    steps:
      - { id: first, run: 'echo first >> %(log)s' }
      - id: outer
        map: { items: [a, b], parallel: 2 }
        steps:
          - { id: before, run: 'echo before ${item} >> %(log)s; echo ${item}', capture: { format: text } }
          - id: turns
            loop: { max: 2 }
            steps:
              - id: inner
                map: { items: [0, 1, 2] }
                steps:
                  - { id: leaf, run: '%(leaf)s; echo leaf ${index} ${item} >> %(log)s; echo ${item}', capture: { format: json } }
              - { id: turn, run: 'echo turn ${loop.iteration} >> %(log)s' }
          - { id: after, run: 'echo ${steps.before.output}', capture: { format: text } }
      - { id: last, run: 'echo "${steps.outer.output}" > %(log)s.out; echo last >> %(log)s' }
    """


def nested(case):
    """Maps, loops and children in each other: killed, failed, waiting, with steps that were added and with keys that
    had no effect. These runs were begun by the engine before the machine."""
    case.write("killed.yaml", NEST % {"log": "killed.log", "leaf": f'test "$PAWL_STEP" != "outer[1].turns[2].inner[1].leaf" || {{ sleep 0.3; touch killed.on; {GATE}; }}'})
    kill(start(case, "run", "killed.yaml", "--run-id", "killed", marker="killed.on"))
    case.write("broken.yaml", NEST % {"log": "broken.log", "leaf": 'test "$PAWL_STEP" != "outer[1].turns[2].inner[1].leaf" || test -e open'})
    case.pawl("run", "broken.yaml", "--run-id", "broken", status=1)
    case.write("gates.yaml", """\
        name: gates
        steps:
          - id: items
            map: { items: [a, b], parallel: 2 }
            steps:
              - { id: one, run: 'echo one ${item} >> gates.log' }
              - { id: ask, approve: 'Continue with ${item}?' }
              - { id: two, run: 'echo two ${item} >> gates.log' }
          - id: turns
            loop: { max: 2 }
            steps:
              - { id: again, approve: 'Another turn?' }
              - { id: turn, run: 'echo turn ${loop.iteration} >> gates.log' }
        """)
    case.pawl("run", "gates.yaml", "--run-id", "gates", status=3)
    case.pawl("approve", "gates", "items[0].ask", "--by", "bob", status=0)
    case.write("kids.yaml", """\
        name: kids
        steps:
          - { id: first, run: echo first >> kids.log }
          - { id: kid, workflow: kid.yaml, with: { word: hello } }
          - { id: last, run: 'echo last ${steps.kid.output.said} >> kids.log' }
        """)
    case.write("kid.yaml", "name: kid\nvars: { word: null }\nsteps:\n  - { id: say, run: 'echo say >> kids.log; echo ${vars.word}', capture: { format: text } }\n"
               "  - { id: grandkid, workflow: grandkid.yaml }\noutputs: { said: '${steps.say.output}' }\n")
    case.write("grandkid.yaml", "name: grandkid\nsteps:\n  - { id: one, run: echo grandkid >> kids.log }\n  - { id: ask, approve: 'Continue?' }\n"
               "  - { id: two, run: 'test -e open; echo two >> kids.log' }\n")
    case.pawl("run", "kids.yaml", "--run-id", "kids", status=3)
    case.pawl("run", "kids.yaml", "--run-id", "failing", status=3)
    case.pawl("approve", "failing.kid.grandkid", status=0)
    case.pawl("resume", "failing", status=1)
    case.write("grows.yaml", """\
        name: grows
        steps:
          - { id: plan, run: 'echo plan >> grows.log; cat grows.json >> "$PAWL_RESULT"' }
          - { id: last, run: 'echo last >> grows.log' }
        """)
    case.write("grows.json", '{"add_steps": [{"id": "x", "run": "echo x >> grows.log"}, {"id": "y", "run": "test -e open; echo y >> grows.log"}]}\n')
    case.pawl("run", "grows.yaml", "--run-id", "grows", status=1)
    case.write("ignored.yaml", """\
        name: ignored
        steps:
          - { id: first, run: echo first >> ignored.log }
          - id: turns
            loop: { max: 2 }
            env: { MODE: fast }
            working_dir: nowhere
            steps: [{ id: turn, run: 'echo turn ${loop.iteration} >> ignored.log' }]
          - { id: ask, approve: 'Continue?', env: { MODE: fast }, working_dir: nowhere }
          - { id: last, run: echo last >> ignored.log }
        """)
    case.pawl("run", "ignored.yaml", "--run-id", "ignored", status=3)
    case.write("tries.yaml", """\
        name: tries
        retry: { attempts: 9, backoff: 1ms }
        steps:
          - { id: first, run: 'echo "{\\"cost_usd\\": 1}" >> "$PAWL_RESULT"; test $PAWL_ATTEMPT -gt 2; echo first >> tries.log' }
          - { id: second, run: 'echo "{\\"cost_usd\\": 1, \\"progress\\": {\\"page\\": 3}}" >> "$PAWL_RESULT"; touch tries.on; %s; echo "second $PAWL_PREVIOUS" >> tries.log' }
        """ % GATE)
    process = start(case, "run", "tries.yaml", "--run-id", "tries", marker="tries.on")
    process.send_signal(signal.SIGUSR1)  # saves what was reported
    wait_for(lambda: "partial" in case.state("tries")["steps"]["second"], "the report")
    kill(process)
    case.write("returned.yaml", NEST % {"log": "returned.log", "leaf": 'test "$PAWL_STEP" != "outer[1].turns[2].inner[1].leaf" || test -e open'})
    case.pawl("run", "returned.yaml", "--run-id", "returned", status=1)
    case.pawl("rollback", "returned@step:first", "--accept-rerun", status=0)


def encrypted(case):
    """An encrypted store with saves, a large state, a pruned run, a fork, an interrupted workflow and a new key."""
    case.pawl("init", "--encrypt", "--key-file", "store.key", status=0)
    prepare(case)
    case.env["PAWL_CHECKPOINT_COMPRESSION"] = "zstd"
    saves(case)
    grow(case, "pruned", 8)
    case.pawl("prune", "pruned", "--keep", "3", status=0)
    case.pawl("fork", "pruned@7", "--run-id", "fork", status=0)
    case.pawl("rekey", status=0)
    grow(case, "gone", 2)
    case.pawl("erase", "gone", "--reason", "request 20", "--yes", status=0)
    case.write("plain.yaml", f"name: plain\nsteps:\n  - {{ id: first, run: echo first >> plain.log }}\n  - {{ id: second, run: 'touch plain.on; {GATE}; echo second >> plain.log' }}\n")
    kill(start(case, "run", "plain.yaml", "--run-id", "plain", marker="plain.on"))


def compressed(case):
    """A store with zstd compression."""
    case.env["PAWL_CHECKPOINT_COMPRESSION"] = "zstd"
    case.pawl("init", "--compression", "zstd", status=0)
    saves(case)
    grow(case, "pruned", 8)
    case.pawl("prune", "pruned", "--keep", "3", status=0)


def formats(case):
    """States as MessagePack and CBOR in one store."""
    for name in ("msgpack", "cbor"):
        case.env["PAWL_CHECKPOINT_FORMAT"] = name
        save(case, name, '{"done":1,"list":[1,2,3]}')
        save(case, name, '{"done":2,"list":[1,2,3,4],"text":"with a space"}')
        save(case, name, {"rows": [f"{row % 64:06}" for row in range(20_000)]})
    case.pawl("fsck", "--repair", status=0)


def empty(case):
    """A store without runs."""
    case.pawl("init", status=0)


STORES = (saves, settled, pruned, forks, erased, erasing, waiting, failed, interrupted, completed, nested, encrypted, compressed, formats, empty)


def pack(folder, path):
    """Packs a folder so that the same files give the same bytes."""
    shutil.rmtree(folder / "xdg", ignore_errors=True)
    (folder / "store/reserve").unlink(missing_ok=True)  # random bytes, made again when they are missing
    subprocess.run(["tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=2026-01-11 14:30Z", "--sparse",
                    "--format=gnu", "-cJf", str(path), "-C", str(folder), "."], check=True, env={**os.environ, "XZ_OPT": "-9e"})


def record(program, out, build):
    with tempfile.TemporaryDirectory(prefix="pawl-golden-") as folder:
        case = Case(folder, program)
        prepare(case)
        try:
            build(case)
            pack(Path(folder), out / f"{build.__name__}.tar.xz")
            expected = facts(case)
        finally:
            case.end()
    (out / f"{build.__name__}.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
    print(f"{build.__name__}: {len(expected['runs'])} runs")


def main():
    program, out = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    names = sys.argv[3:]
    for build in STORES:
        if not names or build.__name__ in names:
            record(program, out, build)


if __name__ == "__main__":
    main()
