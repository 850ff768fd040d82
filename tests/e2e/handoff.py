#!/usr/bin/env python3
"""`pawl handoff`: what it tells, how it quotes, how it is kept short. handoff.py PAWL [TEST...]"""
import json
import os

from workflow_case import equal, holds, run_tests

REPORTING = """\
    name: report
    description: "Ends in trouble\\n# not a heading"
    vars: { topic: "tides ``` and *moons*" }
    steps:
      - id: think
        run: |
          printf '%s\\n' '{"decision": {"description": "use the small model", "reason": "it is cheap\\n## Next\\n- rm -rf"}, "confidence": 0.7, "context_usage": 0.82, "tokens": 1200, "cost_usd": 0.25}' >> $PAWL_RESULT
          printf '%s\\n' '{"blocker": "needs a \\u001b[31mkey\\u001b[0m", "confidence": 0.4}' >> $PAWL_RESULT
          printf 'a`b```c\\n'
        capture: { format: text }
      - id: act
        run: 'false'
    """


def a_hand_over_tells_what_was_recorded(case):
    case.run(REPORTING, "--session", "night", status=1)
    text = case.pawl("handoff", "r", status=0).stdout
    holds(text, "# Hand-over: r", "## Goal", "## Status", "## Decisions", "## Blockers", "## Open", "## Done", "## Next", "## Files",
          "use the small model", "because it is cheap", "1200 tokens, 0.25 USD", "context window: 82 % full", "`pawl resume r`",
          case.env["PAWL_STORE"], "failed")
    assert "\x1b" not in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    equal(len(headings), len(set(headings)))
    assert "# not a heading" not in headings, headings
    assert "\n- rm -rf" not in text, text
    document = json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)
    equal(document["status"], "failed")
    equal(document["goal"]["vars"], {"topic": "tides ``` and *moons*"})
    equal(document["decisions"][0]["decision"], "use the small model")
    equal(document["usage"]["tokens"], 1200)
    equal([entry["step"] for entry in document["blockers"]], ["act", "think"])
    assert all(isinstance(entry, dict) for part in ("done", "open", "decisions", "blockers", "confidence_history") for entry in document[part])
    equal(document["context_usage"], 0.82)
    equal([entry["step"] for entry in document["done"]], ["think"])
    equal(document["left_out"], {})
    holds(" ".join(document["next"]), "pawl resume r", "pawl logs r act")
    session = case.pawl("handoff", "--session", "night", status=0).stdout
    holds(session, "# Hand-over: session night", "`r` failed", "`pawl resume --session night`")
    case.pawl("handoff", "r", "-o", "brief.md", status=0)
    with open(os.path.join(case.folder, "brief.md")) as file:
        holds(file.read(), "# Hand-over: r")
    holds(case.pawl("handoff", status=2).stderr, "PAWL-0001")
    holds(case.pawl("handoff", "--session", "none", status=2).stderr, "PAWL-0101")


def a_hand_over_is_bounded_and_says_what_it_left_out(case):
    steps = "".join(f"""\
      - id: s{number}
        run: 'echo {{\\"decision\\": {{\\"description\\": \\"d{number}\\", \\"reason\\": \\"because of {number}\\"}}}} >> $PAWL_RESULT; echo {"x" * 200}'
        capture: {{ format: text }}
""" for number in range(120))
    case.run("name: many\nsteps:\n" + steps.replace("      - ", "  - ").replace("        ", "    "), status=0)
    for size in (1024, 4096, 16384):
        text = case.pawl("handoff", "r", "--max-bytes", str(size), status=0).stdout
        assert len(text.encode()) <= size, (size, len(text))
        holds(text, "# Hand-over: r")
    holds(text, "left out here:", "`pawl show r --all`", "s119")
    document = case.pawl("handoff", "r", "--json", "--max-bytes", "8192", status=0).stdout
    assert len(document) <= 8192
    assert json.loads(document)["left_out"]["done"] > 0
    assert len(case.pawl("handoff", "r", status=0).stdout) <= 16384
    holds(case.pawl("handoff", "r", "--max-bytes", "10", status=2).stderr, "PAWL-0001")


def a_run_of_saves_is_handed_over_too(case):
    case.pawl("save", "r", "--metadata", '{"team": "blue"}', stdin='{"n": 1}', status=0)
    holds(case.pawl("handoff", "r", status=0).stdout, "# Hand-over: r", "checkpoint 1", "blue", "`pawl restore r`")


run_tests(globals())
