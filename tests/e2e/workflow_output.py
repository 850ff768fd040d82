"""Tests the output of steps: pipes, logs, and secrets that must not reach the store."""
import json
import os
import time

from workflow_case import equal, holds, run_tests, wait_for


def repeated(text, size):
    return (text * (size // len(text) + 1))[:size]


MIXED = repeated("aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0z", 120)
PART = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
# Kind, text before, secret, text after. Concatenated, so that secret scanners don't report this file.
SECRETS = [
    ("aws-access-key-id", "", "AKIA" + "IOSFODNN7EXAMPLE", ""),
    ("aws-secret-key", "aws_secret_access_key=", repeated("wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY", 40), ""),
    ("github-token", "", "ghp_" + MIXED[:36], ""),
    ("github-token", "", "github_pat_" + MIXED[:22] + "_" + MIXED[:59], ""),
    ("gitlab-token", "", "glpat-" + MIXED[:20], ""),
    ("slack-token", "", "xoxb-123456789012-" + MIXED[:24], ""),
    ("openai-key", "", "sk-" + MIXED[:48], ""),
    ("anthropic-key", "", "sk-ant-api03-" + MIXED[:90], ""),
    ("google-api-key", "", "AIza" + MIXED[:35], ""),
    ("stripe-key", "", "sk_live_" + MIXED[:24], ""),
    ("npm-token", "", "npm_" + MIXED[:36], ""),
    ("pypi-token", "", "pypi-" + MIXED[:100], ""),
    ("huggingface-token", "", "hf_" + MIXED[:34], ""),
    ("jwt", "", f"{PART}.{PART}.{MIXED[:43]}", ""),
    ("authorization", "Authorization: Bearer ", MIXED[40:64], ""),
    ("private-key", "", "-----BEGIN RSA PRIVATE KEY-----\n" + repeated("MIIEpAIBAAKCAQEA", 64) + "\n-----END RSA PRIVATE KEY-----", ""),
    ("url-password", "postgres://admin:", "hunter2-" + MIXED[70:80], "@db.example/x"),
    ("credential", "DB_PASSWORD=", "correct-horse-" + MIXED[80:90], ""),
]
PLAIN = "".join(f"{before}{secret}{after}\n" for _, before, secret, after in SECRETS)
MASKED = "".join(f"{before}[masked:{kind}]{after}\n" for kind, before, _, after in SECRETS)


def files_of(the_case):
    for folder, _, names in os.walk(the_case.env["PAWL_STORE"]):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                yield path, file.read()


def no_file_holds(case, secrets):
    for path, content in files_of(case):
        for secret in secrets:
            # In JSON a newline is written as \n.
            for form in (secret, secret.replace("\n", "\\n")):
                assert form.encode() not in content, f"{secret} is in {path}"


def log_named(case, name):
    for path, content in files_of(case):
        if os.path.basename(path) == name:
            return content
    return None


def tokens_of_every_kind_are_masked_in_logs_however_they_are_written(case):
    case.write("plain", PLAIN)
    case.write("bytes.py", "import os, sys\nfor c in open('plain', 'rb').read(): os.write(1, bytes([c]))\n")
    done = case.run("""
      steps:
      - {id: whole, run: cat plain}
      - {id: bytes, run: python3 bytes.py}
      - {id: fails, run: 'cat plain >&2; false', continue_on_error: true}
    """)
    for name in ("whole.1.log", "bytes.1.log", "fails.1.log"):
        equal(log_named(case, name).decode(), MASKED)
    no_file_holds(case, [secret for _, _, secret, _ in SECRETS])
    for _, _, secret, _ in SECRETS:
        assert secret not in done.stdout + done.stderr, secret
    holds(case.pawl("logs", "r", "whole", status=0).stdout, "[masked:github-token]")
    shown = json.loads(case.pawl("show", "r", "--json", status=0).stdout)
    for kind in {kind for kind, _, _, _ in SECRETS}:
        assert shown["masked"][kind] >= 3 * sum(1 for entry in SECRETS if entry[0] == kind), shown["masked"]
    holds(case.pawl("show", "r", status=0).stdout, "Masked:", "github-token")


def reports_are_masked_but_outputs_stay_exact(case):
    token = "ghp_" + MIXED[:36]
    case.run(f"""
      steps:
      - id: a
        run: |
          echo '{{"decision": {{"what": "used {token}"}}}}' >> $PAWL_RESULT
          echo '{{"message": "sent {token}"}}' >> $PAWL_RESULT
          echo '{{"blocker": "no {token}"}}' >> $PAWL_RESULT
          echo '{{"output": {{"token": "{token}"}}}}' >> $PAWL_RESULT
      - {{id: b, run: 'echo {token}', capture: {{format: text}}}}
      - {{id: c, run: 'test ${{steps.a.output.token}} = {token} && test ${{steps.b.output}} = {token}'}}
    """)
    equal(case.output("a"), {"token": token})
    equal(case.output("b"), token)
    equal(log_named(case, "b.1.out"), b"[masked:github-token]\n")
    for kind in ("decision", "message", "blocker"):
        events = case.events(kind)
        text = json.dumps(events)
        assert token not in text, text
        if events:
            holds(text, "[masked:github-token]")


def a_failures_log_is_masked_in_its_event(case):
    token = "glpat-" + MIXED[:20]
    case.run(f"steps:\n- {{id: a, run: 'echo pushing with {token} >&2; false'}}\n", status=1)
    holds(json.dumps(case.events("attempt_failed")), "pushing with [masked:gitlab-token]")


def silent_steps_make_no_files(case):
    items = list(range(500))
    case.run(f"""
      parallel: 500
      steps:
      - id: m
        map: {{ items: {items}, parallel: 500 }}
        steps: [{{ id: s, run: 'true' }}]
      - {{id: quiet, run: 'exit 3', continue_on_error: true}}
    """, timeout=120)
    left = [path for path, _ in files_of(case) if "/logs/" in path and path.endswith((".log", ".out"))]
    equal(left, [])
    assert case.state()["completed_steps"] >= 500, case.state()["completed_steps"]
    said = case.pawl("logs", "r", "quiet", status=0)
    holds(said.stdout + said.stderr, "quiet has no output")


def large_output_comes_whole(case):
    began = time.monotonic()
    case.run("""
      steps:
      - {id: a, run: 'yes "an ordinary line of some output: x=1" | head -c 100000000'}
    """, timeout=120)
    took = time.monotonic() - began
    log = log_named(case, "a.1.log")
    equal(len(log), 100000000)
    line = b"an ordinary line of some output: x=1\n"
    equal(log[:len(line) * 1000], line * 1000)
    print(f"100 MB of output in {took:.1f} s")


def binary_output_comes_unchanged(case):
    with open(os.path.join(case.folder, "bytes"), "wb") as file:
        file.write(bytes((i * 131 + i // 256) % 256 for i in range(300000)))
    case.run("steps:\n- {id: a, run: 'cat bytes; cat bytes >&2'}\n")
    with open(os.path.join(case.folder, "bytes"), "rb") as file:
        equal(log_named(case, "a.1.log"), file.read() * 2)


def both_streams_keep_their_order(case):
    case.run("steps:\n- {id: a, run: 'for i in 1 2 3; do echo out $i; echo err $i >&2; done'}\n")
    equal(log_named(case, "a.1.log"), b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n")


def what_a_step_leaves_behind_does_not_hold_up_its_end_and_still_gets_into_the_log(case):
    case.run("""
      steps:
      - id: a
        run: |
          (while [ ! -e go ]; do sleep 0.01; done; echo late; touch done) &
          echo early
      - {id: b, run: 'touch go; while [ ! -e done ]; do sleep 0.01; done'}
    """)
    equal(log_named(case, "a.1.log"), b"early\nlate\n")


def logs_can_be_followed_while_a_step_prints(case):
    case.write("workflow.yaml", "steps:\n- {id: a, run: 'echo first; while [ ! -e go ]; do sleep 0.01; done; echo second'}\n")
    case.start("run", "--run-id", "r")
    wait_for(lambda: log_named(case, "a.1.log") == b"first\n", "the first line")
    follower = case.start("logs", "-f", "r", "a")
    equal(follower.stdout.readline(), "first\n")
    case.write("go", "")
    equal(follower.stdout.readline(), "second\n")
    equal(follower.wait(20), 0)


def a_declared_secret_in_pieces_is_masked(case):
    case.run("secrets: [TOKEN]\nsteps:\n- {id: a, run: 'printf hush; sleep 0.1; printf -- -hush-7'}\n", env={"TOKEN": "hush-hush-7"})
    equal(log_named(case, "a.1.log"), b"***")
    no_file_holds(case, ["hush-hush-7"])


run_tests(globals())
