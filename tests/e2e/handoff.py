#!/usr/bin/env python3
"""Tests `pawl handoff`: content, quoting and size limit. handoff.py PAWL [TEST...]"""
import json
import os
import pwd

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
          "use the small model", "because it is cheap", "0.25 USD, 1,200 tokens", "context window: 82 % full", "`pawl resume r`",
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
    holds(case.pawl("handoff", "r", status=0).stdout, "# Hand-over: r", "checkpoint 1", "blue", "`pawl restore r`", "## State\n- `{\"n\":1}`")
    equal(json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)["state"], {"n": 1})
    case.pawl("audit", "add", "r", "--type", "note", "--data", '{"text": "ask the blue team"}', status=0)
    holds(case.pawl("handoff", "r", status=0).stdout, "## Notes\n- ask the blue team (")


def a_large_state_is_shown_in_part(case):
    case.pawl("save", "r", stdin=json.dumps({"text": "\u6f6e" * 5000, "last": "end"}), status=0)
    text = case.pawl("handoff", "r", status=0).stdout
    holds(text, '## State\n- `{"text":"\u6f6e', "\u2026`")
    assert len(text.encode()) < 3500, len(text.encode())
    document = json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)
    equal(document["state"], None)
    assert document["state_text"].startswith('{"text":"\u6f6e') and len(document["state_text"].encode()) <= 2048, document["state_text"]
    for form in ([], ["--json"]):
        assert len(case.pawl("handoff", "r", "--max-bytes", "1024", *form, status=0).stdout.encode()) <= 1024


def a_state_that_is_handed_over_was_read(case):
    case.pawl("save", "r", stdin='{"n": 1}', status=0)
    case.pawl("handoff", "r", status=0, env={"PAWL_AUDIT_READS": "true"})
    read = json.loads(case.pawl("audit", "list", "r", "--type", "checkpoint_read", "--json", status=0).stdout)
    equal(read[0]["data"], {"checkpoint": 1, "command": "handoff"})




def words_of_people_are_told_whatever_they_are_called(case):
    case.run(REPORTING, status=1)
    for data in ('{"text": "smtp"}', '{"blocker": "smtp is down", "step": "act"}', '{"message": "no quota"}', '{"reason": "holidays"}', '{"note": "ask first"}',
                 '{"ticket": 17}', '{}', '{"text": " ", "who": "me"}'):
        case.pawl("audit", "add", "r", "--type", "blocker", "--data", data, "--agent", "alice", status=0)
    text = case.pawl("handoff", "r", status=0).stdout
    holds(text, "- smtp (by alice)\n", "- act: smtp is down (by alice)\n", "- no quota (by alice)\n", "- holidays (by alice)\n", "- ask first (by alice)\n", '- {"ticket":17} (by alice)\n',
          "- {} (by alice)\n", '"who":"me"')
    blockers = json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)["blockers"]
    assert all(entry["blocker"] for entry in blockers), blockers
    equal(blockers[-2]["by"], "alice")
    equal("by" in blockers[-1], False)  # reported by the step itself


def notes_are_handed_over_newest_last(case):
    case.run(REPORTING, status=1)
    case.pawl("audit", "add", "r", "--type", "note", "--agent", "alice", "--data", '{"text": "first *note*"}', status=0)
    case.pawl("audit", "add", "r", "--type", "note", "--data", '{"note": "second"}', status=0)
    notes = json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)["notes"]
    equal([entry["note"] for entry in notes], ["first *note*", "second"])
    equal(notes[0]["by"], "alice")
    holds(notes[1]["by"], "@")  # contains the account
    text = case.pawl("handoff", "r", status=0).stdout
    holds(text, f"## Notes\n- first \\*note\\* (alice, {notes[0]['at']})\n- second (")
    for number in range(30):
        case.pawl("audit", "add", "r", "--type", "note", "--data", json.dumps({"text": f"n{number} " + "x" * 100}), status=0)
    document = json.loads(case.pawl("handoff", "r", "--json", "--max-bytes", "4096", status=0).stdout)
    assert document["left_out"]["notes"] > 0, document["left_out"]
    holds(document["notes"][-1]["note"], "n29 ")
    holds(case.pawl("handoff", "r", "--max-bytes", "4096", status=0).stdout, "## Notes\n- left out here: ", "- n29 xxx")
    holds(case.pawl("handoff", "--help", status=0).stdout, "pawl audit add notes-k3f9 --type note")


def answers_at_gates_are_decisions(case):
    gate = """\
        name: gated
        steps:
          - { id: ask, approve: "Send it?" }
          - { id: twice, needs: [ask], approve: "Really?" }
        """
    case.run(gate, status=3)
    case.pawl("approve", "r", "--by", "alice", "--comment", "read it *twice*", status=0)
    case.pawl("resume", "r", status=3)
    case.pawl("reject", "r", "--by", "bob", "--comment", "not today", status=0)
    case.pawl("resume", "r", status=1)
    text = case.pawl("handoff", "r", status=0).stdout
    holds(text, "## Decisions\n- twice: rejected by bob, asked: Really? — not today\n- ask: approved by alice, asked: Send it? — read it \\*twice\\*\n")
    decisions = json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)["decisions"]
    equal([(entry["step"], entry["decision"], entry["by"], entry["reason"], entry["prompt"]) for entry in decisions],
          [("twice", "rejected", "bob", "not today", "Really?"), ("ask", "approved", "alice", "read it *twice*", "Send it?")])


def what_a_failed_step_printed_last_stands_beside_its_error(case):
    case.run("""\
        name: loud
        steps:
          - id: act
            run: 'for n in 1 2 3 4 5; do echo line $n; done; echo; echo "no \\`space\\` left" >&2; exit 3'
        """, "--session", "night", status=1)
    text = case.pawl("handoff", "r", status=0).stdout
    holds(text, "- session: night\n", "- act failed: exit status 3\n  - printed: `line 4`\n  - printed: `line 5`\n  - printed: ``no `space` left``\n")
    assert "line 3" not in text, text
    document = json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)
    equal(document["blockers"][0]["log"], ["line 4", "line 5", "no `space` left"])
    equal(document["open"][0]["log"], document["blockers"][0]["log"])


def a_rollback_is_told(case):
    case.run(REPORTING, status=1)
    case.pawl("rollback", "r@1", "--accept-rerun", status=0, env={"USER": "carol"})
    holds(case.pawl("handoff", "r", status=0).stdout, "## Recoveries\n- rolled back to checkpoint 1 by carol (", "to run again: think")
    told = json.loads(case.pawl("handoff", "r", "--json", status=0).stdout)["recoveries"]
    equal([(entry["what"], entry["to"], entry["by"], entry["run_again"]) for entry in told], [("rolled_back", 1, "carol", ["think"])])


def without_a_user_in_the_environment_the_account_is_recorded(case):
    for name in ("USER", "LOGNAME"):
        case.env.pop(name, None)
    account = pwd.getpwuid(os.geteuid()).pw_name
    case.run("name: gated\nsteps:\n  - { id: ask, approve: 'Send it?' }\n", status=3)
    case.pawl("approve", "r", status=0)
    case.pawl("resume", "r", status=0)
    equal(case.events("approved")[0]["data"]["by"], account)
    case.pawl("rollback", "r@1", "--accept-rerun", status=0)
    equal(case.events("rolled_back")[0]["data"]["by"], account)
    case.pawl("fork", "r", "--run-id", "f", status=0)
    equal(case.events("forked", "f")[0]["data"]["by"], account)


run_tests(globals())
