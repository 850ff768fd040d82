#!/usr/bin/env python3
"""An independent verifier of a Pawl store: run.json, checkpoints, events, audit trail, Merkle roots.

It is written from docs/formats/ alone. It does not read journals, so the journals must contain no records of the runs:
use it after `pawl fsck --repair`, or on a copy of runs/. It compares the entries of an anchor but does not check its Ed25519
signature; `pawl verify --anchor` does.
usage: verify_store.py STORE [RUN...] [--anchor FILE]
Exit status: 0, or 4 with the first bad entry of each run.
"""
import gzip
import hashlib
import json
import re
import sys
import zlib
from pathlib import Path

HEX = re.compile(r"[0-9a-f]{64}")
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


class Bad(Exception):
    """An error, the file it is in, and the number of the audit entry."""

    def __init__(self, what, file, entry=0):
        super().__init__(f"entry {entry}: {what} ({file})")
        self.what, self.file, self.entry = what, str(file), entry


def crc32c(data, seed=0):
    value = seed ^ 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 255] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def sealed(text, seed, file, entry=0):
    """Checks the checksum of a sealed object (without its newline) and returns its members."""
    tail = re.search(rb',"crc":"([0-9a-f]{8})"}\Z', text)
    if not tail or crc32c(text[: tail.start()], seed) != int(tail[1], 16):
        raise Bad("wrong checksum", file, entry)
    return json.loads(text)


def lines_of(path):
    """Returns lines without newlines. An unterminated last line becomes empty, so that no checksum matches it."""
    lines = (path.read_bytes() if path.exists() else b"").split(b"\n")
    return lines[:-1] + ([b""] if lines[-1] else [])


def trail_of(path):
    """Returns the lines of an audit trail. Those before the first in the file are in archives, without links and hashes."""
    lines = lines_of(path)
    first = re.match(rb'{"i":(\d+),', lines[0]) if lines else None
    last, found, head = int(first[1]) - 1 if first else 0, [], b"\0" * 32
    names = [(int(m[1]), -int(m[2]), m[0]) for p in path.parent.glob("*") if (m := re.fullmatch(r"audit_trail_(\d+)-(\d+)_\d+\.jsonl\.gz", p.name))]
    for begin, end, name in sorted(names):
        if begin != len(found) + 1 or -end > last:
            continue  # a part of another archive, or newer than the cut
        try:
            text = gzip.decompress((path.parent / name).read_bytes())
        except (OSError, EOFError, zlib.error) as problem:
            raise Bad(f"the archive can't be decompressed: {problem}", path.parent / name, begin)
        for line in text.split(b"\n")[:-1]:
            edge = re.fullmatch(rb'{"(first|last)":(\d+),"(prev|hash)":"([0-9a-f]{64})"}', line)
            if edge and (edge[4] != head.hex().encode() or int(edge[2]) != len(found) + (edge[1] == b"first")):
                raise Bad("archived entries don't match their first or last hash", path.parent / name, int(edge[2]))
            if not edge:
                line = line[:-1] + b',"prev":"' + head.hex().encode() + b'"'
                head = sha(head, line)
                found.append(line + b',"hash":"' + head.hex().encode() + b'"}')
        if len(found) != -end:
            raise Bad("the archive has other entries than its name says", path.parent / name, begin)
    return found + lines if len(found) == last else lines


def ranges(text):
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def root_of(peaks):
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = sha(b"\1", peak, root)
    return root


class Run:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.records = {}  # sequence -> (text, file)

    def verify(self, anchored=None):
        path = self.folder / "run.json"
        text = path.read_bytes() if path.exists() else b""
        if not text.endswith(b"\n"):
            raise Bad("run.json is truncated", path, 1)
        run = sealed(text[:-1], 0, path, 1)
        if run.get("run") != self.name:
            raise Bad("run.json belongs to another run", path, 1)
        self.run_text, self.salt, uuid = text, run["salt"].encode(), bytes.fromhex(run["uuid"].replace("-", ""))
        self.uuid, self.seed, self.first, self.first_event = run["uuid"], crc32c(uuid), run.get("fork_at", 0), run.get("fork_events", 0)
        path = self.folder / "erased.json"
        self.erased = sealed(path.read_bytes().rstrip(b"\n"), 0, path) if path.exists() else None
        path = self.folder / "checkpoints/pruned.json"
        pruned = sealed(path.read_bytes().rstrip(b"\n"), self.seed, path) if path.exists() else {}
        self.dropped, self.closed = ranges(pruned.get("dropped", "")), ranges(pruned.get("closed", ""))
        self.kept = {number: (was, now) for number, was, now in pruned.get("kept", [])}
        self.tails = dict(pruned.get("tails", []))
        borrowed = self.folder / f"checkpoints/checkpoint_{self.first:05}.jsonl"
        if self.first and borrowed.exists() and self.first + 1 not in self.closed:  # the first checkpoints of a fork are differences to its parent
            self.records = {self.first + 1 + i: (line, borrowed) for i, line in enumerate(lines_of(borrowed))}
        self.trail(anchored)

    def place_of(self, sequence):
        """Returns the bytes of a checkpoint's record, or None, and its file."""
        folder = self.folder / "checkpoints"
        if sequence in self.kept or (folder / f"checkpoint_{sequence:05}.json").exists() and sequence not in self.closed:
            name = folder / (f"kept_{sequence:05}.json" if sequence in self.kept else f"checkpoint_{sequence:05}.json")
            text = name.read_bytes() if name.exists() else b""
            if not text.endswith(b"\n"):
                raise Bad("the file is truncated", name, self.entry)
            if self.records:
                raise Bad("a file of differences continues after its last checkpoint", folder, self.entry)
            if sequence not in self.kept or sequence in self.tails:
                lines = name.with_suffix(".jsonl")
                self.records = {sequence + 1 + i: (line, lines) for i, line in enumerate(lines_of(lines))}
                if sequence in self.tails and len(self.records) != self.tails[sequence] - sequence:
                    raise Bad("the kept differences are incomplete", lines, self.entry)
            return text[:-1], name
        return self.records.pop(sequence, (None, folder))

    def checkpoint(self, sequence, payload):
        text, file = self.place_of(sequence)
        if text is None:
            if sequence not in self.dropped:
                raise Bad(f"checkpoint {sequence} is missing", file, self.entry)
            return
        record = sealed(text, self.seed, file, self.entry)
        covered, total = text[:-98], sha(self.salt, text[:-98]).hex()
        was, now = self.kept.get(sequence, (total, total))
        if record["seq"] != sequence or record["sum"] != "sha256:" + total or now != total or payload != "sha256:" + was:
            raise Bad(f"checkpoint {sequence} has been changed", file, self.entry)
        blob = re.search(rb',"(?:state|diff)_blob":"([0-9a-f]{64})"\Z', covered)
        if blob:
            path = self.folder / "blobs" / blob[1].decode()
            if not path.exists() or sha(self.salt, path.read_bytes()).hex() != path.name:
                raise Bad(f"the blob of checkpoint {sequence} is missing or changed", path, self.entry)

    def read_events(self):
        events, number = {}, self.first_event  # sequence -> number -> hash of the line
        for path in sorted((self.folder / "events").glob("events_*.jsonl")):
            for line in lines_of(path):
                number += 1
                head = re.match(rb'{"n":(\d+),"seq":(\d+),', line)
                if not head or int(head[1]) != number or not sealed(line, self.seed, path):
                    raise Bad(f"event {number} is damaged", path)
                events.setdefault(int(head[2]), {})[number] = sha(self.salt, line)
        return events

    def read_roots(self):
        path = self.folder / "audit/merkle_roots.json"
        if not path.exists():
            return [], path
        text = path.read_bytes()
        if not (text.startswith(b"[\n") and text.endswith(b"\n]\n")):
            raise Bad("the list of roots is truncated", path, 1)
        return [sealed(line, self.seed, path, 1) for line in text[2:-3].split(b",\n")], path

    def trail(self, anchored):
        path, self.entry = self.folder / "audit/audit_trail.jsonl", 0
        events, (roots, roots_path) = self.read_events(), self.read_roots()
        head, peaks, size, last, bound, covered = b"\0" * 32, [], 0, self.first, False, 0
        for line in trail_of(path):
            self.entry += 1
            tail = re.search(rb',"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"}\Z', line)
            if not tail or tail[1] != head.hex().encode() or sha(head, line[: tail.end(1) + 1]) != bytes.fromhex(tail[2].decode()):
                raise Bad("the entry has a wrong hash or does not follow the previous one", path, self.entry)
            head, entry = bytes.fromhex(tail[2].decode()), json.loads(line)
            if entry["i"] != self.entry:
                raise Bad("the entry has a wrong number", path, self.entry)
            of_save = events.get(entry.get("seq"), {})
            if self.erased:  # the data that the entries cover is gone
                bound = bound or entry["type"] == "run_created"
            elif entry["type"] == "run_created":
                bound = self.entry == 1
                if not bound or entry["payload"] != "sha256:" + sha(self.salt, self.run_text).hex():
                    raise Bad("run.json has been changed", self.folder / "run.json", self.entry)
            elif entry["type"] == "checkpoint_saved":
                if entry["seq"] != last + 1:
                    raise Bad("a checkpoint is missing", path, self.entry)
                last += 1
                self.checkpoint(last, entry["payload"])
                total = "sha256:" + sha(self.salt, *of_save.values()).hex() if of_save else None
                if entry.get("events") != total and (bound or "events" in entry):
                    raise Bad(f"the events of checkpoint {last} have been changed", self.folder / "events", self.entry)
                events.pop(last, None)
            elif "event" in entry and "sha256:" + of_save.get(entry["event"], b"").hex() != entry["payload"]:
                raise Bad(f"event {entry['event']} has been changed", self.folder / "events", self.entry)
            peak, size, count = sha(b"\0", head), size + len(line) + 1, self.entry - 1
            while count & 1:
                peak, count = sha(b"\1", peaks.pop(), peak), count >> 1
            peaks.append(peak)
            if roots and roots[0]["size"] == self.entry:
                root = roots.pop(0)
                made = {"size": self.entry, "at": entry["at"], "bytes": size, "head": head.hex(), "root": root_of(peaks).hex(), "frontier": [p.hex() for p in peaks]}
                if {key: root.get(key) for key in root if key != "crc"} != made:
                    raise Bad("the Merkle root does not match the trail", roots_path, self.entry)
                covered = self.entry
            if anchored and anchored["entries"] == self.entry and (anchored["head"], anchored["root"]) != (head.hex(), root_of(peaks).hex()):
                raise Bad("the chain was rebuilt: the anchor has a different entry", path, self.entry)
        self.finish(path, roots, roots_path, events, last, bound, anchored, covered)

    def finish(self, path, roots, roots_path, events, last, bound, anchored, covered):
        after = self.entry + 1
        if self.erased and self.erased.get("state") == "done" and b'"type":"erased"' not in path.read_bytes().splitlines()[-1]:
            raise Bad("the run was erased, but the trail does not record it", path, after)
        if anchored and (anchored["uuid"] != self.uuid or anchored["entries"] > self.entry):
            raise Bad("the trail was truncated or belongs to another run: the anchor has more entries", path, after)
        if roots or self.entry == 0 or bound and not self.erased and covered != self.entry:
            raise Bad("the trail and its roots end at different entries", roots_path if covered else path, after)
        known = {int(m[1]) for p in (self.folder / "checkpoints").glob("*") if (m := re.fullmatch(r"checkpoint_(\d+)\.jsonl?", p.name))}
        if self.records or events or known - self.closed - set(range(self.first, last + 1)):
            raise Bad("the trail does not cover a checkpoint or an event", self.folder, after)


def main(arguments):
    anchor = {}
    if "--anchor" in arguments:
        at = arguments.index("--anchor")
        anchor = {run["run"]: run for run in json.loads(Path(arguments[at + 1]).read_text())["runs"]}
        arguments = arguments[:at] + arguments[at + 2 :]
    store, names = Path(arguments[0]), arguments[1:]
    status = 0
    for name in names or sorted({p.name for p in (store / "runs").iterdir() if (p / "run.json").exists()} | set(anchor)):
        try:
            if not (store / "runs" / name).exists():
                raise Bad("the anchor contains this run, but it is missing", store / "runs" / name)
            Run(store / "runs" / name).verify(anchor.get(name))
            print(f"{name}: fine")
        except (Bad, ValueError, KeyError, TypeError, UnicodeDecodeError) as bad:
            print(f"{name}: BAD: {bad}")
            status = 4
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
