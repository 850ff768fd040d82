#!/usr/bin/env python3
"""Tests completion in real shells: types keys into bash and zsh on a terminal, and uses fish's own completion command.

    tests/e2e/completion.py PROGRAM
"""
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = ""
LIMIT_S = 60


class Terminal:
    """A shell on a terminal. Ctrl-G writes the edited line to a file, so the tests don't depend on how it is drawn."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str], setup: str):
        self.line_file = folder / "typed-line"
        self.drawn = ""
        self.ready_file = folder / "ready"
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, env)
        self.pid = pid
        setup_file = folder / "setup"
        setup_file.write_text(setup + f"\n: > '{self.ready_file}'\n", encoding="utf-8")
        self.type(f"source '{setup_file}'\n")
        self.wait_for(self.ready_file)

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def wait_for(self, path: Path) -> None:
        """Types keys and keeps reading the terminal, because a full terminal buffer would block the shell."""
        end = time.monotonic() + LIMIT_S
        while not path.exists():
            if time.monotonic() > end:
                raise AssertionError(f"the shell did not answer; it has drawn {self.drawn!r}")
            if select.select([self.fd], [], [], 0.02)[0]:
                self.drawn += os.read(self.fd, 65536).decode(errors="replace")

    def completed(self, text: str) -> str:
        """Returns the edited line after typing `text` and a tab."""
        self.line_file.unlink(missing_ok=True)
        self.type("\x15" + text + "\t\x07")  # Ctrl-U clears the previous line
        self.wait_for(self.line_file)
        return self.line_file.read_text(encoding="utf-8")

    def close(self) -> None:
        os.close(self.fd)  # the shell gets SIGHUP
        os.waitpid(self.pid, 0)


class ShellCase(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pawl-completion-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "pawl").symlink_to(PROGRAM)
        self.env = {"PATH": f"{bin_folder}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        self.work = self.folder / "work"
        self.work.mkdir()
        (self.work / "notes-workflow.yaml").write_text("name: notes\n", encoding="utf-8")
        (self.work / "other.txt").write_text("", encoding="utf-8")
        (self.work / "my file.json").write_text("{}", encoding="utf-8")
        (self.work / "storehouse").mkdir()

    def save_runs(self, *names: str, store: str = ".pawl") -> None:
        for name in names:
            subprocess.run([PROGRAM, "--store", store, "save", name], cwd=self.work, input="{}", text=True, check=True, capture_output=True)


class TypedShell:
    """Tests for every interactive shell. `self.shell` is its terminal."""

    def test_completes_a_command(self) -> None:
        self.assertEqual(self.shell.completed("pawl resto"), "pawl restore ")

    def test_does_not_choose_between_several_commands(self) -> None:
        self.assertIn(self.shell.completed("pawl re"), ("pawl re", "pawl res"))

    def test_never_offers_hidden_commands(self) -> None:
        self.assertEqual(self.shell.completed("pawl __"), "pawl __")

    def test_completes_an_option(self) -> None:
        self.assertEqual(self.shell.completed("pawl save --ki"), "pawl save --kind ")

    def test_completes_the_word_of_an_option(self) -> None:
        self.assertEqual(self.shell.completed("pawl save r --durability asy"), "pawl save r --durability async ")

    def test_completes_the_word_behind_an_equals_sign(self) -> None:
        self.assertEqual(self.shell.completed("pawl save r --durability=asy"), "pawl save r --durability=async ")

    def test_completes_a_command_within_a_command(self) -> None:
        self.assertEqual(self.shell.completed("pawl dlq ret"), "pawl dlq retry ")

    def test_completes_a_file_where_one_is_wanted(self) -> None:
        self.assertEqual(self.shell.completed("pawl run notes"), "pawl run notes-workflow.yaml ")

    def test_completes_a_file_behind_an_option(self) -> None:
        self.assertEqual(self.shell.completed("pawl save r --state oth"), "pawl save r --state other.txt ")

    def test_completes_a_file_behind_an_equals_sign(self) -> None:
        self.assertEqual(self.shell.completed("pawl save r --state=oth"), "pawl save r --state=other.txt ")

    def test_quotes_a_file_with_a_space(self) -> None:
        self.assertEqual(self.shell.completed("pawl save r --state my"), "pawl save r --state my\\ file.json ")

    def test_completes_folders_only_for_a_store(self) -> None:
        self.assertEqual(self.shell.completed("pawl --store store").rstrip(), "pawl --store storehouse/")
        self.assertEqual(self.shell.completed("pawl --store oth"), "pawl --store oth")

    def test_completes_ids_of_runs(self) -> None:
        self.save_runs("alpha-k3f9", "beta")
        self.assertEqual(self.shell.completed("pawl show a"), "pawl show alpha-k3f9 ")

    def test_completes_ids_of_runs_of_the_named_store(self) -> None:
        self.save_runs("here")
        self.save_runs("hidden-elsewhere", store="storehouse/s")
        self.assertEqual(self.shell.completed("pawl --store storehouse/s show h"), "pawl --store storehouse/s show hidden-elsewhere ")

    def test_offers_nothing_and_draws_no_error_without_a_store(self) -> None:
        self.assertEqual(self.shell.completed("pawl show a"), "pawl show a")
        self.assertNotIn("PAWL-", self.shell.drawn)
        self.assertFalse((self.work / ".pawl").exists())

    def test_completes_a_program_behind_the_mark_of_a_step(self) -> None:
        self.assertEqual(self.shell.completed("pawl step fetch -- basena"), "pawl step fetch -- basename ")


class Bash(TypedShell, ShellCase):
    def setUp(self) -> None:
        super().setUp()
        setup = f"""set +o history; bind 'set bell-style none'; bind 'set show-all-if-ambiguous off'
            cd '{self.work}'; source <(pawl completion bash)
            write_line() {{ printf '%s' "$READLINE_LINE" > ../line.tmp; mv ../line.tmp ../typed-line; }}
            bind -x '"\\C-g": write_line'"""
        self.shell = Terminal(["bash", "--norc", "--noprofile", "-i"], self.folder, self.env, setup)
        self.addCleanup(self.shell.close)


class Zsh(TypedShell, ShellCase):
    def setUp(self) -> None:
        super().setUp()
        setup = f"""unsetopt beep; autoload -Uz compinit; compinit -u -D
            cd '{self.work}'; source <(pawl completion zsh)
            write_line() {{ print -rn -- "$BUFFER" > ../line.tmp; mv ../line.tmp ../typed-line }}
            zle -N write_line; bindkey -e; bindkey '^G' write_line; LISTMAX=1000"""
        self.shell = Terminal(["zsh", "-f", "-i"], self.folder, self.env, setup)
        self.addCleanup(self.shell.close)

    def test_the_installed_file_is_found_through_fpath(self) -> None:
        functions = self.folder / "functions"
        functions.mkdir()
        (functions / "_pawl").write_bytes(subprocess.run([PROGRAM, "completion", "zsh"], check=True, capture_output=True).stdout)
        self.shell.type(f"unfunction _pawl; fpath=('{functions}' $fpath); compinit -u -D; : > ../again\n")
        self.shell.wait_for(self.folder / "again")
        for _ in range(2):  # the first call loads the completion
            self.assertEqual(self.shell.completed("pawl resto"), "pawl restore ")


class Fish(ShellCase):
    def completions(self, text: str) -> dict[str, str]:
        done = subprocess.run(["fish", "--no-config", "-c", f'pawl completion fish | source; complete -C {text!r}'], cwd=self.work,
                              env=self.env, capture_output=True, text=True, check=True, timeout=LIMIT_S)
        self.assertEqual(done.stderr, "")
        return dict((line.split("\t", 1) + [""])[:2] for line in done.stdout.splitlines())

    def test_completes_commands_with_their_help(self) -> None:
        found = self.completions("pawl re")
        self.assertEqual(sorted(found), ["reject", "rekey", "replay", "restore", "resume"])
        self.assertIn("byte for byte", found["restore"])

    def test_never_offers_hidden_commands(self) -> None:
        self.assertEqual(self.completions("pawl __"), {})

    def test_completes_options_and_their_words(self) -> None:
        self.assertEqual(list(self.completions("pawl save --ki")), ["--kind"])
        self.assertEqual(list(self.completions("pawl save r --durability asy")), ["async"])
        self.assertEqual(list(self.completions("pawl save r --durability=asy")), ["--durability=async"])

    def test_completes_files_where_one_is_wanted(self) -> None:
        self.assertEqual(list(self.completions("pawl run notes")), ["notes-workflow.yaml"])
        self.assertEqual(list(self.completions("pawl save r --state oth")), ["other.txt"])
        self.assertEqual(list(self.completions("pawl save r --state=oth")), ["--state=other.txt"])

    def test_completes_folders_only_for_a_store(self) -> None:
        self.assertEqual(list(self.completions("pawl --store s")), ["storehouse/"])

    def test_completes_ids_of_runs(self) -> None:
        self.save_runs("alpha-k3f9", "beta")
        self.assertEqual(list(self.completions("pawl show a")), ["alpha-k3f9"])

    def test_offers_nothing_and_draws_no_error_without_a_store(self) -> None:
        self.assertEqual(self.completions("pawl show a"), {})

    def test_completes_a_program_behind_the_mark_of_a_step(self) -> None:
        self.assertIn("basename", self.completions("pawl step fetch -- basena"))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
