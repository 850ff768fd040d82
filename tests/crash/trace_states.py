#!/usr/bin/env python3
"""Traces the system calls of real commands, rebuilds what a disk can contain after power loss at any moment, and checks
with the real program that everything acknowledged before that moment is there.

    tests/crash/trace_states.py PAWL [--script full] [--states 5000] [--ignore-sync REGEX]
    tests/crash/trace_states.py PAWL --replay FOLDER --only STATE      repeat one state of a kept trace

A state is named LINE:VARIANT: the line of the trace after which the power fails, and what of the unsynced names and bytes
is on the disk (disk_states.py). The exit status is 1 if a state contradicts what was acknowledged.
"""
import argparse
import copy
import itertools
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import trace_script  # noqa: E402
from disk_states import Disk, lost, variants  # noqa: E402
from state_checks import Check, snapshot  # noqa: E402
from trace_log import OPTIONS, Reader  # noqa: E402

STRACE_SLOWDOWN_S = 300  # for a group of commands


def groups_of(program, script):
    if script == "short":
        return trace_script.short()
    commands = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return trace_script.full(commands)


def record(program, kept, groups):
    """Runs the groups under strace. Writes the trace and, for each group, what the stores contained after it."""
    world = kept / "world"
    (world / "outside").mkdir(parents=True)
    for name, text in trace_script.WORKFLOWS.items():
        (world / "outside" / name).write_text(text)
    (world / "outside" / "log").write_text("")
    shutil.copytree(world, kept / "before")
    (kept / "groups.json").write_text(json.dumps(groups))
    truths = [{}]
    script = str(Path(trace_script.__file__).resolve())
    with subprocess.Popen(["strace", *OPTIONS, "-o", str(kept / "trace"), sys.executable, "-B", script, program, str(world), str(kept / "groups.json")],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for index, group in enumerate(groups):
            if process.stdout.readline() != f"{index}\n":
                raise SystemExit(f"trace_states: group {index} was not performed")
            twin = kept / "twin"
            subprocess.run(["cp", "-a", "--sparse=always", str(world), str(twin)], check=True)
            truths.append(snapshot(program, twin, truths[-1], group))
            shutil.rmtree(twin)
            process.stdin.write("next\n")
            process.stdin.flush()
    check_performed(world, groups)
    (kept / "truths.json").write_text(json.dumps(truths))
    return truths


def check_performed(world, groups):
    """Every command must have ended as the script expects, or the trace shows nothing."""
    commands = [command for group in groups for command in group]
    for line in (world / "outside" / "acknowledged").read_text().splitlines():
        report = json.loads(line)
        if "ended" in report and report["status"] != commands[report["ended"] - 1].get("status", 0):
            errors = (world / "outside" / f"err.{report['ended']}").read_text()
            raise SystemExit(f"trace_states: {commands[report['ended'] - 1]['args']} exited with {report['status']}\n{errors}")


class Trace:
    """A recorded trace, and walks through its moments."""

    def __init__(self, kept, ignored):
        self.kept, self.ignored = Path(kept), ignored
        self.groups = json.loads((self.kept / "groups.json").read_text())
        self.truths = json.loads((self.kept / "truths.json").read_text())
        self.calls = list(Reader(str(self.kept / "world")).calls(self.kept / "trace"))

    def disk(self):
        disk = Disk(self.ignored)
        before = self.kept / "before"
        for path in sorted(before.rglob("*")):
            disk.load(str(path.relative_to(before)), path.is_dir(), b"" if path.is_dir() else path.read_bytes())
        return disk

    def moments(self):
        """Yields (call, disk, acknowledgements) for each moment at which the disk can differ."""
        disk, report = self.disk(), b""
        known = Acknowledged(self.groups)
        for original in self.calls:
            call = copy.copy(original)  # applying a call completes it
            changed = disk.apply(call)
            if call.path == "outside/acknowledged" and call.kind == "write":
                report += call.data
                *lines, report = report.split(b"\n")
                for line in lines:
                    known.take(json.loads(line))
            if changed and not call.path.startswith("outside/"):
                yield call, disk, known

    def check_model(self):
        """The model must end with what is really on the disk, or it has missed a call."""
        disk = self.disk()
        for call in self.calls:
            disk.apply(copy.copy(call))
        state = disk.state(variants(disk, 0)[0])
        world = self.kept / "world"
        real = {str(path.relative_to(world)): path for path in world.rglob("*")}
        if set(real) != set(state):
            raise SystemExit(f"trace_states: the model does not have the files of the disk: {sorted(set(real) ^ set(state))[:9]}")
        for name, path in real.items():
            if path.is_file() and path.read_bytes() != state[name].read():
                raise SystemExit(f"trace_states: the model of {name} differs from the disk")


class Acknowledged:
    """What the commands had reported at a moment."""

    def __init__(self, groups):
        self.groups, self.group, self.done, self.ended = groups, -1, -1, set()

    def take(self, report):
        self.group = report.get("group", self.group)
        self.done = report.get("done", self.done)
        if "ended" in report:
            self.ended.add(report["ended"])

    def copy(self):
        made = Acknowledged(self.groups)
        made.group, made.done, made.ended = self.group, self.done, set(self.ended)
        return made


def signature(state, known, killed):
    files = frozenset((path, content.signature() if content else None) for path, content in state.items())
    return hash((files, known.done, known.group, len(known.ended), killed))


def choose(trace, count, seed):
    """Returns the identities of up to `count` states that differ from each other. Each group of commands gets the same share:
    a command of few calls would hardly be tested otherwise."""
    shares, dice = {}, random.Random(seed)
    for call, disk, known in trace.moments():
        shares.setdefault(known.group, []).extend(variant.identity for variant in variants(disk, call.at))
    for share in shares.values():
        dice.shuffle(share)
    order = [identity for turn in itertools.zip_longest(*shares.values()) for identity in turn if identity]
    possible = list(order)
    seen, chosen = set(), []
    while order and len(chosen) < count:
        sample, order = order[: 2 * count], order[2 * count :]
        wanted, place = set(sample), {identity: at for at, identity in enumerate(sample)}
        moments = {int(identity.split(":")[0]) for identity in sample}
        fresh = []
        for call, disk, known in trace.moments():
            for variant in variants(disk, call.at) if call.at in moments else ():
                if variant.identity in wanted:
                    mark = signature(disk.state(variant), known, variant.identity.endswith(":killed"))
                    if mark not in seen:
                        seen.add(mark)
                        fresh.append(variant.identity)
        chosen += sorted(fresh, key=place.get)[: count - len(chosen)]
    return chosen, len(possible)


def work(program, trace, identities, place, known_defects, results):
    """Checks the states of one process."""
    wanted = {}
    for identity in identities:
        wanted.setdefault(int(identity.split(":")[0]), set()).add(identity)
    with tempfile.TemporaryDirectory(prefix="pawl-states-", dir=place) as folder:
        for call, disk, known in trace.moments():
            if call.at not in wanted:
                continue
            for variant in variants(disk, call.at):
                if variant.identity not in wanted[call.at]:
                    continue
                target = Path(folder) / "world"
                check = Check(program, target, disk.state(variant), known, trace, rebooted=not variant.identity.endswith(":killed"))
                problems = [problem for problem in check.run() if not (known_defects and known_defects.search(problem))]
                if problems:
                    running = [" ".join(command["args"])[:80] for command in check.in_flight]
                    results.put((variant.identity, str(call), lost(disk, variant), running, problems))
                results.put(check.count)
                shutil.rmtree(target)
    results.put(None)


def place_for_states():
    """A folder in memory if there is enough room, because each state is written and deleted."""
    memory = "/dev/shm"
    return memory if os.path.isdir(memory) and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**30 else None


def check_all(program, trace, chosen, options):
    results = multiprocessing.Queue()
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(program, trace, chosen[n :: options.processes], options.place or place_for_states(),
                                                      re.compile(options.known) if options.known else None, results))
               for n in range(options.processes)]
    for worker in workers:
        worker.start()
    failures, states, checks, running = [], 0, 0, len(workers)
    while running:
        result = results.get()
        if result is None:
            running -= 1
        elif isinstance(result, int):
            states, checks = states + 1, checks + result
            if sys.stderr.isatty() or states % 1000 == 0:
                print(f"{states} of {len(chosen)} states, {len(failures)} failed", file=sys.stderr, flush=True)
        else:
            failures.append(result)
    for worker in workers:
        worker.join()
    return failures, states, checks


def show(failures, options, kept):
    kinds = Counter(problem.split(": ", 1)[0] for *_, problems in failures for problem in problems)
    for kind, count in kinds.most_common():
        print(f"  {count} x {kind}")
    rare = sorted(failures, key=lambda failure: min(kinds[problem.split(": ", 1)[0]] for problem in failure[4]))
    first = {min((problem.split(": ", 1)[0] for problem in failure[4]), key=kinds.get): failure for failure in reversed(rare)}
    others = [failure for failure in rare if failure not in first.values()]
    for identity, call, dropped, running, problems in [*first.values(), *others][: max(options.show, len(first))]:
        print(f"\nstate {identity}: power loss after: {call}\n  {dropped[:1500]}\n  commands that had not ended: {', '.join(running) or 'none'}")
        for problem in problems:
            print(f"  contradiction: {problem[:1200]}")
        ignored = f" --ignore-sync '{options.ignore_sync}'" if options.ignore_sync else ""
        print(f"  repeat it: {sys.argv[0]} {options.program} --replay {kept} --only {identity}{ignored}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the pawl program")
    parser.add_argument("--script", choices=("short", "full"), default="full", help="the commands to trace (default: full)")
    parser.add_argument("--states", type=int, default=5000, help="number of states to check (default: 5000)")
    parser.add_argument("--seed", type=int, default=1, help="which states are chosen (default: 1)")
    parser.add_argument("--processes", type=int, default=2, help="number of processes that check states (default: 2)")
    parser.add_argument("--ignore-sync", metavar="REGEX", help="treat syncs of files and folders whose path matches as if they had not happened")
    parser.add_argument("--known", metavar="REGEX", help="leave out contradictions that match: defects that are known and not fixed yet")
    parser.add_argument("--expect-failures", action="store_true", help="exit with 0 only if a state failed, for --ignore-sync")
    parser.add_argument("--prove", metavar="REGEX", help="also check 40 states with these syncs ignored, and require a failure among them")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the trace in this folder")
    parser.add_argument("--replay", metavar="FOLDER", help="use a trace that was kept")
    parser.add_argument("--only", metavar="STATE", help="check this state alone")
    parser.add_argument("--show", type=int, default=5, help="number of failed states to describe (default: 5)")
    parser.add_argument("--place", metavar="FOLDER", help="where states are written (default: /dev/shm if it is large enough)")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    kept = Path(os.path.realpath(options.replay or options.keep or tempfile.mkdtemp(prefix="pawl-trace-")))
    began = time.monotonic()
    if not options.replay:
        record(options.program, kept, groups_of(options.program, options.script))
    trace = Trace(kept, options.ignore_sync)
    trace.check_model()
    traced = time.monotonic()
    chosen, found = ([options.only], 1) if options.only else choose(trace, options.states, options.seed)
    failures, states, checks = check_all(options.program, trace, chosen, options)
    commands = sum(len(group) for group in trace.groups)
    print(f"{commands} commands, {len(trace.calls)} calls, {found} states, {states} different ones checked with {checks} questions, {len(failures)} failed "
          f"({traced - began:.0f} s to trace, {time.monotonic() - traced:.0f} s to check)")
    show(failures, options, kept)
    bad = not failures if options.expect_failures else failures
    status = 1 if bad or not states or not proven(options, kept) else 0
    if not (options.replay or options.keep or failures):
        shutil.rmtree(kept)
    return status


def proven(options, kept):
    """Checks that the tool would notice missing syncs."""
    if not options.prove:
        return True
    trace = Trace(kept, options.prove)
    chosen, _ = choose(trace, 40, options.seed)
    failures, states, _ = check_all(options.program, trace, chosen, options)
    print(f"without syncs of {options.prove}: {len(failures)} of {states} states failed, as they must")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
