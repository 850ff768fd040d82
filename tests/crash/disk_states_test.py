#!/usr/bin/env python3
"""Tests the model of the disk and the reader of traces that trace_states.py is built on."""
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from disk_states import Content, Disk, Variant, variants  # noqa: E402
from trace_log import Call, Reader, TraceError  # noqa: E402

NOTHING = Variant("0:none", lambda _: False, lambda _: "none")
EVERYTHING = Variant("0:all")


def hexadecimal(text):
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


class DiskStates(unittest.TestCase):
    def setUp(self):
        self.disk, self.line = Disk(), 0

    def call(self, kind, path="", began=None, **more):
        self.line += 1
        self.disk.apply(Call(self.line if began is None else began, self.line, kind, path, **more))

    def create(self, path, data=b"new"):
        self.call("open", path, create=True)
        self.call("write", path, data=data, offset=0)

    def contents(self, variant):
        return {path: content.read() for path, content in self.disk.state(variant).items() if content is not None}

    def possible(self):
        """Returns all rebuilt states of this moment."""
        return [self.contents(variant) for variant in variants(self.disk, self.line)]

    def test_what_is_not_synced_can_be_lost(self):
        self.create("a")
        self.assertEqual(self.contents(EVERYTHING), {"a": b"new"})
        self.assertEqual(self.contents(NOTHING), {})

    def test_a_synced_file_can_lose_its_name(self):
        self.create("a")
        self.call("sync", "a")
        self.assertEqual(self.contents(NOTHING), {})
        self.call("sync", ".")
        self.assertEqual(self.contents(NOTHING), {"a": b"new"})

    def test_a_name_can_be_durable_before_the_bytes(self):
        self.create("a.tmp")
        self.call("rename", "a.tmp", target="a")
        self.call("sync", ".")
        self.assertEqual(self.contents(NOTHING), {"a": b""})
        self.assertIn({"a": bytes(3)}, self.possible())  # the size without the bytes

    def test_a_rename_that_is_lost_leaves_the_old_file(self):
        self.create("a", b"old")
        self.call("sync", "a")
        self.call("sync", ".")
        self.create("a.tmp")
        self.call("sync", "a.tmp")
        self.call("rename", "a.tmp", target="a")
        self.assertEqual(self.contents(NOTHING), {"a": b"old"})
        self.assertEqual(self.contents(EVERYTHING), {"a": b"new"})

    def test_a_removed_file_comes_back_unless_its_folder_is_synced(self):
        self.create("a")
        self.call("sync", "a")
        self.call("sync", ".")
        self.call("remove", "a")
        self.assertEqual(self.contents(NOTHING), {"a": b"new"})
        self.call("sync", ".")
        self.assertEqual(self.contents(NOTHING), {})

    def test_a_sync_covers_only_what_returned_before_it_began(self):
        self.create("a")
        self.call("sync", ".")
        self.call("sync", "a", began=1)  # began before the write returned
        self.assertEqual(self.contents(NOTHING), {"a": b""})

    def test_a_write_is_torn_by_sectors(self):
        self.create("a", b"o" * 4096)
        self.call("sync", "a")
        self.call("sync", ".")
        self.call("write", "a", data=b"n" * 4096, offset=0)
        mixed = [state["a"] for state in self.possible() if 0 < state["a"].count(b"n") < 4096]
        self.assertTrue(mixed)
        self.assertTrue(all(len(set(state[at : at + 512])) == 1 for state in mixed for at in range(0, 4096, 512)))

    def test_a_rename_to_another_folder_does_not_leave_two_names(self):
        self.call("mkdir", "one")
        self.call("mkdir", "two")
        self.create("one/a.tmp")
        self.call("rename", "one/a.tmp", target="one/a")
        self.call("rename", "one/a", target="two/a")
        self.call("sync", "two")
        self.assertEqual(self.contents(EVERYTHING), {"two/a": b"new"})

    def test_ignored_syncs_did_not_happen(self):
        self.disk = Disk("^a$")
        self.create("a")
        self.call("sync", ".")
        self.call("sync", "a")
        self.assertEqual((self.contents(NOTHING), self.disk.ignored_count), ({"a": b""}, 1))

    def test_what_is_outside_is_never_lost(self):
        self.disk.load("outside", folder=True)
        self.create("outside/log")
        self.assertEqual(self.contents(NOTHING), {"outside/log": b"new"})

    def test_content_that_shrinks_and_grows_is_zero_in_between(self):
        content = Content().write(0, b"x" * 5000).resized(4097).resized(5000)
        self.assertEqual(content.read(), b"x" * 4097 + bytes(903))


class TraceLog(unittest.TestCase):
    def read(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace")
            Path(path).write_text("".join(line + "\n" for line in lines))
            return list(Reader("/w").calls(path))

    def test_calls_of_other_processes_interrupt_a_call(self):
        write = f'7 pwrite64(3<{hexadecimal("/w/a")}>, "{hexadecimal("text")}", 4, 16'
        calls = self.read(f"{write} <unfinished ...>", f'8 mkdir("{hexadecimal("/w/b")}", 0777) = 0', "7 <... pwrite64 resumed>) = 4")
        self.assertEqual([(call.kind, call.path, call.began, call.at) for call in calls], [("mkdir", "b", 1, 1), ("write", "a", 0, 2)])
        self.assertEqual((calls[1].data, calls[1].offset), (b"text", 16))

    def test_failed_calls_and_other_folders_are_left_out(self):
        self.assertEqual(self.read(f'7 mkdir("{hexadecimal("/w/b")}", 0777) = -1 EEXIST (File exists)', f'7 mkdir("{hexadecimal("/wide")}", 0777) = 0'), [])

    def test_paths_are_relative_to_their_descriptors(self):
        folder = f"3<{hexadecimal('/w/s')}>"
        calls = self.read(f'7 renameat({folder}, "{hexadecimal("a.tmp")}", {folder}, "{hexadecimal("b/a")}") = 0',
                          f'7 openat({folder}, "{hexadecimal("c")}", O_RDWR|O_CREAT|O_TRUNC, 0666) = 5<{hexadecimal("/w/s/c")}>', f"7 fsync({folder}) = 0")
        self.assertEqual([(call.kind, call.path, call.target) for call in calls], [("rename", "s/a.tmp", "s/b/a"), ("open", "s/c", ""), ("sync", "s", "")])

    def test_large_writes_and_lists_of_buffers_are_complete(self):
        large = self.read(f'7 pwrite64(3<{hexadecimal("/w/a")}>, "{hexadecimal("ab" * 5000)}", 10000, 4096) = 10000')[0]
        self.assertEqual((large.data, large.offset), (b"ab" * 5000, 4096))
        pieces = ", ".join(f'{{iov_base="{hexadecimal(text)}", iov_len={len(text)}}}' for text in ("one", "two"))
        self.assertEqual(self.read(f'7 pwritev(3<{hexadecimal("/w/a")}>, [{pieces}], 2, 8) = 6')[0].data, b"onetwo")

    def test_a_writable_mapping_is_refused(self):
        with self.assertRaises(TraceError):
            self.read(f'7 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3<{hexadecimal("/w/a")}>, 0) = 0x7f0000000000')


if __name__ == "__main__":
    unittest.main()
