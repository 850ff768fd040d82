#!/usr/bin/env python3
"""Checks that every test named in docs/compliance.md exists. `compliance.py [FILE]`

A test is named as `path#name`. The name is Suite.Name of a GoogleTest case, the string of a clause of the store contract,
or the function of a Python test."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = re.compile(r"`([\w./-]+\.(?:cpp|py))#([\w.]+)`")


def has_test(text: str, path: str, name: str) -> bool:
    if path.endswith(".py"):
        return re.search(rf"^\s*def {re.escape(name)}\(", text, re.MULTILINE) is not None
    if "." not in name:
        return f'"{name}"' in text
    suite, case = name.split(".", 1)
    return re.search(rf"^TEST(?:_F|_P)?\({re.escape(suite)}, {re.escape(case)}\)", text, re.MULTILINE) is not None


def claims(document: str) -> list[str]:
    """Returns the first cells of the tables of criteria and articles."""
    found, in_table = [], False
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells:
            in_table = False
        elif cells[0] in ("Criterion", "Article"):
            in_table = True
        elif in_table and not set(cells[0]) <= set("-: "):
            found.append(cells[0])
    return found


def tested_claims(document: str) -> set[str]:
    """Returns the items of lists below which a test is named, or `none`."""
    tested, item = set(), ""
    for line in document.splitlines():
        if line.startswith("- "):
            item = line.removeprefix("- ").strip()
        elif line.startswith("  - ") and (REFERENCE.search(line) or line.startswith("  - none")):
            tested.add(item)
    return tested


def faults(document: str, root: Path) -> list[str]:
    """Returns the errors in the document, one line each."""
    found = REFERENCE.findall(document)
    wrong = [] if found else ["the document names no tests"]
    for path, name in found:
        file = root / path
        if not file.is_file():
            wrong.append(f"{path} does not exist")
        elif not has_test(file.read_text(), path, name):
            wrong.append(f"{path} has no test {name}")
    tested = tested_claims(document)
    wrong += [f"no test named for {claim}" for claim in claims(document) if claim not in tested]
    return wrong


def main() -> int:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/compliance.md"
    wrong = faults(path.read_text(), ROOT)
    for line in wrong:
        print(f"{path.name}: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
