"""Asks the real program what a store contains, and compares a rebuilt disk with what was acknowledged."""
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

from disk_states import PAGE
from trace_script import PRUNED, SECRET, environment

PATIENCE_S = 60
MARKERS = (SECRET, PRUNED)
OTHER_BOOT = b"00000000-0000-4000-8000-000000000000"
RECENT = 3  # groups whose runs are always read in full
# What the log of a workflow must not repeat once the step is acknowledged. Other steps log their own name.
LOGGED = {"pages": ["page-a", "page-c", "reduce"], "turns": ["turn-1", "turn-2"], "inner": []}


def boot_id():
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return b"no boot id"


BOOT = boot_id()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# The marks of a journal's owner file: where each begins and where it has the inode number of the file.
MARKS = ((512, 560), (576, 628))


def on_this_disk(data, inode, rebooted):
    """Returns an owner file as its disk has it: its inode number is that of the rebuilt file. Otherwise it would be a copy of a
    journal. After a reboot, its marks are of another boot."""
    made = bytearray(data)
    for begin, place in MARKS:
        end = begin + 60
        if len(made) < end + 4 or int.from_bytes(made[end : end + 4], "little") != crc32c(made[begin:end]):
            continue
        if rebooted and made[begin : begin + len(BOOT)] == BOOT:
            made[begin : begin + len(BOOT)] = OTHER_BOOT
        if any(made[place : place + 8]):
            made[place : place + 8] = inode.to_bytes(8, "little")
        made[end : end + 4] = crc32c(made[begin:end]).to_bytes(4, "little")
    text = bytes(made[:512])
    return (text.replace(BOOT, OTHER_BOOT) if rebooted else text) + bytes(made[512:])


def materialise(world, state, rebooted):
    world.mkdir(parents=True)
    for path in sorted(path for path, content in state.items() if content is None):
        (world / path).mkdir(exist_ok=True, parents=True)
    for path, content in state.items():
        if content is None:
            continue
        with open(world / path, "wb", buffering=0) as file:
            if fnmatch(path, "*/journal/*/owner"):
                file.write(on_this_disk(content.read(), os.fstat(file.fileno()).st_ino, rebooted))
                continue
            if rebooted and path.endswith("/lock"):
                file.write(content.read().replace(BOOT, OTHER_BOOT))
                continue
            file.truncate(content.size)
            for number, page in content.pages.items():
                if number * PAGE < content.size:
                    os.pwrite(file.fileno(), page[: content.size - number * PAGE], number * PAGE)
        if path.startswith("vault.key"):
            os.chmod(world / path, 0o600)


def ask(program, world, store, *args, stdin="", check=None):
    if check:
        check.count += 1
    try:
        return subprocess.run([program, *args], cwd=world, env=environment(str(world), store), input=stdin.encode(), capture_output=True,
                              timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(args, -1, b"", b"did not end within %d s" % PATIENCE_S)


def said(done):
    return f"status {done.returncode}: {(done.stderr + done.stdout[:300]).decode(errors='replace').strip()[:700]}"


def states_of(program, world, store, run, check=None):
    """Returns the hash of each checkpoint with its labels, or what the program said instead."""
    folder = world / "exported"
    shutil.rmtree(folder, ignore_errors=True)
    done = ask(program, world, store, "export", run, "--files", str(folder), check=check)
    if done.returncode != 0:
        return said(done)
    return {str(int(re.search(r"\d+", path.name)[0])): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def stores_in(world):
    return sorted(path.parent.name for path in world.glob("*/store.json"))


def trails_of(done):
    """Returns the length and the last hash of each audit trail from the answer of `verify --json`."""
    return {run["run"]: [run["entries"], run["head"]] for run in json.loads(done.stdout)["runs"] if run.get("ok")} if done.stdout.startswith(b"{") else {}


def failed_items(program, world, store, entry, check=None):
    """Returns the indices in the dead-letter queue of a run that has one."""
    if entry["workflow_name"] != "items":
        return []
    done = ask(program, world, store, "dlq", "list", entry["run"], "--json", check=check)
    return [item["index"] for item in json.loads(done.stdout)] if done.returncode == 0 else said(done)


def snapshot(program, world, previous, group):
    """Returns what the stores contain: store -> run -> status, newest checkpoint, states; and which markers are in files."""
    touched = {command.get("run") for command in group}
    pruned = any(command["args"][0] in ("prune", "erase", "rm") for command in group)  # forks lose what they share
    found = {"stores": {}, "markers": {}}
    for store in stores_in(world):
        listed = ask(program, world, store, "list", "--json", "--limit", "1000")
        if listed.returncode != 0:
            raise SystemExit(f"trace_states: the recorded store {store} can't be listed: {said(listed)}")
        runs = found["stores"].setdefault(store, {})
        trails = trails_of(ask(program, world, store, "verify", "--all", "--json"))
        for entry in json.loads(listed.stdout):
            old = previous.get("stores", {}).get(store, {}).get(entry["run"])
            made = {"status": entry["status"], "latest": entry["latest"], "updated": entry["updated"], "workflow": entry["workflow_name"],
                    "trail": trails.get(entry["run"]), "failed_items": failed_items(program, world, store, entry)}
            if old and not pruned and entry["run"] not in touched and {**made, "states": old["states"]} == old:
                made = old
            else:
                made["states"] = states_of(program, world, store, entry["run"])
            runs[entry["run"]] = made
    files = [path.read_bytes() for path in world.rglob("*") if path.is_file() and "outside" not in path.parts and "exported" not in path.parts]
    found["markers"] = {marker: any(marker.encode() in data for data in files) for marker in MARKERS}
    return found


class Check:
    """Compares one rebuilt disk with what was acknowledged. `count` is the number of questions to the program."""

    def __init__(self, program, world, state, known, trace, rebooted):
        self.program, self.world, self.state, self.rebooted = program, world, state, rebooted
        self.count, self.problems = 0, []
        self.truths = trace.truths
        self.before = trace.truths[known.done + 1]
        within = known.group > known.done
        self.after = trace.truths[known.group + 1] if within else self.before
        self.commands = {}  # number -> command, of all groups that have begun
        number = 0
        for index, group in enumerate(trace.groups[: known.group + 1]):
            for command in group:
                number += 1
                self.commands[number] = {**command, "group": index}
        self.ended = {n for n, command in self.commands.items() if n in known.ended or command["group"] <= known.done}
        self.in_flight = [command for n, command in self.commands.items() if n not in self.ended]
        self.recent = known.group - RECENT
        self.dice = random.Random(known.group * 1000 + len(state))

    def problem(self, kind, text):
        self.problems.append(f"{kind}: {text}")

    def ask(self, store, *args, stdin=""):
        return ask(self.program, self.world, store, *args, stdin=stdin, check=self)

    def run(self):
        self.check_markers()
        materialise(self.world, self.state, self.rebooted)
        for store in self.before.get("stores", {}):
            near = any(command["store"] == store and command["group"] >= self.recent for command in self.commands.values())
            if near or self.dice.random() < 0.2:
                self.check_store(store)
        if "store" not in self.before.get("stores", {}):
            self.expect_save("store", "new", 1)
        return self.problems

    # What is there.

    def check_markers(self):
        for marker in MARKERS:
            if self.before.get("markers", {}).get(marker, True) or self.after["markers"][marker]:
                continue
            for path, content in self.state.items():
                if content and not path.startswith("outside/") and any(marker.encode() in page for page in content.pages.values()):
                    self.problem("removed bytes are back", f"{marker} in {path}")

    def check_store(self, store):
        self.check_whole(store, "fsck", "fsck")
        listed = self.ask(store, "list", "--json", "--limit", "1000")
        if listed.returncode != 0:
            self.problem("list", f"{store}: {said(listed)}")
            return
        found = {entry["run"]: entry for entry in json.loads(listed.stdout)}
        trails = trails_of(self.check_whole(store, "verify", "verify", "--all", "--json"))
        before, after = self.before["stores"][store], self.after["stores"].get(store, {})
        for run in set(found) - set(before) - set(after):
            self.problem("list", f"{store}: run {run} came from nowhere")
        for run in sorted(set(before) | set(after)):
            self.check_run(store, run, before.get(run), after.get(run), found.get(run))
            self.check_trail(store, run, before.get(run), after.get(run), trails.get(run))
        self.check_repeated(store)
        self.check_steps(store)
        self.check_new_save(store, before, after, found)
        self.check_resume(store, found)
        self.check_backup(store)
        self.check_whole(store, "fsck afterwards", "fsck")

    def check_whole(self, store, kind, *args):
        done = self.ask(store, *args)
        half_erased = args[0] == "verify" and any(c["args"][0] in ("erase", "rm") for c in self.in_flight)
        if done.returncode != 0 and not half_erased:
            self.problem(kind, f"{store}: {said(done)}")
        return done

    def check_trail(self, store, run, before, after, found):
        """Entries of the audit trail that were acknowledged are there. Only this notices a trail that became shorter."""
        if not (before and after and before["trail"] and found):
            return  # new, or reported by verify
        if found[0] < before["trail"][0] or before == after and found != before["trail"]:
            self.problem("audit trail", f"{store}: {run} has {found[0]} entries, {before['trail'][0]} were acknowledged")

    def required(self, store, run):
        """Sequences of the run that commands of the current group have reported."""
        made = set()
        for number in self.ended:
            command = self.commands[number]
            if command.get("saves") and command["store"] == store and command["run"] == run:
                made.add(self.output(number).strip().rpartition("@")[2])
        return made

    def output(self, number):
        content = self.state.get(f"outside/out.{number}")
        return content.read().decode() if content else ""

    def check_run(self, store, run, before, after, found):
        gone = after is None or not isinstance(after["states"], dict)
        if before and not isinstance(before["states"], dict):  # erased
            states = states_of(self.program, self.world, store, run, self)
            if isinstance(states, dict):
                self.problem("erased run is back", f"{store}: {run}")
            return
        must = set(before["states"]) if before else set()
        acknowledged = {seq for seq in self.required(store, run) if not gone and seq in after["states"]}
        if not found:
            if (before and not gone) or acknowledged:
                self.problem("list", f"{store}: run {run} is missing")
            return
        if before is None and gone:
            self.problem("removed run is back", f"{store}: {run}")
            return
        untouched = before == after
        if untouched and (found["status"], found["latest"]) != (before["status"], before["latest"]):
            self.problem("list", f"{store}: {run} is {found['status']} with {found['latest']} checkpoints, not {before['status']} with {before['latest']}")
        near = any(c.get("run") == run and c["group"] >= self.recent for c in self.commands.values())
        if untouched and near and failed_items(self.program, self.world, store, found, self) != before["failed_items"]:
            self.problem("failed items", f"{store}: {run} had {before['failed_items']}")
        if untouched and not near and self.dice.random() < 0.8:
            return
        states = states_of(self.program, self.world, store, run, self)
        if not isinstance(states, dict):
            if not (gone and ("PAWL-0109" in states or "PAWL-0110" in states)):
                self.problem("unreadable", f"{store}: {run}: {states}")
            return
        self.compare(store, run, before, after if not gone else None, states, must | acknowledged)

    def compare(self, store, run, before, after, states, must):
        known = [truth["states"] for truth in (before, after) if truth]  # a prune may change how a checkpoint is kept
        for seq in sorted(must, key=int):
            if seq not in states and (after and seq in after["states"]):
                self.problem("lost", f"{store}: {run}@{seq} was acknowledged")
        for seq, value in states.items():
            values = [states_known[seq] for states_known in known if seq in states_known]
            if values and value not in values:
                self.problem("altered", f"{store}: {run}@{seq}")
            if not values and int(seq) <= (before["latest"] if before else 0):
                self.problem("pruned checkpoint is back", f"{store}: {run}@{seq}")
            elif not values and not self.in_flight:
                self.problem("altered", f"{store}: {run}@{seq} came from nowhere")

    # What can be done.

    def available(self, store, run):
        """Whether no command has removed the run, or is about to."""
        return not any(c.get("run") == run and c["store"] == store and c["args"][0] in ("erase", "rm") for c in self.commands.values())

    def check_repeated(self, store):
        saves = [n for n in sorted(self.ended) if "--id" in self.commands[n]["args"] and self.commands[n]["store"] == store]
        saves = [n for n in saves if self.available(store, self.commands[n]["run"])]
        for number in saves[-1:] + self.dice.sample(saves[:-1], min(1, len(saves[:-1]))):
            command = self.commands[number]
            done = self.ask(store, *command["args"], stdin=command["stdin"])
            if done.returncode != 0 or done.stdout.decode() != self.output(number):
                self.problem("repeated id", f"{store}: {' '.join(command['args'])} printed {self.output(number).strip()}, now {said(done)}")

    def check_steps(self, store):
        steps = [n for n in sorted(self.ended) if self.commands[n].get("step") and self.commands[n]["status"] == 0]
        if store != "store" or not steps or self.commands[steps[-1]]["group"] < self.recent:
            return
        command, log = self.commands[steps[-1]], self.log()
        done = self.ask(store, *command["args"])
        if done.returncode != 0 or done.stdout.decode() != self.output(steps[-1]) or self.log() != log:
            self.problem("step", f"{command['step']} was completed; now {said(done)[:300]}; its command ran {'again' if self.log() != log else 'not'}")

    def log(self):
        return (self.world / "outside" / "log").read_text().splitlines()

    def check_new_save(self, store, before, after, found):
        plain = [c["run"] for c in self.commands.values() if c.get("saves") and c["store"] == store and self.available(store, c["run"])]
        run = next((run for run in reversed(plain) if run in found), None)
        if run:
            newest = found[run]["latest"]
            if run in before and newest < before[run]["latest"]:
                self.problem("lost", f"{store}: {run} has {newest} checkpoints, {before[run]['latest']} were acknowledged")
            self.expect_save(store, run, newest + 1)

    def expect_save(self, store, run, sequence):
        done = self.ask(store, "save", run, stdin='{"after": "power loss"}')
        if done.returncode != 0 or done.stdout.decode() != f"{run}@{sequence}\n":
            self.problem("new save", f"{store}: {run}@{sequence} was expected: {said(done)}")

    def check_resume(self, store, found):
        if store != "store":
            return
        files = {c["run"]: c["workflow"] for c in self.commands.values() if c.get("workflow")}
        for run, file in files.items():
            near = any(c.get("run") == run and c["group"] >= self.recent for c in self.commands.values())
            if near and run in found and found[run]["status"] != "completed":
                self.resume(run, file)

    def resume(self, run, file):
        logged = [line for line in self.log() if line.startswith(run + " ") or line.startswith(run + ".")]
        done_steps = self.completed_steps(run)
        outside = str(self.world / "outside")
        done = self.ask("store", "resume", run, "--workflow", f"{outside}/{file}", "--working-dir", outside)
        unblocked = any(self.commands[n].get("unblocks") == run for n in self.ended)
        blocks = file in ("flow.yaml", "signal.yaml") and not unblocked
        if done.returncode != 0 and not (blocks and done.returncode == 3):
            self.problem("resume", f"{run}: {said(done)}")
        again = [line for line in self.log() if line.startswith(run + " ") or line.startswith(run + ".")][len(logged) :]
        for step in done_steps:
            for name in LOGGED.get(step, [step]):
                if f"{run} {name}" in again:
                    self.problem("repeated step", f"{name} of {run} was completed and ran again")

    def check_backup(self, store):
        """A backup that was acknowledged contains the runs that were there before it."""
        for number in sorted(self.ended) if store == "store" else ():
            command = self.commands[number]
            if "backup" not in command or command["group"] < self.recent:
                continue
            folder = f"from-{command['backup']}"
            done = self.ask(store, "backup", "restore", command["backup"], "--to", folder)
            if done.returncode != 0:
                self.problem("backup", f"{command['backup']}: {said(done)}")
                continue
            listed = self.ask(folder, "list", "--json", "--limit", "1000")
            found = {entry["run"]: entry["latest"] for entry in json.loads(listed.stdout)} if listed.returncode == 0 else {}
            for run, truth in self.truths[command["group"]]["stores"][store].items():
                if isinstance(truth["states"], dict) and found.get(run, 0) < truth["latest"]:
                    self.problem("backup", f"{command['backup']} has {found.get(run, 0)} of {truth['latest']} checkpoints of {run}")
            self.check_whole(folder, "fsck of a backup", "fsck")

    def completed_steps(self, run):
        """Steps that the command which runs the workflow has reported as completed."""
        if any(c["args"][0] == "dlq" and c.get("run") == run for c in self.commands.values()):
            return []
        found = []
        for number, command in self.commands.items():
            if command.get("workflow") and command["run"] == run:
                found += re.findall(r"^([\w-]+): completed in", self.output(number), re.MULTILINE)
        return found
