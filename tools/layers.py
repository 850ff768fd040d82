#!/usr/bin/env python3
"""Checks the include graph of src/ and include/ against the folder graph.

The pawl_folder(PATH DEPENDS ...) lines of CMakeLists.txt define the allowed edges. A folder may include files of
folders that it depends on, directly or indirectly. Prints one line per finding; the exit status is then 1.

Code below the command line must not depend on it: no string there names a command, and no code an exit status. The
folders below it are those that cli depends on, include/, and app except for app/main: app is also part of the
library.
"""
import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from cpp_text import code_only, strings

# Header prefix of each library, and the target that a folder must depend on to include it.
LIBRARIES = {
    "fmt/": "fmt::fmt",
    "openssl/": "OpenSSL::Crypto",
    "simdjson": "simdjson::simdjson",
    "nlohmann/": "nlohmann_json::nlohmann_json",
    "sqlite3": "SQLite::SQLite3",
    "CLI/": "CLI11::CLI11",
    "yaml-cpp/": "yaml-cpp",
    "zstd.h": "PkgConfig::zstd",
    "zlib.h": "ZLIB::ZLIB",
    "re2/": "PkgConfig::re2",
}
# Libraries that are slow to compile or must not leak, and the only files of src/ that include them.
CONFINED = {"CLI/": {"cli/options.cpp"}}
C_HEADERS_OF_THE_STANDARD = {"stddef.h", "stdint.h"}
FOLDER_LINE = re.compile(r"^\s*pawl_folder\(\s*([\w/]+)\s*(?:DEPENDS([^)]*))?\)", re.MULTILINE)
COMMAND_LINE = re.compile(r"\bCommand add_(\w+)\(")  # in src/cli/command.hpp
INCLUDE_LINE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


@dataclass
class Graph:
    """Maps each folder to its dependencies: folders of src/ and targets of libraries."""

    depends: dict[str, list[str]] = field(default_factory=dict)

    @staticmethod
    def parse(cmake: str) -> "Graph":
        lines = "\n".join(line.split("#", 1)[0] for line in cmake.splitlines())
        declared = {path: (targets or "").split() for path, targets in FOLDER_LINE.findall(lines)}
        by_target = {"pawl_" + path.replace("/", "_"): path for path in declared}
        return Graph({path: [by_target.get(t, t) for t in targets] for path, targets in declared.items()})

    def reach(self, folder: str) -> set[str]:
        seen: set[str] = set()
        todo = [folder]
        while todo:
            for used in self.depends.get(todo.pop(), []):
                if used not in seen:
                    seen.add(used)
                    todo.append(used)
        return seen

    def folder_of(self, path: str) -> str | None:
        """Returns the innermost declared folder that contains `path` (relative to src/)."""
        holders = [f for f in self.depends if path.startswith(f + "/")]
        return max(holders, key=len) if holders else None


def find_cycle(edges: dict[str, list[str]]) -> list[str] | None:
    done: set[str] = set()
    for start in sorted(edges):
        path: list[str] = []
        stack = [(start, iter(edges.get(start, [])))] if start not in done else []
        if stack:
            path.append(start)
        while stack:
            node, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                done.add(node)
                stack.pop()
                path.pop()
            elif following in path:
                return path[path.index(following):] + [following]
            elif following not in done:
                stack.append((following, iter(edges.get(following, []))))
                path.append(following)
    return None


def check_graph(graph: Graph) -> list[str]:
    findings = []
    for folder in graph.depends:
        reach = graph.reach(folder)
        for used in graph.depends[folder]:
            if used.startswith("pawl_"):
                findings.append(f"CMakeLists.txt: {folder} depends on {used}, which no pawl_folder line declares")
        adapters = sorted(f for f in reach if f.startswith("adapters/") and f != folder)
        if folder.startswith("adapters/") and adapters:
            findings.append(f"CMakeLists.txt: {folder} depends on another adapter, {', '.join(adapters)}")
        if folder.startswith("adapters/") and "engine" in reach:
            findings.append(f"CMakeLists.txt: {folder} depends on the engine")
        if not folder.startswith("adapters/") and folder != "app" and adapters:
            findings.append(f"CMakeLists.txt: {folder} depends on {', '.join(adapters)}; only app names adapters")
    cycle = find_cycle(graph.depends)
    if cycle:
        findings.append("CMakeLists.txt: the folders form a cycle: " + " -> ".join(cycle))
    return findings


def includes_of(text: str) -> list[tuple[int, str, bool]]:
    """Returns (line, header, whether it is in angle brackets) for each #include."""
    return [(text.count("\n", 0, m.start()) + 1, m.group(1) or m.group(2), m.group(1) is not None)
            for m in INCLUDE_LINE.finditer(text)]


def check_public_header(path: str, text: str) -> list[str]:
    findings = []
    for line, header, angled in includes_of(text):
        standard = re.fullmatch(r"[a-z0-9_]+", header) or header in C_HEADERS_OF_THE_STANDARD
        if not angled or not (standard or header.startswith("pawl/")):
            findings.append(f"{path}:{line}: a public header includes only the standard library and <pawl/...>, "
                            f"not {header}")
    return findings


def check_source(graph: Graph, inside_src: str, text: str, sources: set[str]) -> tuple[list[str], list[str]]:
    """Returns the findings in one file of src/, and the files of src/ that it includes."""
    place = "src/" + inside_src
    folder = graph.folder_of(inside_src)
    if folder is None:
        return [f"{place}:1: no pawl_folder line of CMakeLists.txt contains this file"], []
    allowed = graph.reach(folder) | {folder}
    is_test = inside_src.endswith("_test.cpp")  # a test may use another library as an oracle
    findings, used_files = [], []
    for line, header, angled in includes_of(text):
        if angled:
            library = next((t for prefix, t in LIBRARIES.items() if header.startswith(prefix)), None)
            if library and library not in allowed and not is_test:
                findings.append(f"{place}:{line}: {folder} does not depend on {library} and can't include <{header}>")
            homes = next((files for prefix, files in CONFINED.items() if header.startswith(prefix)), {inside_src})
            if inside_src not in homes:
                findings.append(f"{place}:{line}: only {', '.join(sorted(homes))} may include <{header}>")
            continue
        if header.startswith("testing/"):
            if not is_test:
                findings.append(f"{place}:{line}: only tests include {header}")
            continue
        if header not in sources:
            findings.append(f'{place}:{line}: "{header}" is not a path below src/')
            continue
        used_files.append(header)
        used = graph.folder_of(header)
        if used not in allowed:
            findings.append(f"{place}:{line}: {folder} may not include {header}: it does not depend on {used}")
    return findings, used_files


def is_below_cli(graph: Graph, inside_src: str) -> bool:
    folder = graph.folder_of(inside_src)
    return folder in graph.reach("cli") or (folder == "app" and not inside_src.startswith("app/main/"))


def check_edge(place: str, text: str, commands: list[str]) -> list[str]:
    """Returns the findings in a file below the command line."""
    findings = []
    command = re.compile(r"\bpawl (?:" + "|".join(commands) + r")\b")
    for line, content in strings(text):
        named = command.search(content) if commands else None
        if named:
            findings.append(f"{place}:{line}: names the command `{named.group(0)}`; give an Advice, cli renders it")
    for number, line in enumerate(code_only(text).split("\n"), 1):
        if re.search(r"\bexit_status\b", line):
            findings.append(f"{place}:{number}: exit statuses belong to cli; use category(code)")
    return findings


def check_below_cli(root: Path, graph: Graph) -> list[str]:
    if "cli" not in graph.depends:
        return []
    header = root / "src/cli/command.hpp"
    commands = sorted(name for name in COMMAND_LINE.findall(header.read_text() if header.exists() else ""))
    if not commands:
        return ["src/cli/command.hpp:1: declares no commands (Command add_NAME(...))"]
    findings = []
    for file in sorted((root / "include").rglob("*")):
        if file.suffix in {".hpp", ".h", ".def"}:
            findings += check_edge(file.relative_to(root).as_posix(), file.read_text(), commands)
    for file in sorted(p for p in (root / "src").rglob("*") if p.suffix in {".hpp", ".h", ".cpp"}):
        inside = file.relative_to(root / "src").as_posix()
        if is_below_cli(graph, inside) and not inside.endswith("_test.cpp"):
            findings += check_edge("src/" + inside, file.read_text(), commands)
    return findings


def check_tree(root: Path) -> list[str]:
    graph = Graph.parse((root / "CMakeLists.txt").read_text())
    findings = check_graph(graph)
    if not graph.depends:
        findings.append("CMakeLists.txt: no pawl_folder lines")
    for header in sorted((root / "include").rglob("*.h*")):
        findings += check_public_header(header.relative_to(root).as_posix(), header.read_text())
    files = sorted(p for p in (root / "src").rglob("*") if p.suffix in {".hpp", ".h", ".cpp"})
    sources = {p.relative_to(root / "src").as_posix() for p in files}
    edges = {}
    for file in files:
        inside = file.relative_to(root / "src").as_posix()
        found, edges[inside] = check_source(graph, inside, file.read_text(), sources)
        findings += found
    cycle = find_cycle(edges)
    if cycle:
        findings.append("src: files include each other in a cycle: " + " -> ".join(cycle))
    findings += check_below_cli(root, graph)
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    findings = check_tree(parser.parse_args().root)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
