#!/usr/bin/env python3
"""Measures the time and memory that `pawl verify` needs for a long audit trail.

The store is created here, record by record, from docs/formats/.

usage: verify_bench.py PAWL [ENTRIES]
"""
import hashlib
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

spec = importlib.util.spec_from_file_location("verify_store", Path(__file__).resolve().parents[1] / "tools/verify_store.py")
formats = importlib.util.module_from_spec(spec)
spec.loader.exec_module(formats)
sha = hashlib.sha256
UUID, SALT, AT = "f204a1d5-8a93-4062-89ff-98071e9ca6ca", "b9f5a07176645a03f3f8751c656739ae", "2026-01-11T14:30:00.000000Z"
SEED = formats.crc32c(bytes.fromhex(UUID.replace("-", "")))
GROUP = 1000


def seal(body, seed):
    return b'%s,"crc":"%08x"}' % (body, formats.crc32c(body, seed))


def records(count, kept_from):
    """Returns the checksums of all checkpoints. `write` writes the files of those from `kept_from` on."""
    for number in range(1, count + 1):
        head = b'{"seq":%d,"parent":%d,"stored":7,"v":2,"id":"4247e814-fd78-453a-ade3-%012x","at":"%s","kind":"manual","size":7,' % (number, number - 1, number, AT.encode())
        body = head + (b'"state":\n{"n":1}\n' if number % GROUP == 1 else b'"state":{"n":1}')
        total = sha(SALT.encode() + body).hexdigest()
        yield number, total, seal(body + b',"sum":"sha256:%s"' % total.encode(), SEED) + b"\n" if number >= kept_from else b""


def make(folder, count, kept_from):
    store = folder / "store"
    run = store / "runs/long"
    for name in ("checkpoints", "audit"):
        (run / name).mkdir(parents=True)
    (store / "journal").mkdir()
    (store / "store.json").write_bytes(seal(b'{"pawl":2,"id":"238d9491-9855-4cdb-9d45-35ed7d92bc78","created":"%s","key":null' % AT.encode(), 0) + b"\n")
    text = seal(b'{"pawl":2,"run":"long","uuid":"%s","created":"%s","durability":"sync","salt":"%s","key":null' % (UUID.encode(), AT.encode(), SALT.encode()), 0) + b"\n"
    (run / "run.json").write_bytes(text)
    if kept_from > 1:
        body = json.dumps({"pawl": 1, "at": AT, "dropped": f"1-{kept_from - 1}", "closed": f"1-{kept_from - 1}", "kept": [], "callers": 0}, separators=(",", ":"))
        (run / "checkpoints/pruned.json").write_bytes(seal(body[:-1].encode(), SEED) + b"\n")
    head, peaks, size, index, lines = b"\0" * 32, [], 0, 0, None
    with open(run / "audit/audit_trail.jsonl", "wb") as trail:

        def add(entry):
            nonlocal head, size, index
            index += 1
            body = b'{"i":%d,"at":"%s",%s,"prev":"%s"' % (index, AT.encode(), entry, head.hex().encode())
            head = sha(head + body).digest()
            size += trail.write(b'%s,"hash":"%s"}\n' % (body, head.hex().encode()))
            peak, rest = sha(b"\0" + head).digest(), index - 1
            while rest & 1:
                peak, rest = sha(b"\1" + peaks.pop() + peak).digest(), rest >> 1
            peaks.append(peak)

        add(b'"type":"run_created","seq":1,"payload":"sha256:%s"' % sha(SALT.encode() + text).hexdigest().encode())
        for number, total, record in records(count - 1, kept_from):
            add(b'"type":"checkpoint_saved","seq":%d,"payload":"sha256:%s"' % (number, total.encode()))
            if record and number % GROUP == 1:
                (run / f"checkpoints/checkpoint_{number:05}.json").write_bytes(record)
                lines = open(run / f"checkpoints/checkpoint_{number:05}.jsonl", "wb")
            elif record:
                lines.write(record)
    if lines:
        lines.close()
    root = {"size": index, "at": AT, "bytes": size, "head": head.hex(), "root": formats.root_of(peaks).hex(), "frontier": [p.hex() for p in peaks]}
    (run / "audit/merkle_roots.json").write_bytes(b"[\n" + seal(json.dumps(root, separators=(",", ":")).encode()[:-1], SEED) + b"\n]\n")
    return store


def measure(program, count, kept_from, what):
    folder = Path(tempfile.mkdtemp(prefix="pawl-verify-bench-"))
    try:
        store = make(folder, count, kept_from)
        best = 1e9
        for _ in range(3):
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            done = subprocess.run([program, "--store", str(store), "verify", "long", "--json"], capture_output=True)
            seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            assert done.returncode == 0, done.stderr
            best = min(best, cpu)
            print(f"{what}: {count:,} entries in {seconds:.2f} s, {cpu:.2f} s of one core, {count / cpu:,.0f} entries/s; at most {after.ru_maxrss / 1024:.0f} MiB", flush=True)
        return best
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    entries = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    last_group = (entries - 2) // GROUP * GROUP + 1
    measure(os.path.abspath(sys.argv[1]), entries, last_group, "trail, with the last checkpoints")
    measure(os.path.abspath(sys.argv[1]), entries, 1, "trail, with every checkpoint")
