#!/usr/bin/env python3
"""Looking after a store: how many checkpoints are kept, what pruning leaves on the disk, a full disk, clocks, names of large
outputs."""
import atexit
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from workflow_case import equal, holds, run_tests

INSIDE = "PAWL_CARE_INSIDE"


def save(case, run, number, size=400, **kwargs):
    text = hashlib.sha256(f"{run} {number}".encode()).hexdigest()
    state = json.dumps({"n": number, "text": (text * (size // 64 + 1))[:size]})
    return case.pawl("save", run, *kwargs.pop("args", ()), stdin=state, status=0, **kwargs)


def marker(run, number):
    return hashlib.sha256(f"{run} {number}".encode()).hexdigest()[:40].encode()


def listed(case, run):
    return [row["sequence"] for row in json.loads(case.pawl("show", run, "--checkpoints", "--limit", "100000", "--json", status=0).stdout)]


def files_with(case, text):
    found = []
    for folder, _, names in os.walk(case.env["PAWL_STORE"]):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                if text in file.read():
                    found.append(os.path.relpath(os.path.join(folder, name), case.env["PAWL_STORE"]))
    return found


# How many checkpoints are kept.

def new_stores_keep_the_newest_hundred(case):
    holds(case.pawl("init", status=0).stdout, "newest 100")
    equal(json.loads(case.pawl("config", "--json", status=0).stdout)["checkpoint.keep"]["value"], 100)
    for number in range(1, 161):
        args = ["--name", "kept"] if number == 3 else ["--stage", "load"] if number <= 5 else []
        save(case, "r", number, args=args)
    sequences = listed(case, "r")
    holds(str(sequences[:2]), "3", "5")  # the named one, and the end of the stage
    assert len(sequences) <= 100 + 50 + 2, len(sequences)
    equal(sequences[-100:], list(range(61, 161)))
    case.pawl("prune", status=0)
    equal(listed(case, "r"), [3, 5, *range(61, 161)])
    case.pawl("fsck", status=0)
    case.pawl("verify", "--all", status=0)
    holds(case.pawl("doctor", status=None).stdout, "newest 100")


def stores_created_by_a_save_keep_a_hundred_as_well(case):
    save(case, "r", 1)
    equal(json.loads(case.pawl("config", "--json", status=0).stdout)["checkpoint.keep"], {"value": 100, "source": "default"})


def older_stores_keep_everything(case):
    save(case, "r", 1)
    path = os.path.join(case.env["PAWL_STORE"], "store.json")
    with open(path) as file:
        record = json.load(file)
    equal(record.pop("keep"), 100)
    record.pop("crc")
    text = json.dumps(record, separators=(",", ":"))[:-1]
    crc = crc32c(text.encode())
    with open(path, "w") as file:
        file.write(f'{text},"crc":"{crc:08x}"}}\n')
    equal(json.loads(case.pawl("config", "--json", status=0).stdout)["checkpoint.keep"], {"value": "all", "source": "default"})
    for number in range(2, 160):
        save(case, "r", number)
    equal(listed(case, "r"), list(range(1, 160)))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def settings_override_the_default_of_a_store(case):
    case.write("xdg/pawl/config.yaml", "checkpoint: { keep: all }\n") if os.path.isdir(os.path.join(case.folder, "xdg/pawl")) else None
    os.makedirs(os.path.join(case.folder, "xdg/pawl"), exist_ok=True)
    case.write("xdg/pawl/config.yaml", "checkpoint: { keep: all }\n")
    for number in range(1, 160):
        save(case, "r", number)
    equal(len(listed(case, "r")), 159)


def a_workflow_keeps_as_many_as_it_says(case):
    steps = "".join(f"  - id: s{number}\n    run: 'true'\n" for number in range(60))
    case.write("workflow.yaml", "name: w\ncheckpoint: { keep: 10 }\nsteps:\n" + steps)
    case.pawl("run", "--run-id", "r", status=0)
    sequences = listed(case, "r")
    assert len(sequences) <= 12, sequences
    assert sequences[-1] >= 60, sequences
    case.pawl("fsck", status=0)
    case.pawl("verify", "r", status=0)


# What pruning leaves on the disk.

def pruned_states_are_gone_from_every_file(case):
    for number in range(1, 41):
        save(case, "r", number, size=2000)
    save(case, "other", 1)
    case.pawl("prune", "r", "--keep", "1", status=0)
    for number in range(1, 40):
        equal(files_with(case, marker("r", number)), [])
    assert files_with(case, marker("r", 40))
    equal(json.loads(case.pawl("restore", "other", status=0).stdout)["n"], 1)
    case.pawl("fsck", status=0)
    case.pawl("verify", "--all", status=0)
    save(case, "r", 41)
    equal(listed(case, "r"), [40, 41])


def states_that_a_workflow_prunes_are_gone_when_it_ends(case):
    steps = "".join(f"  - id: s{number}\n    run: 'echo output-{hashlib.sha256(str(number).encode()).hexdigest()}'\n" for number in range(50))
    case.write("workflow.yaml", "name: w\ncheckpoint: { keep: 5 }\nsteps:\n" + steps)
    case.pawl("run", "--run-id", "r", status=0)
    first = min(listed(case, "r"))
    for folder, _, names in os.walk(case.env["PAWL_STORE"]):
        for name in names:
            if name.endswith((".log",)) and "journal" in folder:
                with open(os.path.join(folder, name), "rb") as file:
                    for record in re.findall(rb'\{"seq":(\d+),', file.read()):
                        assert int(record) >= first - 1, (name, record, first)


# A full disk.

def mount(case, size):
    disk = tempfile.mkdtemp(prefix="pawl-disk-")
    atexit.register(lambda: (subprocess.run(["umount", "-l", disk]), os.rmdir(disk)))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
    case.env["PAWL_STORE"] = os.path.join(disk, "store")
    return disk


def a_full_disk_can_be_pruned(case):
    disk = mount(case, "24m")
    os.makedirs(os.path.join(case.folder, "xdg/pawl"), exist_ok=True)
    case.write("xdg/pawl/config.yaml", "checkpoint: { keep: all, compression: none }\n")
    for number in range(1, 60):
        text = hashlib.sha256(str(number).encode()).hexdigest()
        case.pawl("save", "r", stdin=json.dumps({"text": text * 1000}), status=0)
    reserve = os.path.join(case.env["PAWL_STORE"], "reserve")
    assert os.path.getsize(reserve) == 256 << 10
    subprocess.run(["dd", "if=/dev/zero", f"of={disk}/filler", "bs=4096"], stderr=subprocess.DEVNULL)
    equal(os.statvfs(disk).f_bavail, 0)
    holds(case.pawl("save", "r2", stdin=json.dumps({"x": os.urandom(1 << 20).hex()}), status=5).stderr, "PAWL-0501")
    leftovers = [name for folder, _, names in os.walk(case.env["PAWL_STORE"]) for name in names if name.endswith(".tmp")]
    equal(leftovers, [])
    case.pawl("prune", "--keep", "2", status=0)
    equal(listed(case, "r"), [58, 59])
    assert os.statvfs(disk).f_bavail > 0
    case.pawl("save", "r", stdin='{"again": 1}', status=0)
    assert os.path.getsize(reserve) == 256 << 10
    case.pawl("fsck", status=0)


def runs_are_removed_erased_and_pruned_on_a_full_disk(case):
    disk = mount(case, "24m")
    os.makedirs(os.path.join(case.folder, "xdg/pawl"), exist_ok=True)
    case.write("xdg/pawl/config.yaml", "checkpoint: { keep: all, compression: none }\n")
    for number in range(1, 11):
        for run in ("a", "b", "c"):
            save(case, run, number, size=60_000)

    def fill():
        with open(f"{disk}/filler", "ab") as file:
            subprocess.run(["dd", "if=/dev/zero", "bs=4096"], stdout=file, stderr=subprocess.DEVNULL)
        equal(os.statvfs(disk).f_bavail, 0)

    for run, command in (("a", ["rm", "a", "--yes"]), ("b", ["erase", "b", "--reason", "x", "--yes"]), ("c", ["prune", "c", "--keep", "1"])):
        fill()
        case.pawl(*command, status=0)
        for number in range(1, 10):
            equal(files_with(case, marker(run, number)), [])
    equal(listed(case, "c"), [10])
    os.remove(f"{disk}/filler")  # it has also taken the space of the journal, which was given up
    case.pawl("save", "c", stdin='{"again": 1}', status=0)
    case.pawl("fsck", status=0)


# Names of large outputs.

def a_large_output_is_durable_with_the_names_of_its_folders(case):
    if shutil.which("strace") is None:
        return print("skipped: strace is not installed")
    trace = os.path.join(case.folder, "trace")
    subprocess.run(["strace", "-f", "-y", "-s", "256", "-o", trace, "-e", "trace=fsync,fdatasync,rename,pwrite64", case.program, "step", "big",
                    "--run", "s", "--", "seq", "1", "300000"], env=case.env, cwd=case.folder, check=True, stdout=subprocess.DEVNULL)
    with open(trace) as file:
        text = file.read()
    store = case.env["PAWL_STORE"]
    end = text.rindex("fdatasync(")  # the record of the end
    synced = re.findall(r"fsync\(\d+<([^>]*)>\)\s+= 0", text[:end])
    outputs = [path for path in synced if path.endswith(".out")]
    equal(len(outputs), 1)
    after = synced[synced.index(outputs[0]):]
    for folder in (f"{store}/runs/s/logs", f"{store}/runs/s", f"{store}/runs", store):
        assert folder in after, (folder, after)


def mounted():
    """Makes mounts private to this test; they disappear when it exits."""
    if os.environ.get(INSIDE):
        return True
    can = subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0
    if not can:
        return False
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv])


tests = dict(globals())
if not mounted():
    print("file systems can't be mounted here: skipped the tests of full disks")
    tests.pop("a_full_disk_can_be_pruned")
    tests.pop("runs_are_removed_erased_and_pruned_on_a_full_disk")
run_tests(tests)
