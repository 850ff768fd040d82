"""Reads a log of strace: the calls that change files below a folder, in the order in which they returned.

The log must be written with OPTIONS. Paths are relative to the folder. Calls that failed are left out.
"""
import os
import re
from dataclasses import dataclass

CALLS = ("open,openat,creat,write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,syncfs,sync,mmap,ftruncate,truncate,fallocate,"
         "rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,copy_file_range,sendfile,splice")
# -y names the file of each descriptor, -xx prints all strings as hexadecimal digits, which are fast to read.
OPTIONS = ["-f", "--seccomp-bpf", "-y", "-xx", "-s", "100000000", "-e", f"trace={CALLS}", "-e", "signal=none"]

LINE = re.compile(rb"(\d+) +(\w+)\((.*)\) += (-?\d+)(?:<((?:\\x[0-9a-f]{2})*)>)?", re.DOTALL)
RESUMED = re.compile(rb"(\d+) +<\.\.\. \w+ resumed>(.*)", re.DOTALL)
DESCRIPTOR = re.compile(rb"(\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?")
STRING = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"')
NUMBER = re.compile(rb"-?\d+")


class TraceError(Exception):
    """A call that this reader can't follow."""


@dataclass
class Call:
    """A call that returned. `began` and `at` are the lines of the log in which it began and returned."""
    began: int
    at: int
    kind: str  # open, write, truncate, allocate, rename, remove, mkdir, link, sync
    path: str = ""
    target: str = ""
    offset: int = 0  # -1: where the write before it ended
    data: bytes = b""
    size: int = 0
    create: bool = False
    empty: bool = False  # O_TRUNC
    append: bool = False  # O_APPEND
    everything: bool = False  # sync of the whole file system

    def __str__(self):
        more = f" -> {self.target}" if self.target else f" at {self.offset}, {len(self.data)} bytes" if self.kind == "write" else ""
        return f"{self.kind} {self.path}{more}"


def text(hexadecimal):
    count = len(hexadecimal) // 4
    if count > 4096 and hexadecimal.count(b"\\x00") == count:
        return bytes(count)
    return bytes.fromhex(hexadecimal.replace(b"\\x", b"").decode())


class Reader:
    def __init__(self, root):
        self.root = os.path.normpath(root)
        self.mark = b"".join(b"\\x%02x" % byte for byte in self.root.encode())

    def calls(self, path):
        """Yields the calls of a log."""
        begun = {}
        with open(path, "rb") as log:
            for at, line in enumerate(log):
                if line.endswith(b"<unfinished ...>\n"):
                    if self.mark in line:
                        begun[line.split(b" ", 1)[0]] = (at, line[: -len(b"<unfinished ...>\n")].rstrip())
                    continue
                began = at
                resumed = RESUMED.match(line)
                if resumed:
                    if resumed[1] not in begun:
                        continue
                    began, head = begun.pop(resumed[1])
                    line = head + resumed[2]
                elif self.mark not in line:
                    continue
                call = self.call(began, at, line)
                if call:
                    yield call

    def call(self, began, at, line):
        data = b""
        if len(line) > 4096 and line.count(b'"') == 2:  # patterns are slow on megabytes
            data = line[line.index(b'"') + 1 : line.rindex(b'"')]
            line = line[: line.index(b'"') + 1] + line[line.rindex(b'"') :]
        found = LINE.match(line)
        if not found or int(found[4]) < 0:
            return None
        name, arguments = found[2].decode(), found[3]
        if name == "mmap":
            if b"PROT_WRITE" in arguments and b"MAP_SHARED" in arguments and self.mark in arguments:
                raise TraceError(f"line {at + 1}: a file is written through a shared mapping")
            return None
        made = getattr(self, "on_" + CLASS[name])(name, arguments, found)
        if made is None:
            return None
        made.began, made.at = began, at
        if data:
            made.data = text(data)[: int(found[4])]
        return made

    # Paths.

    def relative(self, path):
        path = os.path.normpath(path)
        if path == self.root:
            return "."
        return path[len(self.root) + 1 :] if path.startswith(self.root + "/") else None

    def paths(self, arguments, count):
        """Returns the paths of a call: strings, each relative to the descriptor before it if there is one."""
        found, folder = [], ""
        for match in re.finditer(DESCRIPTOR.pattern + b"|" + STRING.pattern, arguments):
            if match[1]:
                folder = text(match[2]).decode(errors="surrogateescape")
            else:
                found.append(self.relative(os.path.join(folder, text(match[4]).decode(errors="surrogateescape"))))
        return found[:count]

    def descriptor(self, arguments):
        found = DESCRIPTOR.match(arguments)
        if not found or found[3]:
            return None
        path = text(found[2]).decode(errors="surrogateescape")
        return None if path.endswith(" (deleted)") else self.relative(path)

    # One method for each class of calls.

    def on_open(self, name, arguments, found):
        if b"O_TMPFILE" in arguments:
            raise TraceError("O_TMPFILE is not supported")
        create, empty = b"O_CREAT" in arguments or name == "creat", b"O_TRUNC" in arguments or name == "creat"
        path = self.relative(text(found[5]).decode(errors="surrogateescape")) if found[5] else None
        if not path or b"O_DIRECTORY" in arguments or not (create or empty or b"O_WRONLY" in arguments or b"O_RDWR" in arguments):
            return None
        return Call(0, 0, "open", path, create=create, empty=empty, append=b"O_APPEND" in arguments)

    def on_write(self, name, arguments, found):
        path = self.descriptor(arguments)
        if path is None:
            return None
        data = b"".join(text(piece) for piece in STRING.findall(arguments))[: int(found[4])]
        offset = -1
        if name.startswith("p"):
            offset = int(NUMBER.findall(arguments[arguments.rindex(b'"') :])[-1 if name != "pwritev2" else -2])
        return Call(0, 0, "write", path, data=data, offset=offset)

    def on_copy(self, name, arguments, found):
        if any(self.relative(text(match[2]).decode(errors="surrogateescape")) for match in DESCRIPTOR.finditer(arguments)):
            raise TraceError(f"{name} is not supported")

    def on_truncate(self, name, arguments, found):
        path = self.paths(arguments, 1)[0] if name == "truncate" else self.descriptor(arguments)
        size = int(NUMBER.findall(arguments)[-1])
        return Call(0, 0, "truncate", path, size=size) if path else None

    def on_allocate(self, name, arguments, found):
        path = self.descriptor(arguments)
        parts = arguments.split(b", ")
        if path is None or b"KEEP_SIZE" in parts[1]:
            return None
        if parts[1] != b"0":
            raise TraceError(f"fallocate with {parts[1].decode()} is not supported")
        return Call(0, 0, "allocate", path, size=int(parts[2]) + int(parts[3]))

    def on_rename(self, name, arguments, found):
        if b"RENAME_EXCHANGE" in arguments:
            raise TraceError("RENAME_EXCHANGE is not supported")
        source, target = self.paths(arguments, 2)
        if (source is None) != (target is None):
            raise TraceError("a rename across the border of the folder")
        return Call(0, 0, "rename", source, target) if source else None

    def on_link(self, name, arguments, found):
        if name.startswith("symlink"):
            raise TraceError("symbolic links are not supported")
        source, target = self.paths(arguments, 2)
        return Call(0, 0, "link", source, target) if source and target else None

    def on_remove(self, name, arguments, found):
        path = self.paths(arguments, 1)[0]
        return Call(0, 0, "remove", path) if path else None

    def on_mkdir(self, name, arguments, found):
        path = self.paths(arguments, 1)[0]
        return Call(0, 0, "mkdir", path) if path else None

    def on_sync(self, name, arguments, found):
        if name in ("sync", "syncfs"):
            return Call(0, 0, "sync", everything=True)
        path = self.descriptor(arguments)
        return Call(0, 0, "sync", path) if path else None


CLASS = {
    "open": "open", "openat": "open", "creat": "open", "write": "write", "writev": "write", "pwrite64": "write", "pwritev": "write",
    "pwritev2": "write", "fsync": "sync", "fdatasync": "sync", "syncfs": "sync", "sync": "sync", "ftruncate": "truncate", "truncate": "truncate",
    "fallocate": "allocate", "rename": "rename", "renameat": "rename", "renameat2": "rename", "unlink": "remove", "unlinkat": "remove",
    "rmdir": "remove", "mkdir": "mkdir", "mkdirat": "mkdir", "link": "link", "linkat": "link", "symlink": "link", "symlinkat": "link",
    "copy_file_range": "copy", "sendfile": "copy", "splice": "copy",
}
