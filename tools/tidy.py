#!/usr/bin/env python3
"""Checks conventions that a compiler can't: banned words and calls, sizes, links, error pages, unbuilt tests.

    tools/tidy.py [--compile-commands build/release/compile_commands.json]

Checks every file that git tracks or would track. Prints one line per finding; the exit status is then 1.
Rules for single files are functions from File to findings, listed in FILE_RULES. Rules for the whole tree follow them.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Callable, Iterable

from cpp_text import code_only, functions

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 90
ERROR_PAGE_LINES = range(8, 26)

# Files that may throw exceptions, with the reason. Everywhere else, errors are values.
THROW_ALLOWED: dict[str, str] = {}

# Folders that may access time, randomness and the environment directly.
AMBIENT_ALLOWED = ("src/adapters/posix/", "src/app/")

# Split so that this file does not contain the patterns that it searches for.
OPEN_ENDS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b")
SKIPPED_TESTS = re.compile(r"GTEST_" r"SKIP|DISABLED" r"_\w|\bunittest\.sk" r"ip|pytest\.mark\.sk" r"ip|\bDISABLED (?:TRUE|ON)\b")
OUTSIDE_REFERENCES = re.compile(r"\b[Ss]eed [1-9]\b|\b[Ss]eeds'|\bdesign sec" r"tion\b")
MACHINE_PATHS = re.compile(r"(?<![\w.~-])/(?:root|home|work)/")
REGISTRIES = [
    (("registry", "npm" "js", "org")), (("registry", "yarn" "pkg", "com")), (("py" "pi", "org")),
    (("files", "python" "hosted", "org")), (("crates", "i" "o")), (("deb", "deb" "ian", "org")),
    (("proxy", "go" "lang", "org")), (("repo1", "mav" "en", "org")), (("ghc" "r", "io")), (("docker", "i" "o")),
]
REGISTRY_HOSTS = re.compile("|".join(r"\b" + re.escape(".".join(parts)) + r"\b" for parts in REGISTRIES))
AMBIENT = re.compile(r"\bstd::rand\b|\bsrand\s*\(|\btime\s*\(\s*(?:nullptr|NULL|0)\s*\)|system_clock::now|"
                     r"steady_clock::now|\brandom_device\b|\bgetenv\s*\(")
BOOL_PARAMETER = re.compile(r"[(,]\s*(?:const\s+)?bool\s*(?:\w+\s*)?(?:=[^,)]*)?[,)]")
SUPPRESSION = re.compile(r"\bNOLINT(?:NEXTLINE|BEGIN)?(?!\w)(\([^)]*\))?(.*)")
TEST_MACRO = re.compile(r"^[ \t]*(?:(?:TYPED_)?TEST(?:_F|_P)?|RC_GTEST_\w+)[ \t]*\(", re.MULTILINE)
MARKDOWN_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^[ \t]*\[[^\]]+\]:[ \t]*(\S+)", re.MULTILINE)
CODE_LINE = re.compile(r'^PAWL_CODE\(\s*(\d+)\s*,\s*\w+\s*,\s*\w+\s*,\s*"([^"]*)"\s*\)', re.MULTILINE)

DECLARATION = re.compile(r"^(?:  )?(?:\[\[nodiscard\]\] )?(?:(?:static|constexpr|inline|virtual|explicit) )*"
                         r"[A-Za-z_][\w:<>,&* ]*?[ &*>]([a-z][a-z0-9_]*)\(", re.MULTILINE)
# Functions that only tests call, with the reason.
TEST_ONLY_ALLOWED = {
    "publish_lazily": "tests publish at chosen moments; a run publishes when it ends",
    "reaper_pid": "tests kill the reaper",
    "snapshots": "tests count what a bounded history keeps",
    "take_changes": "the executor of the machine is not written yet",
    "record_from_json": "the executor of the machine is not written yet",
    "results_of": "the executor of the machine is not written yet",
}

EVENT_TYPES = "src/domain/event_types.hpp"
EVENT_TYPE_LINE = re.compile(r'^inline constexpr const char\* k\w+ = "(\w+)";$', re.MULTILINE)
# Files that use some of the same words for something else, with the reason.
EVENT_TYPE_ALLOWED = {
    EVENT_TYPES: "defines them",
    "src/domain/types.cpp": "the words for the kind and the reason of a checkpoint",
}
# Event types that are also keys of a step's report: they are found only where a type is expected.
EVENT_TYPE_ALSO_KEY = {"context_usage"}


@dataclass
class File:
    path: str  # relative to the root, with '/'
    text: str

    def under(self, *folders: str) -> bool:
        return self.path.startswith(tuple(f.rstrip("/") + "/" for f in folders))

    @property
    def is_cpp(self) -> bool:
        return self.path.endswith((".cpp", ".hpp", ".h", ".def"))

    @property
    def is_header(self) -> bool:
        return self.path.endswith((".hpp", ".h"))

    @cached_property
    def code(self) -> str:
        return code_only(self.text)

    def at(self, position: int, message: str, text: str | None = None) -> str:
        return f"{self.path}:{(self.text if text is None else text).count(chr(10), 0, position) + 1}: {message}"

    def matches(self, pattern: re.Pattern, message: str, text: str | None = None) -> list[str]:
        """Returns one finding per match. {} in the message is replaced by the match."""
        text = self.text if text is None else text
        return [self.at(m.start(), message.format(m.group(0).strip()), text) for m in pattern.finditer(text)]


def open_ends(file: File) -> list[str]:
    if file.path.endswith(".md"):
        return []
    return file.matches(OPEN_ENDS, "'{}': do it now, or open an issue")


def skipped_tests(file: File) -> list[str]:
    return file.matches(SKIPPED_TESTS, "'{}': enable the test or remove it")


def outside_references(file: File) -> list[str]:
    return file.matches(OUTSIDE_REFERENCES, "'{}': refers to a document that is not in the repository")


def machine_paths(file: File) -> list[str]:
    return file.matches(MACHINE_PATHS, "'{}': machine-specific path")


def registry_hosts(file: File) -> list[str]:
    return file.matches(REGISTRY_HOSTS, "'{}': host name of a package registry")


def ambient(file: File) -> list[str]:
    if not file.is_cpp or not file.under("src", "include", "fuzz") or file.under(*AMBIENT_ALLOWED) or \
            file.path.endswith("_test.cpp"):
        return []
    return file.matches(AMBIENT, "'{}': access time, randomness and environment through a port", file.code)


def throws(file: File) -> list[str]:
    if not file.is_cpp or not file.under("src") or file.path in THROW_ALLOWED:
        return []
    return file.matches(re.compile(r"\bthrow\b"), "'{}': errors are values (or give a reason in THROW_ALLOWED)", file.code)


def asserts(file: File) -> list[str]:
    if not file.is_cpp:
        return []
    return file.matches(re.compile(r"(?<!\w)assert\s*\(|<cassert>|<assert\.h>"), "'{}': use PAWL_ASSERT, which stays on in release builds", file.code)


def using_std(file: File) -> list[str]:
    return file.matches(re.compile(r"\busing\s+namespace\s+std\b"), "'{}'", file.code) if file.is_cpp else []


def file_size(file: File) -> list[str]:
    lines = file.text.count("\n")
    if not file.under("src", "include", "testing", "tests") or not file.path.endswith((".cpp", ".hpp", ".h", ".py")):
        return []
    return [f"{file.path}:1: {lines} lines, more than {FILE_LINES_MAX}"] if lines > FILE_LINES_MAX else []


def function_size(file: File) -> list[str]:
    if not file.is_cpp or not file.under("src", "include", "testing", "tests"):
        return []
    return [f"{file.path}:{line}: a function of {length} lines, more than {FUNCTION_LINES_MAX}: {head[:60]}"
            for line, length, head in functions(file.text) if length > FUNCTION_LINES_MAX]


def suppressions(file: File) -> list[str]:
    if not file.is_cpp:
        return []
    found = []
    for match in SUPPRESSION.finditer(file.text):
        if not match.group(1) or len(re.findall(r"\w", match.group(2))) < 8:
            found.append(file.at(match.start(), "name the check and the reason: NOLINT(check): because ..."))
    return found


def pragma_once(file: File) -> list[str]:
    if not file.is_header or re.search(r"^#pragma once$", file.text, re.MULTILINE):
        return []
    return [f"{file.path}:1: missing #pragma once"]


def bool_parameters(file: File) -> list[str]:
    if not file.is_header or not file.under("src/ports", "include/pawl"):
        return []
    return file.matches(BOOL_PARAMETER, "'{}': a bool parameter is unreadable at the call site; use an enum", file.code)


def whitespace(file: File) -> list[str]:
    if not file.is_cpp:
        return []
    found = file.matches(re.compile(r"[ \t\r]+$", re.MULTILINE), "trailing white space")
    found += file.matches(re.compile(r"\t"), "a tab")
    if file.text and not file.text.endswith("\n"):
        found.append(file.at(len(file.text), "no newline at the end of the file"))
    return found


def tests_in_test_files(file: File) -> list[str]:
    if not file.path.endswith(".cpp") or not file.under("src") or file.path.endswith("_test.cpp"):
        return []
    return file.matches(TEST_MACRO, "'{}': only *_test.cpp files are built as tests", file.code)


FILE_RULES: list[Callable[[File], list[str]]] = [
    open_ends, skipped_tests, outside_references, machine_paths, registry_hosts, ambient, throws, asserts, using_std, file_size,
    function_size, suppressions, pragma_once, bool_parameters, whitespace, tests_in_test_files,
]


def markdown_links(files: list[File], exists: Callable[[str], bool]) -> list[str]:
    """`exists` takes a path relative to the root."""
    found = []
    for file in (f for f in files if f.path.endswith(".md")):
        # Links inside code are samples. Line numbers stay the same.
        prose = re.sub(r"^(```|~~~).*?^\1|`[^`\n]*`", lambda m: re.sub(r"[^\n]", "", m.group(0)), file.text,
                       flags=re.DOTALL | re.MULTILINE)
        for match in MARKDOWN_LINK.finditer(prose):
            target = (match.group(1) or match.group(2)).split("#", 1)[0]
            if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path = os.path.normpath(os.path.join(os.path.dirname(file.path), target))
            if target.startswith("/") or path.startswith("..") or not exists(path):
                found.append(file.at(match.start(), f"broken link: {target}", prose))
    return found


def error_pages(files: list[File]) -> list[str]:
    """Checks that every error code has a page and a line in the index, and every page a code."""
    by_path = {f.path: f for f in files}
    table = by_path.get("include/pawl/error_codes.def")
    codes = {f"PAWL-{int(number):04}": title for number, title in CODE_LINE.findall(table.text if table else "")}
    found = []
    if not codes:
        found.append("include/pawl/error_codes.def:1: no codes were found")
    index = by_path.get("docs/errors/README.md")
    for code, title in codes.items():
        path = f"docs/errors/{code}.md"
        if index is None or f"]({code}.md)" not in index.text:
            found.append(f"docs/errors/README.md:1: {code} is not in the index")
        if path not in by_path:
            found.append(f"{path}:1: the page of this code is missing (see error_codes.def)")
            continue
        lines = by_path[path].text.splitlines()
        if lines[:1] != [f"# {code}: {title}"]:
            found.append(f"{path}:1: the first line must be '# {code}: {title}', as in error_codes.def")
        if [line for line in lines if line.startswith("## ")] != ["## What happened", "## Why", "## What to do"]:
            found.append(f"{path}:1: the sections must be: What happened, Why, What to do")
        if len(lines) not in ERROR_PAGE_LINES:
            found.append(f"{path}:1: {len(lines)} lines; a page must have {ERROR_PAGE_LINES[0]} to {ERROR_PAGE_LINES[-1]}")
    for path in sorted(by_path):
        match = re.fullmatch(r"docs/errors/(PAWL-\w+)\.md", path)
        if match and match.group(1) not in codes:
            found.append(f"{path}:1: a page without a code in error_codes.def")
    return found


def called_by_tests_only(files: list[File]) -> list[str]:
    """Reports functions of headers in src/ whose name occurs nowhere but in their declaration and definition.

    Counts words, so a function that shares its name with something else is not found.
    """
    product = [f for f in files if f.is_cpp and f.under("src", "include", "bench", "fuzz") and not f.path.endswith("_test.cpp")]
    words = Counter(word for f in product for word in re.findall(r"\b[a-z_][a-z0-9_]*\b", f.code))
    found = []
    for file in product:
        if not file.is_header or not file.under("src") or file.path.endswith("_fixture.hpp"):
            continue
        for match in DECLARATION.finditer(file.code):
            defined_here = "{" in file.code[match.end():].split(";", 1)[0]
            if words[match.group(1)] <= (1 if defined_here else 2) and match.group(1) not in TEST_ONLY_ALLOWED:
                found.append(file.at(match.start(1), f"only tests call '{match.group(1)}': use it or delete it", file.code))
    return found


def event_types(files: list[File]) -> list[str]:
    """Reports event types that are written out as text instead of taken from event_types.hpp."""
    defined = next((EVENT_TYPE_LINE.findall(f.text) for f in files if f.path == EVENT_TYPES), [])
    if not defined:
        return [f"{EVENT_TYPES}:1: no event types were found"]
    anywhere = "|".join(word for word in defined if "_" in word and word not in EVENT_TYPE_ALSO_KEY)
    # A single word can mean something else, so these are found only where the code handles an event.
    as_type = "|".join(word for word in defined if "_" not in word or word in EVENT_TYPE_ALSO_KEY)
    place = r"type_?\s*[!=]=\s*|\.type\s*=\s*|\b(?:tell|whisper)\(\s*|events\.(?:push|emplace)_back\(\{?\s*"
    pattern = re.compile(rf'"(?:{anywhere or "(?!)"})"|(?:{place})"(?:{as_type or "(?!)"})"')
    return [finding for f in files
            if f.is_cpp and f.under("src") and not f.path.endswith("_test.cpp") and f.path not in EVENT_TYPE_ALLOWED
            for finding in f.matches(pattern, "'{}': use the constant of domain/event_types.hpp")]


def tests_not_built(files: list[File], compiled: set[str]) -> list[str]:
    """Reports sources that are not in `compiled`, the sources of the build relative to the root."""
    found = []
    for file in files:
        is_test = file.under("testing", "tests") and (file.path.endswith("_test.cpp") or TEST_MACRO.search(file.code))
        if file.path.endswith(".cpp") and (is_test or file.under("src")) and file.path not in compiled:
            found.append(f"{file.path}:1: no target compiles this file")
    return found


def read_compiled(root: Path, commands: Path) -> set[str]:
    compiled = set()
    for command in json.loads(commands.read_text()):
        path = os.path.normpath(os.path.join(command["directory"], command["file"]))
        compiled.add(os.path.relpath(os.path.realpath(path), os.path.realpath(root)))
        if "/generated/batches/" in path and os.path.exists(path):  # a batch includes the sources that it compiles
            compiled.update(re.findall(r'^#include "([^"]+)"', Path(path).read_text(), re.MULTILINE))
    return compiled


def list_paths(root: Path) -> Iterable[str]:
    """Lists files that git tracks or would track; without git, everything except build folders."""
    listing = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, check=False)
    if listing.returncode == 0:
        return sorted(set(filter(None, listing.stdout.decode().split("\0"))))
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*")
                  if not {".git", "build", ".pawl", "node_modules", "__pycache__"} & set(p.relative_to(root).parts))


def read_files(root: Path) -> list[File]:
    files = []
    for path in list_paths(root):
        if not (root / path).is_file():
            continue
        raw = (root / path).read_bytes()
        if b"\0" not in raw:
            files.append(File(path, raw.decode("utf-8", errors="replace")))
    return files


def check_tree(root: Path, commands: Path | None) -> list[str]:
    files = read_files(root)
    found = [finding for file in files for rule in FILE_RULES for finding in rule(file)]
    found += markdown_links(files, lambda path: (root / path).exists())
    found += error_pages(files)
    found += event_types(files)
    found += called_by_tests_only(files)
    if commands is not None:
        found += tests_not_built(files, read_compiled(root, commands))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--compile-commands", type=Path, help="also report sources that this build does not compile")
    arguments = parser.parse_args()
    findings = check_tree(arguments.root, arguments.compile_commands)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
