"""Rebuilds what a disk can contain after power loss, from the calls that changed files.

What a sync of a file covers is durable: its bytes and its size. What a sync of a folder covers is durable: the names in
it. Of everything else, any part may be on the disk:

- bytes: each sector of 512 bytes of each write is there or not; a file may have its new size without its new bytes
- names: each created, removed or renamed name is there or not, whatever happened to the bytes. A rename is atomic
- an ordered file system writes names in the order of the calls; then a prefix of them is there

A file that is synced does not get a durable name by that. Removed files keep their bytes until their removal is
durable. A folder named `outside` is not part of the disk: it is always as it was at that moment.
"""
import random
import re
from dataclasses import dataclass, field

PAGE = 4096
SECTOR = 512
ZEROS = bytes(PAGE)
OUTSIDE = "outside"


class Content:
    """Bytes of a file. Pages of zeros are not kept. Never changed after it was built."""

    __slots__ = ("size", "pages", "signature_")

    def __init__(self, size=0, pages=None):
        self.size, self.pages, self.signature_ = size, pages or {}, None

    def signature(self):
        if self.signature_ is None:
            self.signature_ = hash((self.size, frozenset(self.pages.items())))
        return self.signature_

    def write(self, offset, data):
        pages = dict(self.pages)
        at, end = offset, offset + len(data)
        while at < end:
            number, begin = divmod(at, PAGE)
            count = min(PAGE - begin, end - at)
            piece = data[at - offset : at - offset + count]
            if count < PAGE:
                old = pages.get(number, ZEROS)
                piece = old[:begin] + piece + old[begin + count :]
            if piece == ZEROS:
                pages.pop(number, None)
            else:
                pages[number] = piece
            at += count
        return Content(max(self.size, end), pages)

    def resized(self, size):
        if size >= self.size:
            return Content(size, self.pages)
        last, rest = divmod(size, PAGE)
        pages = {number: page for number, page in self.pages.items() if number < last or number == last and rest}
        if last in pages:
            pages[last] = pages[last][:rest] + bytes(PAGE - rest)
        return Content(size, pages)

    def read(self):
        data = bytearray(self.size)
        for number, page in self.pages.items():
            piece = page[: max(0, self.size - number * PAGE)]
            data[number * PAGE : number * PAGE + len(piece)] = piece
        return bytes(data)


def changed(content, call):
    """Returns the content after a call."""
    if call.kind == "write":
        return content.write(call.offset, call.data)
    return content.resized(max(content.size, call.size) if call.kind == "allocate" else call.size)


def torn(content, calls, dice):
    """Applies some sectors of each write, and some changes of the size."""
    for call in calls:
        if call.kind != "write":
            content = changed(content, call) if dice.random() < 0.5 else content
            continue
        likely = dice.choice((0.1, 0.5, 0.9))
        end = call.offset + len(call.data)
        at = call.offset
        # Zeros beyond the end change nothing but the size, so that long runs of them need no decision for each sector.
        if not call.data.strip(b"\0") and at >= content.size:
            content = content.resized(max(content.size, end)) if dice.random() < 0.5 else content
            continue
        kept = []
        while at < end:
            stop = min(end, (at // SECTOR + 1) * SECTOR)
            if dice.random() < likely:
                kept.append((at, stop))
            at = stop
        for begin, stop in kept:
            content = content.write(begin, call.data[begin - call.offset : stop - call.offset])
        if dice.random() < 0.5:
            content = content.resized(max(content.size, end))
    return content


@dataclass
class Inode:
    folder: bool
    now: Content = field(default_factory=Content)
    synced: Content = field(default_factory=Content)
    pending: list = field(default_factory=list)  # calls since the last sync
    position: int = 0  # of the next write without an offset; -1: the end


@dataclass
class Name:
    """A change of names that is not durable yet."""
    at: int
    removed: tuple  # (folder, name), or None
    added: tuple  # (folder, name), or None
    inode: int
    path: str

    def __str__(self):
        return f"{'+' if self.added else '-'}{self.path}"

    def apply(self, entries):
        if self.removed and entries.get(self.removed[0], {}).get(self.removed[1]) == self.inode:
            del entries[self.removed[0]][self.removed[1]]
        if self.added:
            entries.setdefault(self.added[0], {})[self.added[1]] = self.inode


class Disk:
    def __init__(self, ignored_syncs=None):
        self.inodes = [Inode(folder=True)]
        self.live = {0: {}}  # names as programs see them, by folder
        self.durable = {0: {}}  # names that survive for certain
        self.names = []
        self.unsynced = set()  # inodes with pending calls
        self.ordered_to = 0  # an ordered file system has written the names up to here
        self.ignored = re.compile(ignored_syncs) if ignored_syncs else None
        self.ignored_count = 0

    # Looking at the present.

    def find(self, path):
        inode = 0
        for part in path.split("/"):
            if part != ".":
                inode = self.live.get(inode, {}).get(part)
        return inode

    def place(self, path):
        folder, _, name = path.rpartition("/")
        return self.find(folder or "."), name

    # Applying calls.

    def load(self, path, folder, data=b""):
        """Adds a file or folder that was there before, durably."""
        inode = self.make(folder)
        place = self.place(path)
        self.live[place[0]][place[1]] = self.durable[place[0]][place[1]] = inode
        self.inodes[inode].now = self.inodes[inode].synced = Content().write(0, data)

    def make(self, folder):
        self.inodes.append(Inode(folder))
        if folder:
            self.live[len(self.inodes) - 1], self.durable[len(self.inodes) - 1] = {}, {}
        return len(self.inodes) - 1

    def apply(self, call):
        """Applies a call; returns whether it can have changed the disk."""
        if call.kind == "sync":
            return self.sync(call)
        if call.kind in ("rename", "link", "remove", "mkdir"):
            return getattr(self, call.kind)(call)
        inode = self.find(call.path)
        if call.kind == "open":
            created = inode is None
            if created:
                inode = self.make(folder=False)
                self.rename_to(call, None, self.place(call.path), inode, call.path)
            self.inodes[inode].position = -1 if call.append else 0
            if created:
                return True
            if not call.empty or self.inodes[inode].now.size == 0:
                return False
            call.kind, call.size = "truncate", 0
        if inode is None:
            return False  # removed meanwhile
        file = self.inodes[inode]
        if call.kind == "write" and call.offset < 0:
            call.offset = file.now.size if file.position < 0 else file.position
            file.position = -1 if file.position < 0 else call.offset + len(call.data)
        file.now = changed(file.now, call)
        if call.path.startswith(OUTSIDE + "/"):
            file.synced = file.now
        else:
            file.pending.append(call)
            self.unsynced.add(inode)
        return True

    def rename_to(self, call, removed, added, inode, path):
        name = Name(call.at, removed, added, inode, path)
        name.apply(self.live)
        if path.startswith(OUTSIDE + "/"):
            name.apply(self.durable)
        else:
            self.names.append(name)
        return True

    def mkdir(self, call):
        return self.rename_to(call, None, self.place(call.path), self.make(folder=True), call.path)

    def rename(self, call):
        inode = self.find(call.path)
        if inode is None:
            raise ValueError(f"line {call.at + 1} of the trace renames a file that the model does not have: {call.path}")
        return self.rename_to(call, self.place(call.path), self.place(call.target), inode, call.target)

    def link(self, call):
        return self.rename_to(call, None, self.place(call.target), self.find(call.path), call.target)

    def remove(self, call):
        inode = self.find(call.path)
        return inode is not None and self.rename_to(call, self.place(call.path), None, inode, call.path)

    def sync(self, call):
        if self.ignored and self.ignored.search(call.path):
            self.ignored_count += 1
            return False
        if call.everything:
            inodes = set(self.unsynced) | {name.added[0] for name in self.names if name.added} | {name.removed[0] for name in self.names if name.removed}
        else:
            inodes = {self.find(call.path)} - {None}
        before = len(self.names) + len(self.unsynced)
        for inode in inodes:
            self.sync_inode(inode, call.began)
        return before != len(self.names) + len(self.unsynced)

    def sync_inode(self, number, began):
        inode = self.inodes[number]
        if inode.folder:
            covered = [name for name in self.names if name.at < began and number in {(name.added or (None,))[0], (name.removed or (None,))[0]}]
            for name in covered:
                name.apply(self.durable)
                self.names.remove(name)
                for earlier in self.names:  # in another folder: it must not bring back the name that this one removed
                    if name.removed and earlier.added == name.removed and earlier.inode == name.inode and earlier.at < name.at:
                        earlier.added = None
                self.ordered_to = max(self.ordered_to, began)
            return
        later = []
        for call in inode.pending:
            if call.at < began:
                inode.synced = changed(inode.synced, call)
            else:
                later.append(call)
        inode.pending = later
        if not later:
            self.unsynced.discard(number)

    # Rebuilding states.

    def state(self, variant):
        """Returns the files and folders of a variant: path -> Content, or None for a folder."""
        entries = {folder: dict(names) for folder, names in self.durable.items()}
        for name in self.names:
            if variant.keeps(name):
                name.apply(entries)
        found, open_folders = {}, [(0, "")]
        while open_folders:
            folder, prefix = open_folders.pop()
            for name, inode in entries.get(folder, {}).items():
                path = prefix + name
                if self.inodes[inode].folder:
                    if path not in found:
                        found[path] = None
                        open_folders.append((inode, path + "/"))
                else:
                    found[path] = variant.content(inode, self.inodes[inode])
        return found


class Variant:
    """Decides which names and bytes that are not durable are on the disk."""

    def __init__(self, identity, keeps=lambda name: True, bytes_of=lambda inode: "all"):
        self.identity, self.keeps, self.bytes_of = identity, keeps, bytes_of

    def content(self, number, inode):
        if not inode.pending:
            return inode.now
        choice = self.bytes_of(number)
        if choice == "all":
            return inode.now
        if choice == "none":
            return inode.synced
        if choice == "sizes":
            return inode.synced.resized(max(inode.synced.size, inode.now.size))
        return torn(inode.synced, inode.pending, random.Random(f"{self.identity} {number}"))


def variants(disk, at):
    """Returns the variants of the moment after the call at line `at`. The first is a killed process: nothing is lost."""
    dice = random.Random(at)
    names, files = list(disk.names), sorted(disk.unsynced)
    none = lambda _: False  # noqa: E731
    found = [Variant(f"{at}:killed"), Variant(f"{at}:all"), Variant(f"{at}:none", none, lambda _: "none"), Variant(f"{at}:names", bytes_of=lambda _: "none"),
             Variant(f"{at}:sizes", bytes_of=lambda _: "sizes"), Variant(f"{at}:bytes", none)]
    for number in sorted(dice.sample(range(len(names)), min(4, len(names)))):
        found.append(Variant(f"{at}:without-name.{number}", lambda name, lost=names[number]: name is not lost))
        found.append(Variant(f"{at}:only-name.{number}", lambda name, kept=names[number]: name is kept))
        found.append(Variant(f"{at}:only-name-no-bytes.{number}", lambda name, kept=names[number]: name is kept, lambda _: "none"))
    for number in dice.sample(files, min(4, len(files))):
        found.append(Variant(f"{at}:without-bytes.{number}", bytes_of=lambda inode, lost=number: "none" if inode == lost else "all"))
        found.append(Variant(f"{at}:only-bytes.{number}", bytes_of=lambda inode, kept=number: "all" if inode == kept else "none"))
    for turn in range(2):
        found.append(Variant(f"{at}:torn.{turn}", bytes_of=lambda _: "torn"))
        upto = dice.choice([name.at for name in names] or [0])
        way = dice.choice(("none", "torn", "sizes"))
        found.append(Variant(f"{at}:ordered.{turn}", lambda name, upto=upto: name.at <= upto or name.at < disk.ordered_to, lambda _, way=way: way))
        found.append(mixed(f"{at}:mixed.{turn}", names, files))
    return found


def mixed(identity, names, files):
    dice = random.Random(identity)
    kept = {id(name) for name in names if dice.random() < 0.5}
    ways = {number: dice.choice(("all", "none", "sizes", "torn")) for number in files}
    return Variant(identity, lambda name: id(name) in kept, lambda inode: ways.get(inode, "all"))


def lost(disk, variant):
    """Describes what a variant leaves out, for people."""
    names = [str(name) for name in disk.names if not variant.keeps(name)]
    paths = {}
    for folder, entries in disk.live.items():
        for name, inode in entries.items():
            paths[inode] = name
    data = [f"{paths.get(number, '?')} ({variant.bytes_of(number)})" for number in sorted(disk.unsynced) if variant.bytes_of(number) != "all"]
    return f"names lost: {', '.join(names) or 'none'}; bytes lost: {', '.join(data) or 'none'}"
