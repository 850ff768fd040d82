#!/usr/bin/env python3
"""Writes docs/json.md from schemas/*.json, which `pawl schema --of` also prints.

Without an option the page is printed. --check compares it with docs/json.md, --update writes that file.
"""
import argparse
import json
import sys
from pathlib import Path

PAGE = "docs/json.md"
INTRO = """\
# JSON output

Every command prints JSON with `--json`, except `step`, which prints what its command prints and refuses the option,
and `schema`, `help` and `completion`. This page lists the fields. It is generated from `schemas/` by
`tools/json_docs.py`; `pawl schema --of COMMAND` prints the same as a JSON Schema, for example
`pawl schema --of 'audit list'`.

These names mean the same everywhere:

| Name | Meaning |
|---|---|
| `run`, `uuid` | run id; unique id of the run |
| `status` | status of the run, step or checkpoint |
| `sequence` | sequence number of a checkpoint; of a run, its newest checkpoint |
| `step` | path of a step, for example `pages[17].write` |
| `event`, `at` | type and time of an event |
| `workflow_name`, `workflow_file`, `workflow_hash` | workflow of a run |
| `progress` | `done` and `total` steps of the workflow's own list, or of the script |
| `usage` | `tokens`, `usd` and `api_calls` |
| `budget` | the limits in force: `usd` and `tokens`, or null |
| `error` | error message, or null |
| `ms` | duration in milliseconds |

`workflow` has a history: in `list` and in checkpoints it is the path of the workflow file, in `show RUN` the name of the
workflow, and in the event `run_started` an object. Use `workflow_name` and `workflow_file`.

Times are UTC in ISO 8601. Some older names are kept beside these and described as "same as". Fields may be added in
any version, so ignore fields you don't know. A failed command prints its error as the last line of standard error;
see [error](#error). Commands that print one document per line say so below.
"""


def type_text(schema: dict) -> str:
    if "anyOf" in schema or "oneOf" in schema:
        return "one of several"
    kind = schema.get("type", "any")
    text = " or ".join(kind) if isinstance(kind, list) else kind
    items = schema.get("items", {})
    return f"{text} of {type_text(items)}s" if kind == "array" and "type" in items else text


def rows(schema: dict, prefix: str = "") -> list[str]:
    out = []
    for name, value in schema.get("properties", {}).items():
        optional = "" if name in schema.get("required", []) else " (optional)"
        out.append(f"| `{prefix}{name}` | {type_text(value)}{optional} | {value.get('description', '')} |")
        out += rows(value, f"{prefix}{name}.")
        out += rows(value.get("items", {}), f"{prefix}{name}[].")
    return out


def table(schema: dict) -> list[str]:
    found = rows(schema)
    return ["| Field | Type | Meaning |", "|---|---|---|", *found, ""] if found else []


def section(name: str, schema: dict) -> list[str]:
    lines = [f"## {name}", "", schema["description"], ""]
    for form in schema.get("anyOf", schema.get("oneOf", [schema])):
        if form is not schema and form.get("description"):
            several = " (an array)" if form.get("type") == "array" else ""
            lines += [f"{form['description']}{several}:", ""]
        if form.get("type") == "array":
            lines += ["An array of:", ""] if form is schema else []
            form = form.get("items", {})
        lines += table(form)
    return lines


def page(root: Path) -> str:
    lines = [INTRO]
    for path in sorted((root / "schemas").glob("*.json")):
        lines += section(path.stem.replace("-", " "), json.loads(path.read_text()))
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="fail if docs/json.md differs")
    what.add_argument("--update", action="store_true", help="write docs/json.md")
    arguments = parser.parse_args()
    text = page(arguments.root)
    target = arguments.root / PAGE
    if arguments.update:
        target.write_text(text)
    elif arguments.check:
        if not target.exists() or target.read_text() != text:
            print(f"{PAGE} is not current; run: python3 tools/json_docs.py --update")
            return 1
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
