#!/usr/bin/env python3
"""Tests encrypted stores: `pawl init --encrypt`, keys, rotation, content of files. encryption.py PAWL [TEST...]"""
import glob
import json
import os
import shutil
import subprocess

from workflow_case import equal, holds, run_tests

SECRET = "the quick brown secret 4711"
KEY_1 = "11" * 32
KEY_2 = "22" * 32


def store(case):
    return case.env["PAWL_STORE"]


def with_home(case):
    """Gives the test its own keys."""
    case.env["XDG_CONFIG_HOME"] = os.path.join(case.folder, "config")
    for name in ("PAWL_KEY", "PAWL_KEY_FILE", "PAWL_PASSPHRASE"):
        case.env.pop(name, None)


def save(case, run, state, *args, **kwargs):
    return case.pawl("save", run, *args, stdin=json.dumps(state), **kwargs)


def files_with(folder, text):
    found = []
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                if text.encode() in file.read():
                    found.append(os.path.join(path, name))
    return found


def made(case, *args, **kwargs):
    with_home(case)
    return json.loads(case.pawl("init", "--encrypt", "--json", *args, status=0, **kwargs).stdout)


def a_new_encrypted_store_works_without_further_settings(case):
    document = made(case)
    equal(document["encrypted"], True)
    key_file = document["key"]["from"]
    equal(os.stat(key_file).st_mode & 0o777, 0o600)
    save(case, "r", {"a": SECRET}, status=0)
    equal(json.loads(case.pawl("restore", "r", status=0).stdout), {"a": SECRET})
    holds(case.pawl("fsck", status=0).stdout, "ok:")


def an_import_of_the_other_kind_names_a_store_that_can_be_made(case):
    made(case)
    save(case, "secret", {"a": SECRET}, status=0)
    key = os.path.join(case.folder, "export.key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(KEY_1)
    case.env["PAWL_EXPORT_KEY_FILE"] = key
    case.pawl("export", "secret", "-o", "s.pawl", status=0)
    case.pawl("save", "open", "--store", "plain", stdin="{}", status=0)
    case.pawl("export", "open", "-o", "open.pawl", "--store", "plain", status=0)
    refused = case.pawl("import", "s.pawl", "--store", "plain", status=4).stderr
    holds(refused, "PAWL-0216", "pawl init --encrypt --store OTHER")
    assert "--store plain" not in refused, refused
    case.pawl("init", "--encrypt", "--store", "OTHER", status=0)
    case.pawl("import", "s.pawl", "--store", "OTHER", status=0)
    holds(case.pawl("import", "open.pawl", status=4).stderr, "PAWL-0216", "import it into a store that is not encrypted")
    holds(" ".join(case.pawl("explain", "PAWL-0216", status=0).stdout.split()), "the run is not encrypted but the store is",
          "the run is encrypted but the store is not", "pawl init --encrypt --store OTHER")


def nothing_of_the_state_is_readable_in_any_file(case):
    made(case)
    save(case, "r", {"a": SECRET, "n": 1}, status=0)
    for n in range(2, 60):
        save(case, "r", {"a": SECRET, "n": n, "pad": [SECRET + str(i) for i in range(40)]}, "--metadata", json.dumps({"note": SECRET}), status=0)
    save(case, "big", {"a": [SECRET + os.urandom(16).hex() for i in range(90000)]}, status=0)  # a blob
    assert glob.glob(store(case) + "/runs/big/blobs/*"), "no blob was made"
    save(case, "calls", {"a": SECRET}, "--id", "call-1", status=0)
    case.pawl("list", status=0)
    case.pawl("fsck", "--repair", status=0)  # publishes and recycles
    equal(files_with(store(case), SECRET), [])
    equal(files_with(store(case), "brown secret"), [])
    equal(json.loads(case.pawl("restore", "r@30", status=0).stdout)["n"], 30)
    equal(len(json.loads(case.pawl("restore", "big", status=0).stdout)["a"]), 90000)


def outputs_and_events_of_workflows_are_encrypted(case):
    made(case)
    case.run(f"""
      steps:
      - {{id: a, run: 'echo "{SECRET}"', capture: {{format: text}}}}
      - {{id: m, map: {{items: ["{SECRET} x", "y"]}}, steps: [{{id: s, run: 'echo ${{item}}', capture: {{format: text}}}}]}}
    """, status=0)
    equal(case.output("a"), SECRET)
    equal(files_with(store(case), "brown secret"), [])
    equal(case.pawl("resume", "r").returncode in (0, 4), True)


def messages_are_encrypted_and_arrive(case):
    made(case)
    case.run("steps:\n- {id: w, wait_for: go}\n- {id: b, run: 'echo done', capture: {format: text}}\n", status=3)
    case.pawl("signal", "r", "go", "--json-payload", json.dumps({"x": SECRET}), status=0)
    equal(files_with(store(case), SECRET), [])
    case.pawl("resume", "r", status=0)


def without_the_key_nothing_opens_but_integrity_is_checked(case):
    document = made(case)
    save(case, "r", {"a": SECRET}, status=0)
    os.rename(document["key"]["from"], document["key"]["from"] + ".away")
    holds(case.pawl("restore", "r", status=2).stderr, "PAWL-0019")
    holds(save(case, "r", {"a": 2}, status=2).stderr, "PAWL-0019")
    holds(save(case, "new", {"a": 2}, status=2).stderr, "PAWL-0019")
    holds(case.pawl("list", status=0).stdout, "r")
    holds(case.pawl("fsck", status=0).stdout, "ok:")


def a_wrong_key_is_refused(case):
    made(case)
    save(case, "r", {"a": 1}, status=0)
    holds(case.pawl("restore", "r", status=4, env={"PAWL_KEY": KEY_1}).stderr, "PAWL-0215")
    holds(case.pawl("restore", "r", status=2, env={"PAWL_KEY": "abc"}).stderr, "PAWL-0020")


def a_key_file_that_others_can_read_is_refused(case):
    document = made(case)
    save(case, "r", {"a": 1}, status=0)
    os.chmod(document["key"]["from"], 0o644)
    done = case.pawl("restore", "r", status=2)
    holds(done.stderr, "PAWL-0020", "chmod 600")


def a_passphrase_opens_the_store(case):
    with_home(case)
    env = {"PAWL_PASSPHRASE": "correct horse battery"}
    case.pawl("init", "--encrypt", "--passphrase", env=env, status=0)
    save(case, "r", {"a": SECRET}, env=env, status=0)
    equal(json.loads(case.pawl("restore", "r", env=env, status=0).stdout), {"a": SECRET})
    holds(case.pawl("restore", "r", env={"PAWL_PASSPHRASE": "wrong"}, status=4).stderr, "PAWL-0215")
    holds(case.pawl("restore", "r", status=2).stderr, "PAWL-0019", "PAWL_PASSPHRASE")


def a_key_in_the_environment_or_in_a_file_opens_the_store(case):
    with_home(case)
    env = {"PAWL_KEY": KEY_1}
    case.pawl("init", "--encrypt", env=env, status=0)
    save(case, "r", {"a": 1}, env=env, status=0)
    key = case.write("the.key", KEY_1 + "\n")
    os.chmod(key, 0o600)
    case.pawl("restore", "r", env={"PAWL_KEY_FILE": key}, status=0)


def a_record_that_is_moved_is_refused(case):
    made(case)
    for run in ("a", "b"):
        save(case, run, {"v": run}, status=0)
        save(case, run, {"v": run + "2", "more": "x" * 300}, status=0)
    case.pawl("fsck", "--repair", status=0)
    runs = store(case) + "/runs/"
    first = runs + "a/checkpoints/checkpoint_00001.json"
    shutil.copy(runs + "b/checkpoints/checkpoint_00001.json", first + ".b")
    kept = open(first, "rb").read()
    os.replace(first + ".b", first)
    equal(case.pawl("restore", "a@1").returncode, 4)
    with open(first, "wb") as out:
        out.write(kept)
    case.pawl("restore", "a@1", status=0)
    # Moves the key of a run to another run.
    kept = open(runs + "a/key.json", "rb").read()
    shutil.copy(runs + "b/key.json", runs + "a/key.json")
    holds(case.pawl("restore", "a@1", status=4).stderr, "PAWL-0310")
    holds(case.pawl("fsck", status=4).stdout, "PAWL-0310")
    with open(runs + "a/key.json", "wb") as out:
        out.write(kept)
    # Moves a whole run to another store with the same outer key.
    other = {"PAWL_STORE": os.path.join(case.folder, "other")}
    case.pawl("init", "--encrypt", env=other, status=0)
    save(case, "x", {"v": 1}, env=other, status=0)
    shutil.copytree(runs + "a", other["PAWL_STORE"] + "/runs/a")
    holds(case.pawl("restore", "a@1", env=other, status=4).stderr, "PAWL-0310")


def a_plain_run_in_an_encrypted_store_is_refused(case):
    made(case)
    save(case, "r", {"v": 1}, status=0)
    plain = {"PAWL_STORE": os.path.join(case.folder, "plain")}
    save(case, "p", {"v": 1}, env=plain, status=0)
    case.pawl("fsck", "--repair", env=plain, status=0)
    shutil.copytree(plain["PAWL_STORE"] + "/runs/p", store(case) + "/runs/p")
    holds(case.pawl("restore", "p", status=4).stderr, "PAWL-0216")
    holds(case.pawl("fsck", status=4).stdout, "PAWL-0216")


def a_flipped_bit_of_the_ciphertext_is_found(case):
    made(case)
    save(case, "r", {"v": "x" * 200}, status=0)
    case.pawl("fsck", "--repair", status=0)
    path = store(case) + "/runs/r/checkpoints/checkpoint_00001.json"
    with open(path, "rb") as file:
        text = file.read()
    at = text.index(b'"state":') + 40
    with open(path, "wb") as file:
        file.write(text[:at] + bytes([text[at] ^ 1]) + text[at + 1:])
    equal(case.pawl("restore", "r").returncode, 4)
    equal(case.pawl("fsck").returncode, 4)


def a_new_key_replaces_the_old_one(case):
    document = made(case)
    save(case, "r", {"v": SECRET}, status=0)
    with open(document["key"]["from"]) as file:
        old = file.read().strip()
    before = {path: os.stat(path).st_mtime_ns for path in glob.glob(store(case) + "/runs/**/*", recursive=True)}
    case.pawl("rekey", status=0)
    after = {path: os.stat(path).st_mtime_ns for path in glob.glob(store(case) + "/runs/**/*", recursive=True)}
    equal(before, after)
    equal(json.loads(case.pawl("restore", "r", status=0).stdout), {"v": SECRET})
    holds(case.pawl("restore", "r", status=4, env={"PAWL_KEY": old}).stderr, "PAWL-0215")
    kept = glob.glob(document["key"]["from"] + ".old-*")
    equal([open(path).read().strip() for path in kept], [old])  # backups made before need it
    case.pawl("rekey", "--passphrase", env={"PAWL_NEW_PASSPHRASE": "a new one"}, status=0)
    case.pawl("restore", "r", env={"PAWL_PASSPHRASE": "a new one"}, status=0)
    holds(case.pawl("restore", "r", status=2).stderr, "PAWL_PASSPHRASE")


def a_rotation_that_is_killed_loses_nothing(case):
    """Kills a rotation with -9 at every system call (with strace) and at random moments (without)."""
    made(case)
    save(case, "r", {"v": SECRET}, status=0)
    calls = ["openat", "write", "pwrite64", "fsync", "fdatasync", "rename", "renameat", "renameat2", "unlink"]
    killed = 0
    for call in calls:
        for n in range(1, 30):
            command = ["strace", "-f", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={n}", case.program, "rekey"]
            done = subprocess.run(command, cwd=case.folder, env=case.env, capture_output=True, timeout=60)
            equal(json.loads(case.pawl("restore", "r", status=0).stdout), {"v": SECRET})
            if done.returncode == 0:
                break
            killed += 1
    assert killed > 20, killed
    case.pawl("rekey", status=0)
    case.pawl("restore", "r", status=0)


def the_key_is_masked_in_what_steps_print(case):
    with_home(case)
    case.env["PAWL_KEY"] = KEY_1
    case.pawl("init", "--encrypt", status=0)
    case.run("steps:\n- {id: a, run: 'env'}\n", status=0)
    logs = case.pawl("logs", "r", status=0).stdout
    holds(logs, "PAWL_KEY=***")
    assert KEY_1 not in logs, logs


def logs_are_encrypted_and_can_be_read(case):
    made(case)
    case.run(f"steps:\n- {{id: a, run: 'echo \"{SECRET}\"; echo more'}}\n", status=0)
    equal(case.pawl("logs", "r", status=0).stdout, f"{SECRET}\nmore\n")
    equal(files_with(store(case), "brown secret"), [])
    env = {"PAWL_RUN": "steps"}
    first = case.pawl("step", "big", "--", "sh", "-c", f"yes '{SECRET}' | head -c 3000000", env=env, status=0).stdout
    equal(case.pawl("step", "big", "--", "false", env=env, status=0).stdout, first)
    equal(files_with(store(case), "brown secret"), [])


def the_setting_makes_encrypted_stores(case):
    with_home(case)
    os.makedirs(os.path.join(case.folder, "config", "pawl"))
    case.write("config/pawl/config.yaml", "checkpoint: { encryption: true }\n")
    equal(json.loads(case.pawl("init", "--json", status=0).stdout)["encrypted"], True)
    other = {"PAWL_STORE": os.path.join(case.folder, "other")}
    save(case, "r", {"a": SECRET}, env=other, status=0)
    equal(files_with(other["PAWL_STORE"], SECRET), [])


def a_store_that_the_setting_makes_is_announced_with_its_key(case):
    with_home(case)
    done = save(case, "r", {"a": 1}, status=0, env={"PAWL_CHECKPOINT_ENCRYPTION": "true"})
    holds(done.stderr, "created encrypted store", "its key is in " + case.env["XDG_CONFIG_HOME"], "keep a copy of that file")
    equal(save(case, "r", {"a": 2}, status=0, env={"PAWL_CHECKPOINT_ENCRYPTION": "true"}).stderr, "")


def doctor_finds_a_missing_key_and_a_setting_without_effect(case):
    document = made(case)
    save(case, "r", {"a": 1}, status=0)
    holds(case.pawl("doctor").stdout, "key: opens this store")
    os.remove(document["key"]["from"])
    found = case.pawl("doctor", "--json", status=2)
    keys = [check for check in json.loads(found.stdout)["checks"] if check["check"] == "key"]
    equal([(check["verdict"], check["code"]) for check in keys], [("broken", "PAWL-0019")])
    case.env["PAWL_STORE"] = os.path.join(case.folder, "plain")
    case.pawl("init", status=0)
    holds(case.pawl("doctor", env={"PAWL_CHECKPOINT_ENCRYPTION": "true"}).stdout, "this store was created without encryption")


def a_key_file_that_is_named_is_found_again(case):
    with_home(case)
    case.pawl("init", "--encrypt", "--key-file", "my.key", status=0)
    save(case, "r", {"a": 1}, status=0)
    case.pawl("restore", "r", status=0)


def init_does_not_touch_a_store_that_is_there(case):
    made(case)
    with open(store(case) + "/store.json", "rb") as file:
        before = file.read()
    holds(case.pawl("init", status=4).stderr, "PAWL-0217")
    holds(case.pawl("init", "--encrypt", status=4).stderr, "PAWL-0217")
    with open(store(case) + "/store.json", "rb") as file:
        equal(file.read(), before)


def formats_and_compression_are_per_store_and_visible(case):
    with_home(case)
    state = {"text": "abc ", "n": 1.5, "list": [3 ** 37 + number ** 5 for number in range(1, 400)], "empty": {}, "unicode": "\u00e4\u20ac"}
    body = json.dumps(state, separators=(",", ":"), ensure_ascii=False)
    for name, args, how in [("mz", ["--format", "msgpack", "--compression", "zstd"], 'zstd'),
                            ("cn", ["--format", "cbor", "--compression", "none"], '"enc":"cbor"'),
                            ("jn", ["--format", "json", "--compression", "none"], '"size"')]:
        env = {"PAWL_STORE": os.path.join(case.folder, name)}
        case.pawl("init", *args, env=env, status=0)
        case.pawl("save", "r", stdin=body, env=env, status=0)
        equal(case.pawl("restore", "r", env=env, status=0).stdout, body)
        case.pawl("fsck", "--repair", env=env, status=0)
        with open(env["PAWL_STORE"] + "/runs/r/checkpoints/checkpoint_00001.json") as file:
            holds(file.read(), how)


run_tests(globals())
