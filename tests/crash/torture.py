#!/usr/bin/env python3
"""Kills real writers with SIGKILL repeatedly and checks that no guarantee is broken.

    tests/crash/torture.py [--minutes 5 | --seconds N] [--seed N] [--programs build/release]

In each round, several `torture_writer` processes (each with its own runs, two threads per run) and loops of one-shot
`pawl save` share one store, while `pawl list`, `restore` and `show` read from it. At random moments one of them is
killed and restarted; at the end of the round all are killed. Then these must hold:

  - Every acknowledged state is restored with its original hash. After each round, this is checked for the last saves of
    every run and a sample, from the journals as the killed processes left them. After every other round, and before a
    store is removed, it is checked for all saves, from the files that `pawl fsck --repair` updated.
  - No sequence number was used for two states, and no checkpoint that was seen has changed.
  - A save that was interrupted and repeated with its --id exists once.
  - `pawl fsck` exits with 0.

If one of them does not hold, the script prints a report, keeps the store and exits with status 1.
"""
import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

WRITERS = 3
RUNS_PER_WRITER = 3
SAVES_PER_STORE = 20_000
TAIL = 5
SAMPLE = 30
CALL_TIMEOUT_S = 120
os.environ["PAWL_CHECKPOINT_KEEP"] = "all"  # every acknowledged state is checked


class Violation(Exception):
    """A guarantee was broken, or a program failed unexpectedly."""


def sha256(state: bytes) -> str:
    return hashlib.sha256(state).hexdigest()


class World:
    """One store, the saves acknowledged in it, and the checkpoints seen in it."""

    def __init__(self, programs: Path, folder: Path):
        self.pawl = str(programs / "pawl")
        self.writer = str(programs / "torture_writer")
        self.folder = folder
        self.store = str(folder / "store")
        self.acknowledged: dict[str, str] = {}  # RUN@SEQ -> SHA-256
        self.seen: dict[str, str] = {}          # RUN@SEQ -> UUID
        self.offsets: dict[Path, int] = {}
        self.lock = threading.Lock()

    def acknowledge(self, address: str, digest: str) -> None:
        with self.lock:
            before = self.acknowledged.setdefault(address, digest)
            if before != digest:
                raise Violation(f"{address} was acknowledged for two states: {before} and {digest}")

    def see(self, run: str, checkpoint: dict) -> None:
        address = f"{run}@{checkpoint['sequence']}"
        with self.lock:
            before = self.seen.setdefault(address, checkpoint["id"])
        if before != checkpoint["id"]:
            raise Violation(f"{address} was seen as {before}, and is now {checkpoint['id']}")

    def collect(self) -> None:
        """Reads the lines that the writers have logged since the last call."""
        for log in sorted(self.folder.glob("acknowledged-*.log")):
            with log.open("rb") as file:
                file.seek(self.offsets.get(log, 0))
                text = file.read()
            whole = text[:text.rfind(b"\n") + 1]
            self.offsets[log] = self.offsets.get(log, 0) + len(whole)
            for line in whole.decode().splitlines():
                self.acknowledge(*line.split())

    def call(self, *args: str, stdin: bytes = b"", allowed: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess:
        done = subprocess.run([self.pawl, *args, "--store", self.store], input=stdin, capture_output=True,
                              timeout=CALL_TIMEOUT_S, check=False)
        if done.returncode not in allowed:
            raise Violation(f"`pawl {' '.join(args)}` exited with {done.returncode}:\n"
                            f"{done.stdout[-2000:].decode(errors='replace')}{done.stderr.decode(errors='replace')}")
        return done

    def tails(self) -> list[str]:
        """Returns the last saves of every run, which a crash would lose first."""
        runs: dict[str, list[int]] = {}
        for address in self.acknowledged:
            run, sequence = address.split("@")
            runs.setdefault(run, []).append(int(sequence))
        return [f"{run}@{sequence}" for run, sequences in runs.items() for sequence in sorted(sequences)[-TAIL:]]

    def verify(self, addresses: list[str]) -> None:
        listing = self.folder / "verify.log"
        listing.write_text("".join(f"{address} {self.acknowledged[address]}\n" for address in addresses))
        done = subprocess.run([self.writer, "verify", self.store, str(listing)], capture_output=True, check=False)
        if done.returncode != 0:
            raise Violation(f"{len(addresses)} acknowledged saves were checked:\n{done.stderr.decode()[:4000]}")


class Actor(threading.Thread):
    """A thread that runs until it is stopped. finish() raises its violation."""

    def __init__(self, world: World, stop: threading.Event, seed: int):
        super().__init__(daemon=True)
        self.world = world
        self.stop = stop
        self.random = random.Random(seed)
        self.kills = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self.act()
        except BaseException as failure:  # re-raised by finish()
            self.failure = failure
            self.stop.set()
        self.end()

    def act(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        pass

    def finish(self) -> int:
        self.join()
        if self.failure is not None:
            raise self.failure
        return self.kills


class ServiceWriter(Actor):
    """A `torture_writer` that is killed after a random time and restarted."""

    def __init__(self, world: World, stop: threading.Event, seed: int, number: int):
        super().__init__(world, stop, seed)
        self.log = world.folder / f"acknowledged-{number}.log"
        self.runs = [f"service-{number}-{i}" for i in range(RUNS_PER_WRITER)]

    def act(self) -> None:
        # Sometimes so short that opening the store, including its recovery, is interrupted.
        lifetime = self.random.choice([0.003, 0.02, 0.1, 0.4, 1.5]) * (0.2 + self.random.random())
        process = subprocess.Popen([self.world.writer, "write", self.world.store, str(self.log),
                                    str(self.random.getrandbits(48)), *self.runs],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, err = process.communicate(timeout=lifetime)
            raise Violation(f"torture_writer ended by itself with {process.returncode}:\n{err.decode()}")
        except subprocess.TimeoutExpired:
            self.kills += 1
        finally:
            process.kill()
            process.communicate()


class OneShots(Actor):
    """Calls `pawl save` repeatedly and kills some of the calls. `known` is kept between rounds."""

    def __init__(self, world: World, stop: threading.Event, seed: int, known: dict):
        super().__init__(world, stop, seed)
        self.known = known  # the run, and the number of the next save

    def body(self) -> bytes:
        return json.dumps({"n": self.known["next"], "log": ["x" * (i % 97) for i in range(self.known["next"] % 300)]}).encode()

    def act(self) -> None:
        run, number, state = self.known["run"], self.known["next"], self.body()
        process = subprocess.Popen([self.world.pawl, "save", run, "--id", f"save-{number}", "--store", self.world.store],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        killed = self.random.random() < 0.5
        if killed:
            # Killed at a random time, from before it reads its input to after it has printed.
            threading.Timer(self.random.random() * 0.012, process.kill).start()
        out, err = process.communicate(state)
        if process.returncode not in ((0, -9) if killed else (0,)):
            raise Violation(f"`pawl save {run}` exited with {process.returncode}:\n{err.decode()}")
        self.kills += process.returncode == -9
        if out.endswith(b"\n"):
            self.world.acknowledge(out.decode().strip(), sha256(state))
            self.known["next"] += 1  # otherwise the same save is repeated with the same id


class Patches(OneShots):
    """Like OneShots, but with patches and an expected parent, so that nothing can be applied twice."""

    def act(self) -> None:
        run, number = self.known["run"], self.known["next"]
        state = f'{{"done":{number}}}'.encode()
        process = subprocess.Popen([self.world.pawl, "save", run, "--patch", "--expect-parent", str(number - 1),
                                    "--store", self.world.store],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.random.random() < 0.3:
            threading.Timer(self.random.random() * 0.012, process.kill).start()
        out, err = process.communicate(state)
        self.kills += process.returncode == -9
        if out.endswith(b"\n"):
            self.world.acknowledge(out.decode().strip(), sha256(state))
        elif process.returncode == 4 and b"PAWL-0202" in err:
            pass  # the previous save succeeded but was killed before it could say so
        elif process.returncode == -9:
            return
        else:
            raise Violation(f"`pawl save {run} --patch` exited with {process.returncode}:\n{err.decode()}")
        self.known["next"] += 1


class Reader(Actor):
    """Reads at the same time as the writers. Nothing it reads may be damaged, whichever process is killed."""

    def act(self) -> None:
        world = self.world
        rows = world.call("list", "--json", "--limit", "100", allowed=(0, 2))
        if rows.returncode == 2:
            if b"PAWL-0103" not in rows.stderr:
                raise Violation(f"`pawl list` exited with 2: {rows.stderr.decode()}")
            return
        runs = [row["run"] for row in json.loads(rows.stdout)]
        if not runs:
            return
        run = self.random.choice(runs)
        latest = json.loads(world.call("show", run, "--json").stdout)["latest"]
        world.see(run, latest)
        json.loads(world.call("restore", f"{run}@{latest['sequence']}").stdout)
        json.loads(world.call("restore", run).stdout)
        after = str(self.random.randint(0, max(0, latest["sequence"] - 20)))
        for checkpoint in json.loads(world.call("show", run, "--checkpoints", "--after", after, "--limit", "20",
                                                "--json").stdout):
            world.see(run, checkpoint)


def check_ids(world: World, known: dict) -> None:
    """Checks that every caller id exists once, in order: a repeated save was not saved twice."""
    after, ids = 0, []
    while True:
        page = json.loads(world.call("show", known["run"], "--checkpoints", "--after", str(after), "--limit", "1000",
                                     "--json", allowed=(0, 2)).stdout or "[]")
        if not page:
            break
        ids += [row["caller_id"] for row in page]
        after = page[-1]["sequence"]
    # There may be one more save than was acknowledged.
    expected = [f"save-{i}" for i in range(1, known["next"] + 1)]
    if ids not in (expected, expected[:-1]):
        raise Violation(f"{known['run']} has these ids: {ids[-5:]}, {len(ids)} of them; acknowledged were {known['next'] - 1}")


class Torture:
    def __init__(self, programs: Path, folder: Path, seed: int):
        self.programs = programs
        self.folder = folder
        self.random = random.Random(seed)
        self.kills = 0
        self.acknowledged = 0
        self.rounds = 0
        self.stores = 0
        self.world: World | None = None
        self.known: list[dict] = []

    def begin_store(self) -> None:
        self.stores += 1
        place = self.folder / str(self.stores)
        place.mkdir()
        self.world = World(self.programs, place)
        self.known = [{"run": name, "next": 1} for name in ("one-shot-a", "one-shot-b", "patches")]

    def leave_store(self) -> None:
        """Checks every save that was acknowledged in the store, then removes it."""
        world = self.world
        self.check_all()
        self.acknowledged += len(world.acknowledged)
        for address, uuid in self.random.sample(sorted(world.seen.items()), min(100, len(world.seen))):
            run = address.split("@")[0]
            checkpoint = json.loads(world.call("show", address, "--json").stdout)
            if checkpoint["id"] != uuid:
                raise Violation(f"{address} was seen as {uuid}, and is now {checkpoint['id']} ({run})")
        shutil.rmtree(world.folder)
        self.world = None

    def round(self, seconds: float) -> None:
        world, stop = self.world, threading.Event()
        seed = self.random.getrandbits
        actors: list[Actor] = [ServiceWriter(world, stop, seed(48), i) for i in range(WRITERS)]
        actors += [OneShots(world, stop, seed(48), self.known[0]), OneShots(world, stop, seed(48), self.known[1]),
                   Patches(world, stop, seed(48), self.known[2]), Reader(world, stop, seed(48))]
        for actor in actors:
            actor.start()
        stop.wait(seconds)
        stop.set()
        for actor in actors:
            self.kills += actor.finish()
        self.check()

    def check(self) -> None:
        world = self.world
        world.collect()
        sample = self.random.sample(sorted(world.acknowledged), min(SAMPLE, len(world.acknowledged)))
        world.verify(world.tails() + sample)
        # The program must agree with the library.
        for address in sample[:10]:
            if sha256(world.call("restore", address).stdout) != world.acknowledged[address]:
                raise Violation(f"`pawl restore {address}` does not print the state that was acknowledged")
        check_ids(world, self.known[0])
        check_ids(world, self.known[1])
        world.call("fsck")
        if self.rounds % 2 == 0:
            self.check_all()

    def check_all(self) -> None:
        self.world.call("fsck", "--repair")
        self.world.verify(sorted(self.world.acknowledged))
        self.world.call("fsck")

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.world is None:
                self.begin_store()
            self.rounds += 1
            self.round(min(left, self.random.uniform(0.5, 8.0)))
            print(f"  round {self.rounds}: {self.kills} kills, {self.acknowledged + len(self.world.acknowledged)} "
                  "acknowledged saves, all there", flush=True)
            if len(self.world.acknowledged) > SAVES_PER_STORE:
                self.leave_store()
        if self.world is not None:
            self.leave_store()


def parse() -> argparse.Namespace:
    root = Path(__file__).resolve().parent.parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seconds", type=float, help="instead of --minutes")
    parser.add_argument("--seed", type=int, help="seed of the kill times and states; default: random")
    parser.add_argument("--programs", type=Path, default=root / "build/release", help="folder with pawl and torture_writer")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    for name in ("pawl", "torture_writer"):
        if not os.access(arguments.programs / name, os.X_OK):
            print(f"torture: there is no {arguments.programs / name}; build it first", file=sys.stderr)
            return 2
    seconds = arguments.minutes * 60 if arguments.seconds is None else arguments.seconds
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().getrandbits(32)
    folder = Path(tempfile.mkdtemp(prefix="pawl-torture-"))
    print(f"torture: {seconds:g} s, seed {seed}, in {folder}", flush=True)
    torture = Torture(arguments.programs, folder, seed)
    try:
        torture.run(seconds)
    except Violation as violation:
        print(f"\nVIOLATION in round {torture.rounds}, seed {seed}\n{violation}\nThe store is kept in {torture.world.store}, "
              f"the logs beside it.\n{torture.kills} kills", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    print(f"{torture.kills} kills, {torture.acknowledged} acknowledged saves, 0 lost "
          f"({torture.rounds} rounds, {torture.stores} stores)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
