#!/usr/bin/env python3
"""Collects the texts that people read from src/: messages, hints, notes and help.

Every string literal of at least two words counts; adjacent literals are joined as the compiler joins them. The list
is kept in tests/golden/messages.txt, so that all texts can be read in one go and every change of one is reviewed.
Without an option the list is printed. --check compares it with the golden file, --update writes that file.
"""
import argparse
import difflib
import re
import sys
from pathlib import Path

GOLDEN = "tests/golden/messages.txt"
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | R"(?P<delimiter>[^()\s\\]*)\((?P<raw>.*?)\)(?P=delimiter)"
      | "(?P<text>(?:\\.|[^"\\\n])*)"
      | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'
      | (?P<code>[^\s"'/R]+|[R/'])
    """,
    re.DOTALL | re.VERBOSE)
TWO_WORDS = re.compile(r"[A-Za-z]{2}[a-z',;:.)`}]*[ ][`'({\[-]*[A-Za-z{]")
NOT_FOR_PEOPLE = re.compile(r"^\s*(?:SELECT|INSERT|CREATE|PRAGMA|DELETE FROM|UPDATE|BEGIN|PAWL_ASSERT)\b")


def texts_of(source: str) -> list[str]:
    """Returns the joined string literals of a file, in order."""
    found: list[str] = []
    parts: list[str] = []
    source = re.sub(r"^[ \t]*#[^\n]*", "", source, flags=re.MULTILINE)  # #include "x"

    def end() -> None:
        if parts:
            found.append("".join(parts))
            parts.clear()

    for match in TOKEN.finditer(source):
        if match["comment"] is not None:
            continue
        if match["text"] is not None:
            parts.append(match["text"])
        elif match["raw"] is not None:
            parts.append(match["raw"].replace("\n", r"\n"))
        else:
            end()
    end()
    return found


def for_people(text: str) -> bool:
    return bool(TWO_WORDS.search(text)) and not NOT_FOR_PEOPLE.match(text)


def listing(root: Path) -> str:
    lines = []
    for path in sorted((root / "src").rglob("*.?pp")):
        if path.stem.endswith("_test"):
            continue
        texts = list(dict.fromkeys(text for text in texts_of(path.read_text()) if for_people(text)))
        if not texts:
            continue
        lines.append(f"== {path.relative_to(root).as_posix()}")
        for text in texts:
            lines += [line for line in text.replace(r"\"", '"').split(r"\n") if line.strip()]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="fail if the golden file differs")
    what.add_argument("--update", action="store_true", help="write the golden file")
    arguments = parser.parse_args()
    now = listing(arguments.root)
    golden = arguments.root / GOLDEN
    if arguments.update:
        golden.write_text(now)
    elif arguments.check:
        before = golden.read_text() if golden.exists() else ""
        if before != now:
            changes = difflib.unified_diff(before.splitlines(), now.splitlines(), GOLDEN, "src", lineterm="", n=0)
            print("\n".join(changes))
            print("texts for people have changed: read them, then run: python3 tools/messages.py --update")
            return 1
    else:
        print(now, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
