#!/usr/bin/env python3
"""Installs Pawl into a new prefix with `cmake --install`, and builds a project that uses it.

    tests/package/install_test.py BUILD_FOLDER
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path()


def run(*command: str | Path, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=250, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="pawl-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.program = cls.prefix / "bin" / "pawl"

    def find(self, pattern: str) -> Path:
        found = list(self.prefix.glob(pattern))
        self.assertEqual(len(found), 1, f"{pattern}: {found}")
        return found[0]

    def test_everything_is_in_its_usual_place(self) -> None:
        for pattern in ("bin/pawl", "lib*/libpawl.a", "include/pawl/pawl.hpp", "lib*/cmake/pawl/pawlConfig.cmake",
                        "lib*/cmake/pawl/pawlConfigVersion.cmake", "share/man/man1/pawl.1.gz",
                        "share/bash-completion/completions/pawl", "share/zsh/site-functions/_pawl",
                        "share/fish/vendor_completions.d/pawl.fish", "share/doc/pawl/LICENSE", "share/doc/pawl/examples/README.md"):
            self.assertGreater(self.find(pattern).stat().st_size, 0, pattern)

    def test_nothing_installed_names_the_build_folder(self) -> None:
        for path in self.prefix.rglob("*"):
            if path.is_file() and path.suffix in {".cmake", ".hpp", ".gz", ".fish"}:
                self.assertNotIn(str(BUILD).encode(), path.read_bytes(), path)

    def test_the_completions_are_those_of_the_program(self) -> None:
        for shell, pattern in (("bash", "share/bash-completion/completions/pawl"), ("zsh", "share/zsh/site-functions/_pawl"),
                               ("fish", "share/fish/vendor_completions.d/pawl.fish")):
            self.assertEqual(self.find(pattern).read_text(encoding="utf-8"), run(self.program, "completion", shell))

    def test_the_manual_is_rendered_without_a_warning(self) -> None:
        page = gzip.decompress(self.find("share/man/man1/pawl.1.gz").read_bytes()).decode()
        self.assertEqual(page, run(self.program, "__man"))
        done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-P-c"], input=page, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        for word in ("NAME", "ENVIRONMENT", "EXIT STATUS", "--expect-parent SEQ", "pawl dlq retry"):
            self.assertIn(word, self.plain(done.stdout))
        if shutil.which("mandoc"):
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True, check=False)
            self.assertEqual(lint.stdout + lint.stderr, "")

    @staticmethod
    def plain(text: str) -> str:
        """Removes overstriking: `x BS x` is a bold x."""
        out: list[str] = []
        for c in text:
            if c == "\b":
                out.pop()
            else:
                out.append(c)
        return " ".join("".join(out).split())

    def test_the_version_names_the_commit_of_the_tree(self) -> None:
        version = json.loads(run(self.program, "--version", "--json"))
        self.assertIn("folder", version["features"]["stores"])
        if (ROOT / ".git").exists():
            head = run("git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "rev-parse", "HEAD").strip()
            self.assertTrue(head.startswith(version["commit"].removesuffix("+changes")), version)
        self.assertTrue(run(self.program, "--version").startswith(f"pawl {version['version']}\ncommit:"))

    def test_a_project_finds_the_library_saves_and_is_restored(self) -> None:
        shutil.copytree(ROOT / "examples" / "consumer", self.folder / "consumer")
        build = self.folder / "consumer" / "build"
        cache = dict(line.split("=", 1) for line in (BUILD / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
                     if "=" in line and line.startswith(("CMAKE_CXX_COMPILER:", "PAWL_SANITIZE:", "CMAKE_CXX_FLAGS:")))
        flags = [cache.get("CMAKE_CXX_FLAGS:STRING", "")]
        if cache.get("PAWL_SANITIZE:STRING"):
            flags.append("-fsanitize=" + cache["PAWL_SANITIZE:STRING"])
        compiler = next(value for name, value in cache.items() if name.startswith("CMAKE_CXX_COMPILER:"))
        run("cmake", "-S", build.parent, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_FLAGS={' '.join(flags)}")
        run("cmake", "--build", build)
        store = self.folder / "store"
        self.assertEqual(run(build / "consumer", store), "call 1\n")
        self.assertEqual(run(build / "consumer", store), "call 2\n")
        self.assertEqual(run(self.program, "restore", "calls", "--store", store), '{"calls": 2}')

    def test_a_project_that_wants_another_version_is_told(self) -> None:
        project = self.folder / "newer"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(pawl 99 REQUIRED)\n",
                                                encoding="utf-8")
        done = subprocess.run(["cmake", "-S", project, "-B", project / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
                              capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('requested version "99"', done.stderr)


if __name__ == "__main__":
    BUILD = Path(os.path.abspath(sys.argv.pop(1)))
    unittest.main()
