#!/usr/bin/env python3
"""Opens the golden stores with the current program: everything recorded is still there, byte for byte, and the runs
continue where they stopped.

    tests/golden/stores_test.py PAWL [NAME...]        NAME: a test, for example forks_continue
"""
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
from record_stores import facts, prepare  # noqa: E402
from workflow_case import Case, equal, holds  # noqa: E402

STORES = HERE / "format_2"
VERIFIER = HERE.parent.parent / "tools" / "verify_store.py"


def opened(folder, program, name):
    with tarfile.open(STORES / f"{name}.tar.xz") as archive:
        archive.extractall(folder)
    case = Case(folder, program)
    prepare(case)
    return case


def difference(expected, found, path=""):
    """Returns where the answer differs from what was recorded. Members that were added since then don't count."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return next(filter(None, (difference(value, found.get(key), f"{path}/{key}") for key, value in expected.items())), None)
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return next(filter(None, (difference(a, b, f"{path}/{i}") for i, (a, b) in enumerate(zip(expected, found)))), None)
    return None if expected == found else f"{path}: {json.dumps(expected)[:300]} was recorded, now {json.dumps(found)[:300]}"


def check_unchanged(case, name):
    """Compares all answers with the recorded ones, and asks the independent verifier."""
    expected = json.loads((STORES / f"{name}.json").read_text())
    if name == "erasing":  # The erasure is half done: how that is called is not part of the format.
        del expected["verify"], expected["list"]
    changed = difference(expected, facts(case))
    assert changed is None, changed
    check_whole(case, name)


def check_whole(case, name):
    case.pawl("fsck", "--repair", status=0)  # settles the journals, which the verifier does not read
    case.pawl("fsck", status=0)
    case.pawl("verify", "--all", status=0)
    if name != "empty":
        done = subprocess.run([sys.executable, "-B", str(VERIFIER), case.env["PAWL_STORE"]], capture_output=True, text=True, check=False)
        equal((done.returncode, "BAD" in done.stdout), (0, False))


def restored(case, checkpoint):
    return case.pawl("restore", checkpoint, status=0).stdout


def sequences(case, run):
    shown = case.pawl("show", run, "--checkpoints", "--after", "0", "--limit", "1000", "--json", status=0)
    return [checkpoint["sequence"] for checkpoint in json.loads(shown.stdout)]


def resume(case, run, *more, workflow, status=0):
    return case.pawl("resume", run, "--workflow", workflow, "--working-dir", case.folder, *more, status=status)


# Each function continues one store. Its name begins with the name of the store.


def saves_continue(case):
    equal(case.pawl("save", "alpha", "--id", "job-4", "--patch", stdin='{"done": 4, "lines": {"$append": ["more"]}}', status=0).stdout, "alpha@4\n")
    equal(case.pawl("save", "alpha", stdin='{"done": 6}', status=0).stdout, "alpha@6\n")
    equal(restored(case, "alpha@name:first"), '{"done": 1}')
    case.pawl("save", "large", "--patch", stdin='{"extra": 2}', status=0)
    assert restored(case, "large@3").endswith('"extra":2}')
    case.pawl("prune", "large", "--keep", "1", status=0)
    equal(sequences(case, "large"), [3])


def settled_continue(case):
    equal(case.pawl("save", "wide", "--id", "wide-0", "--state", case.write("s", restored(case, "wide@1")), status=0).stdout, "wide@1\n")
    case.pawl("prune", "wide", "--keep", "2", status=0)
    equal(sequences(case, "wide"), [11, 12])
    case.pawl("fork", "small@3", "--run-id", "new", status=0)
    equal(restored(case, "new"), restored(case, "small@3"))
    case.pawl("erase", "wide", "--reason", "request 1", "--yes", status=0)


def pruned_continue(case):
    equal(case.pawl("save", "tail", "--id", "tail-3", stdin=json.dumps({"number": 3, "text": "y" * 300}), status=0).stdout, "tail@3\n")
    holds(case.pawl("restore", "tail@3").stderr, "PAWL-0108")
    before = restored(case, "tail@28")
    equal(case.pawl("save", "tail", stdin='{"number": 31}', status=0).stdout, "tail@31\n")
    equal(restored(case, "tail@28"), before)
    case.pawl("prune", "tail", "--keep", "2", status=0)
    equal(sequences(case, "tail"), [4, 17, 30, 31])
    case.pawl("fork", "twice@24", "--run-id", "new", status=0)
    case.pawl("prune", "twice", "--keep", "1", status=0)
    equal(restored(case, "new@24"), restored(case, "twice@24"))


def forks_continue(case):
    shared = restored(case, "root@5")
    equal(restored(case, "two@5"), shared)
    case.pawl("prune", "root", "--keep", "1", status=0)
    equal(restored(case, "one@5"), shared)
    holds(case.pawl("erase", "root", "--reason", "x", "--yes", status=4).stderr, "PAWL-0255")
    equal(case.pawl("save", "two", stdin='{"done": []}', status=0).stdout, "two@11\n")
    case.pawl("fork", "late@9", "--run-id", "later", status=0)
    equal(restored(case, "later@9"), restored(case, "late@9"))
    case.pawl("erase", "pruned", "--cascade", "--reason", "request 1", "--yes", status=0)
    for run in ("pruned", "late", "later"):
        holds(case.pawl("restore", run).stderr, "PAWL-0109")


def erased_continue(case):
    for run in ("gone", "parent", "child"):
        holds(case.pawl("restore", run).stderr, "PAWL-0109")
        holds(case.pawl("save", run, stdin="{}").stderr, "PAWL-0109")
    holds(case.pawl("save", "old", stdin="{}").stderr, "PAWL-0110")
    equal(case.pawl("save", "kept", stdin="{}", status=0).stdout, "kept@5\n")
    case.pawl("rm", "gone", "--reason", "old", "--yes", status=0)


def erasing_continue(case):
    case.write("open", "")
    resume(case, "hold", workflow="hold.yaml")
    equal(case.log(), ["first", "hold"])
    assert not os.listdir(os.path.join(case.env["PAWL_STORE"], "erasing")), "the erasure was not completed"
    for path in Path(case.env["PAWL_STORE"]).rglob("*"):
        assert path.is_dir() or b"of target" not in path.read_bytes(), path
    holds(case.pawl("restore", "target").stderr, "PAWL-0109")


def waiting_continue(case):
    case.pawl("approve", "approval", status=0)
    case.pawl("signal", "signal", "go", "--payload", "now", status=0)
    for run in ("approval", "answered", "signal", "signalled", "timer"):
        resume(case, run, workflow="waits.yaml")
        equal(case.log(f"{run}.log"), ["first", "last"])
    equal(case.output("go", "signalled"), {"version": 3})
    equal(case.output("gate", "answered"), {"approved": True, "by": "bob", "comment": "read"})


def failed_continue(case):
    case.write("open", "")
    resume(case, "failed", workflow="fails.yaml")
    equal(case.log("fails.log"), ["first", "second"])
    equal([item["index"] for item in json.loads(case.pawl("dlq", "list", "items", "--json", status=0).stdout)], [1])
    case.pawl("dlq", "retry", "items", "--no-run", status=0)
    resume(case, "items", workflow="items.yaml")
    equal(sorted(case.log("items.log")), ["a", "b", "c", "d", "reduce", "reduce"])
    resume(case, "spends", "--budget-usd", "3", workflow="spends.yaml")
    equal(case.log("spends.log"), ["first", "second"])
    holds(resume(case, "cancelled", workflow="stops.yaml", status=4).stderr, "PAWL-0610")


def interrupted_continue(case):
    case.write("open", "")
    resume(case, "plain", workflow="plain.yaml")
    equal(case.log("plain.log"), ["first", "second"])
    resume(case, "nested", workflow="nested.yaml")
    equal(sorted(case.log("nested.log")), ["first", "inner", "item 1", "item 2", "item 3", "last hello", "turn 1", "turn 2"])
    said = [case.pawl("step", "--run", "script", name, "--", "sh", "-c", f"echo {name} >> script.log", status=0).stdout for name in ("first", "wrong", "second")]
    equal((said[0], case.log("script.log")), ("said\n", ["first", "wrong", "second"]))


def completed_continue(case):
    holds(case.pawl("resume", "outer", status=4).stderr, "PAWL-0610")
    case.pawl("fork", "stages@stage:meet", "--run-id", "again", status=0)
    equal(case.pawl("save", "moved", "--id", "moved-2", stdin='{"number": 2}', status=0).stdout, "moved@2\n")
    equal(case.pawl("save", "moved", stdin='{"number": 5}', status=0).stdout, "moved@5\n")
    case.pawl("export", "outer", "-o", "outer.pawl", status=0)
    case.pawl("--store", os.path.join(case.folder, "other"), "import", "outer.pawl", status=0)


NEST_OUTPUT = [{"index": index, "item": item, "status": "completed", "output": item} for index, item in enumerate("ab")]


def nest_is_complete(case, log):
    """The workflow NEST ran to its end: every leaf at least once, and nothing before the nested maps again."""
    leaves = [f"leaf {index} {index}" for index in range(3)]
    equal([case.log(log).count(line) for line in ("first", "before a", "before b", "last")], [1, 1, 1, 1])
    equal(sorted(set(case.log(log))), sorted(["first", "before a", "before b", "last", "turn 1", "turn 2", *leaves]))
    with open(os.path.join(case.folder, log + ".out")) as out:
        equal([{key: row[key] for key in NEST_OUTPUT[0]} for row in json.load(out)], NEST_OUTPUT)


def nested_continue(case):
    case.write("open", "")
    before = case.log("killed.log")
    resume(case, "killed", workflow="killed.yaml")
    nest_is_complete(case, "killed.log")
    again = [line for line in case.log("killed.log")[len(before):] if not line.startswith(("leaf", "turn 2", "last"))]
    equal(again, [])
    resume(case, "broken", workflow="broken.yaml")
    nest_is_complete(case, "broken.log")
    resume(case, "gates", workflow="gates.yaml", status=3)
    for step in ("items[1].ask", "turns[1].again", "turns[2].again"):
        case.pawl("approve", "gates", step, status=0)
        resume(case, "gates", workflow="gates.yaml", status=0 if step == "turns[2].again" else 3)
    equal(sorted(case.log("gates.log")), ["one a", "one b", "turn 1", "turn 2", "two a", "two b"])
    before = sorted(case.log("kids.log"))
    equal(before, ["first"] * 2 + ["grandkid"] * 2 + ["say"] * 2)
    case.pawl("approve", "kids.kid.grandkid", status=0)
    resume(case, "kids", workflow="kids.yaml")
    resume(case, "failing", workflow="kids.yaml")
    equal(sorted(case.log("kids.log")), sorted([*before, "two", "two", "last hello", "last hello"]))
    resume(case, "grows", workflow="grows.yaml")
    equal(case.log("grows.log"), ["plan", "x", "y", "last"])
    resume(case, "tries", workflow="tries.yaml")
    equal(case.log("tries.log"), ["first", 'second {"page":3}'])
    equal(case.state("tries")["usage"]["usd"], 5.0)
    before = case.log("returned.log")
    resume(case, "returned", workflow="returned.yaml")
    after = case.log("returned.log")[len(before):]
    equal((after.count("first"), after.count("last"), after.count("turn 2") >= 2), (0, 1, True))
    case.pawl("approve", "ignored", status=0)
    said = resume(case, "ignored", workflow="ignored.yaml").stderr
    equal(case.log("ignored.log"), ["first", "turn 1", "turn 2", "last"])
    for key in ("env", "working_dir"):  # an error in a new run
        holds(said, f"'{key}'")
        checked = case.pawl("check", "ignored.yaml", status=2)
        holds(checked.stdout + checked.stderr, f"'{key}'")


def encrypted_continue(case):
    case.write("open", "")
    resume(case, "plain", workflow="plain.yaml")
    equal(case.log("plain.log"), ["first", "second"])
    equal(case.pawl("save", "pruned", stdin='{"secret": 1}', status=0).stdout, "pruned@9\n")
    before = {run: hashlib.sha256(restored(case, run).encode()).hexdigest() for run in ("alpha", "large", "fork@7")}
    case.pawl("rekey", status=0)
    equal({run: hashlib.sha256(restored(case, run).encode()).hexdigest() for run in before}, before)
    case.pawl("erase", "large", "--reason", "request 1", "--yes", status=0)


def compressed_continue(case):
    equal(case.pawl("save", "pruned", stdin='{"done": []}', status=0).stdout, "pruned@9\n")
    case.pawl("fork", "pruned@7", "--run-id", "new", status=0)
    equal(restored(case, "new@7"), restored(case, "pruned@7"))


def formats_continue(case):
    for run in ("msgpack", "cbor"):
        equal(case.pawl("save", run, "--patch", stdin='{"rows": {"$append": ["x"]}}', status=0).stdout, f"{run}@4\n")
        equal(json.loads(restored(case, f"{run}@4"))["rows"][-1], "x")


def empty_continue(case):
    equal(case.pawl("save", "first", stdin="{}", status=0).stdout, "first@1\n")


def tests():
    """Returns the tests by name: (store, function)."""
    names = sorted(path.name.split(".")[0] for path in STORES.glob("*.tar.xz"))
    found = {f"{name}_is_unchanged": (name, lambda case, name=name: check_unchanged(case, name)) for name in names}
    for name in names:
        def continued(case, name=name):
            globals()[f"{name}_continue"](case)
            check_whole(case, name)
        found[f"{name}_continue"] = (name, continued)
    return found


def failure(program, test, store, check):
    """Runs a test in a folder of its own, and returns what is wrong."""
    with tempfile.TemporaryDirectory(prefix="pawl-stores-") as folder:
        case = opened(folder, program, store)
        try:
            check(case)
        except Exception as error:  # an assertion, or an answer that can't be read
            return f"FAILED {test}: {type(error).__name__}: {str(error)[:2000]}\n"
        finally:
            case.end()
    return None


def main():
    program, known = os.path.abspath(sys.argv[1]), tests()
    wanted = sys.argv[2:] or list(known)
    with ThreadPoolExecutor(2) as pool:
        failed = [what for what in pool.map(lambda test: failure(program, test, *known[test]), wanted) if what]
    print(*failed, f"{len(wanted) - len(failed)} passed, {len(failed)} failed", sep="\n")
    return 1 if failed or not known else 0


if __name__ == "__main__":
    sys.exit(main())
