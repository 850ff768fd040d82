#!/usr/bin/env python3
"""Builds the Debian packages, checks them, installs them in a clean root and uses the program there.

    tests/package/deb_test.py BUILD_FOLDER

The clean root contains only a shell and the packages that pawl depends on, so an undeclared library is missing there.
The test needs root; otherwise its exit status is 77, which ctest reports as skipped.
"""
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path()
SKIPPED = 77
CHROOT = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin") or "chroot"
SHELL_PACKAGES = ("dash", "coreutils")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/", "LC_ALL": "C.UTF-8"}
WORKFLOW = """name: smoke
steps:
  - {id: one, run: "echo one >> ran.txt; echo 1"}
  - {id: two, run: "echo two >> ran.txt; test -e go || exit 7", needs: [one]}
"""


def run(*command: str | Path, status: int = 0, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **options)
    if done.returncode != status:
        raise AssertionError(f"{command} exited with {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done.stdout


def field(package: Path, name: str) -> str:
    return run("dpkg-deb", "-f", package, name).strip()


def depended(text: str) -> list[list[str]]:
    """Parses 'a (>= 1) | b, c' into [[a, b], [c]]."""
    return [[re.split(r"[\s(:]", choice.strip())[0] for choice in one.split("|")] for one in text.split(",") if one.strip()]


def closure(wanted: list[list[str]]) -> list[str]:
    """Returns the installed packages that satisfy `wanted`, and their dependencies."""
    names: list[str] = []
    todo = list(wanted)
    while todo:
        for choice in todo.pop():
            # A name can exist for several architectures; the first is that of this machine.
            answer = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}\t${Depends}, ${Pre-Depends}\n", choice], capture_output=True,
                                    text=True, check=False).stdout.splitlines()
            if not answer or not answer[0].startswith("installed\t"):
                continue
            if choice not in names:
                names.append(choice)
                todo += depended(answer[0].split("\t", 1)[1])
            break
        else:
            raise AssertionError("this machine has none of the needed packages")
    return names


def make_root(root: Path, packages: list[str]) -> None:
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in ("dev", "tmp", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/log", "work"):
        (root / name).mkdir(parents=True, exist_ok=True)
    entries = []
    for package in packages:
        entries.append(run("dpkg-query", "-s", package))
        for line in run("dpkg-query", "-L", package).splitlines():
            source = Path(line)
            if not line.startswith("/") or line.startswith(("/usr/share/doc", "/usr/share/man", "/usr/share/locale")) or \
                    not os.path.lexists(source) or (source.is_dir() and not source.is_symlink()):
                continue
            target = root / line.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(target):
                shutil.copy2(source, target, follow_symlinks=False)
    if packages and not os.path.lexists(root / "usr/bin/sh"):
        (root / "usr/bin/sh").symlink_to("dash")
    (root / "var/lib/dpkg/status").write_text("\n".join(entries), encoding="utf-8")
    for minor, name in ((3, "null"), (9, "urandom")):
        os.mknod(root / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(1, minor))


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="deb-test-", dir=BUILD))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder)
        cls.program = next(cls.folder.glob("pawl_*.deb"))
        cls.library = next(cls.folder.glob("libpawl-dev_*.deb"))
        cls.root = cls.folder / "root"
        make_root(cls.root, closure(depended(field(cls.program, "Depends")) + [[name] for name in SHELL_PACKAGES]))
        cls.install(cls.root)

    @classmethod
    def install(cls, root: Path, status: int = 0) -> str:
        done = subprocess.run(["dpkg", f"--root={root}", "--install", cls.program], capture_output=True, text=True, check=False)
        if done.returncode != status:
            raise AssertionError(f"dpkg exited with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def inside(self, script: str, status: int = 0) -> str:
        """Runs a shell script in the clean root, in /work."""
        return run(CHROOT, self.root, "/bin/sh", "-c", f"cd /work && {script}", status=status, env=ENVIRONMENT)

    def test_the_program_runs_in_a_clean_root(self) -> None:
        self.assertTrue(self.inside("pawl --version").startswith("pawl "))
        version = json.loads(self.inside("pawl version --json"))
        self.assertEqual(version["version"], field(self.program, "Version"))

    def test_a_state_is_saved_and_restored_in_a_clean_root(self) -> None:
        self.assertEqual(self.inside("""printf '{"done": 3}' | pawl save nightly"""), "nightly@1\n")
        self.assertEqual(self.inside("pawl restore nightly"), '{"done": 3}')
        self.inside("pawl fsck")

    def test_a_workflow_fails_and_is_resumed_in_a_clean_root(self) -> None:
        (self.root / "work/smoke.yaml").write_text(WORKFLOW, encoding="utf-8")
        self.inside("pawl run smoke.yaml --run-id s", status=1)
        self.inside(": > go && pawl resume s")
        self.assertEqual((self.root / "work/ran.txt").read_text(encoding="utf-8").split(), ["one", "two", "two"])

    def test_a_root_without_the_libraries_refuses_it(self) -> None:
        bare = self.folder / "bare"
        make_root(bare, [])
        said = self.install(bare, status=1)
        for library in ("libc6", "libstdc++6", "libsimdjson", "libfmt"):
            self.assertRegex(said, rf"pawl depends on {re.escape(library)}")

    def test_removing_it_leaves_nothing_of_it(self) -> None:
        other = self.folder / "removed"
        make_root(other, [])
        run("dpkg", f"--root={other}", "--force-depends", "--install", self.program)
        self.assertTrue((other / "usr/bin/pawl").exists())
        run("dpkg", f"--root={other}", "--purge", "pawl")
        left = [path for path in other.rglob("*") if "pawl" in path.name and "var" not in path.relative_to(other).parts]
        self.assertEqual(left, [])

    def test_it_holds_the_manual_the_completions_and_the_licence(self) -> None:
        for path in ("usr/bin/pawl", "usr/share/man/man1/pawl.1.gz", "usr/share/bash-completion/completions/pawl",
                     "usr/share/zsh/vendor-completions/_pawl", "usr/share/fish/vendor_completions.d/pawl.fish",
                     "usr/share/doc/pawl/copyright", "usr/share/doc/pawl/changelog.gz", "usr/share/doc/pawl/examples/README.md"):
            self.assertTrue((self.root / path).is_file(), path)
        self.assertIn("Apache-2.0", (self.root / "usr/share/doc/pawl/copyright").read_text(encoding="utf-8"))
        for line in run("dpkg-deb", "-c", self.program).splitlines():
            self.assertRegex(line, r"^[-d]rw[-x]r-[-x]r-[-x] root/root ")

    def test_its_control_file_says_what_it_is(self) -> None:
        self.assertEqual(field(self.program, "Package"), "pawl")
        self.assertIn("libsimdjson", field(self.program, "Depends"))
        self.assertEqual(len(field(self.program, "Description").splitlines()), 5)
        for package in ("libfmt-dev", "libssl-dev", "libsqlite3-dev", "libre2-dev"):
            self.assertIn(package, field(self.library, "Depends"))

    def test_lintian_finds_no_error_where_it_is_installed(self) -> None:
        if shutil.which("lintian") is None:
            print("lintian is not installed; skipping its checks", file=sys.stderr)
            return
        # The project has no mail address and uses one with an invalid host name.
        run("lintian", "--allow-root", "--fail-on", "error", "--suppress-tags", "bogus-mail-host,bogus-mail-host-in-debian-changelog",
            self.program, self.library)


if __name__ == "__main__":
    BUILD = Path(os.path.abspath(sys.argv.pop(1)))
    if os.geteuid() != 0 or subprocess.run([CHROOT, "/", "true"], check=False).returncode != 0:
        print("skipped: a clean root takes root's rights")
        sys.exit(SKIPPED)
    unittest.main()
