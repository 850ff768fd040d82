#!/usr/bin/env python3
"""Tests that each rule of tidy.py fails on a bad sample and passes on a good one."""
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import tidy
from cpp_text import code_only, functions
from tidy import File

# Split so that tidy.py does not report these samples.
SLASH = "/"
LONG_FUNCTION = "void f() {\n" + "  g();\n" * tidy.FUNCTION_LINES_MAX + "}\n"

# rule -> samples (path, text) that it must report, and samples that it must accept.
SAMPLES = {
    tidy.open_ends: (
        [("src/a.cpp", "// TO" "DO: later\n"), ("cmake/a.cmake", "# FIX" "ME\n"), ("tools/a", "X" "XX")],
        [("src/a.cpp", 'mkstemp("/tmp/XXXX' 'XX");\n'), ("docs/a.md", "TO" "DO"), ("src/b.cpp", "int todo;")]),
    tidy.skipped_tests: (
        [("src/a_test.cpp", "GTEST_" "SKIP();\n"), ("tests/a_test.cpp", "TEST(A, DISABLED" "_b) {}\n"),
         ("tests/a.py", "@unittest.sk" "ip('no')\n")],
        [("src/a_test.cpp", "TEST(A, Skips) {}\n")]),
    tidy.outside_references: (
        [("src/a.hpp", "// Steps (se" "ed 3).\n"), ("docs/a.md", "see design sec" "tion 5"), ("a.py", "# the see" "ds' names")],
        [("src/a.cpp", "Random random(seed); // CRC with seed 0")]),
    tidy.machine_paths: (
        [("docs/a.md", f"see {SLASH}home/me/x"), ("a.py", f"'{SLASH}work/x'"), ("b", f"={SLASH}root/x")],
        [("docs/a.md", "see src/work/x, /usr/lib and ~/work/x")]),
    tidy.registry_hosts: (
        [("package-lock.json", "https://registry.npm" "js.org/x"), ("a", "py" "pi.org"), ("b", "deb.deb" "ian.org")],
        [("README.md", "https://example.org and debian")]),
    tidy.ambient: (
        [("src/engine/a.cpp", "auto t = std::chrono::system_clock::now();"), ("src/engine/a.cpp", "x = time(nullptr);"),
         ("include/pawl/a.hpp", "std::random_device d;"), ("src/cli/a.cpp", 'std::getenv("X")'),
         ("src/base/a.cpp", "std::rand()"), ("fuzz/a.cpp", "std::chrono::steady_clock::now()")],
        [("src/adapters/posix/a.cpp", "system_clock::now()"), ("src/app/a.cpp", 'getenv("X")'),
         ("tests/a.cpp", "steady_clock::now()"), ("src/base/a_test.cpp", "steady_clock::now()"), ("src/engine/a.cpp", '// not getenv(\n"getenv("; write_time(0);')]),
    tidy.throws: (
        [("src/a.cpp", 'throw X("y");'), ("src/a.cpp", "throw;")],
        [("src/a.cpp", '// Nothing may throw here\nputs("throw");'), ("tests/a.cpp", "throw 1;")]),
    tidy.asserts: (
        [("src/a.cpp", "assert(x);"), ("src/a.cpp", "#include <cassert>\n")],
        [("src/a.cpp", "static_assert(x); PAWL_ASSERT(x); // assert(x)")]),
    tidy.using_std: ([("src/a.cpp", "using namespace std;")], [("src/a.cpp", "using namespace std_like;")]),
    tidy.file_size: (
        [("src/a.cpp", "\n" * (tidy.FILE_LINES_MAX + 1))],
        [("src/a.cpp", "\n" * tidy.FILE_LINES_MAX), ("docs/a.md", "\n" * 999)]),
    tidy.function_size: (
        [("src/a.cpp", LONG_FUNCTION), ("src/a.cpp", "namespace n {\nclass C {\n" + LONG_FUNCTION + "};\n}\n"),
         ("tests/a_test.cpp", LONG_FUNCTION.replace("void f()", "TEST(A, b)"))],
        [("src/a.cpp", LONG_FUNCTION.replace("  g();\n", "", 2)),
         ("src/a.cpp", "namespace n {\n" + "void f() {}\n" * 99 + "}\n"),
         ("src/a.hpp", "struct S {\n" + "  int a = f();\n" * 99 + "};\n")]),
    tidy.suppressions: (
        [("src/a.cpp", "x; // NOLINT\n"), ("src/a.cpp", "// NOLINTNEXTLINE(bugprone-x)\n"),
         ("src/a.cpp", "// NOLINT: the reason without a check\n")],
        [("src/a.cpp", "x; // NOLINT(bugprone-x): the callee checks it\n// NOLINTEND(bugprone-x)\n")]),
    tidy.pragma_once: (
        [("src/a.hpp", "// #pragma once is missing\n")],
        [("src/a.hpp", "// A.\n#pragma once\n"), ("src/a.cpp", ""), ("include/pawl/a.def", "")]),
    tidy.bool_parameters: (
        [("src/ports/a.hpp", "void f(bool sync);"), ("include/pawl/a.hpp", "f(int a,\n  const bool b = false);"),
         ("src/ports/a.hpp", "std::function<void(bool)> f;")],
        [("src/ports/a.hpp", "Result<bool> f(int a); bool g(); bool h = true; explicit operator bool() const;"),
         ("src/engine/a.hpp", "void f(bool sync);"), ("src/ports/a.hpp", "// f(bool x)\nstd::pair<int, bool> p;")]),
    tidy.whitespace: (
        [("src/a.cpp", "int a; \n"), ("src/a.cpp", "\tint a;\n"), ("src/a.cpp", "int a;\r\n"), ("src/a.cpp", "int a;")],
        [("src/a.cpp", "int a;\n"), ("Makefile", "\ta \n"), ("src/b.cpp", "")]),
    tidy.tests_in_test_files: (
        [("src/a.cpp", "TEST(A, b) {}\n")],
        [("src/a_test.cpp", "TEST(A, b) {}\n"), ("src/a.cpp", "// TEST(A, b)\n")]),
}


class FileRules(unittest.TestCase):
    def test_every_rule_has_samples(self):
        self.assertEqual(set(tidy.FILE_RULES), set(SAMPLES))

    def test_bad_samples_are_found_and_good_ones_are_not(self):
        for rule, (bad, good) in SAMPLES.items():
            for path, text in bad:
                with self.subTest(rule=rule.__name__, bad=text[:40]):
                    self.assertEqual(1, len(rule(File(path, text))), rule(File(path, text)))
            for path, text in good:
                with self.subTest(rule=rule.__name__, good=text[:40]):
                    self.assertEqual([], rule(File(path, text)))

    def test_a_finding_names_its_line(self):
        self.assertTrue(tidy.throws(File("src/a.cpp", '/* a\n b */ R"(\n)"\nthrow 1;\n'))[0].startswith("src/a.cpp:4: "))


class TreeRules(unittest.TestCase):
    def test_markdown_links(self):
        text = ("[a](b.md) [c](../README.md#part) [d](https://example.org) [e](#here) `[f](no.md)`\n"
                "```\n[g](no.md)\n```\n[h]: b.md\n")
        exists = {"docs/b.md", "README.md"}.__contains__
        self.assertEqual([], tidy.markdown_links([File("docs/a.md", text)], exists))
        for bad in ["[a](no.md)", "![a](no.png)", "[a](/b.md)", "[a](../../b.md)", "[a]: no.md"]:
            found = tidy.markdown_links([File("docs/a.md", "\n" + bad)], exists)
            self.assertEqual(1, len(found), bad)
            self.assertTrue(found[0].startswith("docs/a.md:2: "))

    def error_tree(self, changes: dict[str, str | None]) -> list[str]:
        page = "# PAWL-0007: It failed\n\n## What happened\n\na\n\n## Why\n\nb\n\n## What to do\n\nc\n"
        tree = {"include/pawl/error_codes.def": 'PAWL_CODE(7, failed, usage, "It failed")\n',
                "docs/errors/PAWL-0007.md": page, "docs/errors/README.md": "[PAWL-0007](PAWL-0007.md)"}
        return tidy.error_pages([File(p, t) for p, t in (tree | changes).items() if t is not None])

    def test_error_pages(self):
        self.assertEqual([], self.error_tree({}))
        page = "docs/errors/PAWL-0007.md"
        for name, changes, expected in [
            ("no page", {page: None}, "the page of this code is missing"),
            ("no code", {"docs/errors/PAWL-0008.md": "# x"}, "a page without a code"),
            ("no codes", {"include/pawl/error_codes.def": "", page: None}, "no codes were found"),
            ("no index", {"docs/errors/README.md": "PAWL-0007"}, "not in the index"),
            ("title", {page: "# PAWL-0007: Other\n\n## What happened\n\n## Why\n\n## What to do\n\n"}, "first line"),
            ("sections", {page: "# PAWL-0007: It failed\n\n## Why\n\n## What to do\n\n\n\n"}, "the sections"),
            ("long", {page: "# PAWL-0007: It failed\n## What happened\n## Why\n## What to do\n" + "\n" * 30}, "34 lines"),
        ]:
            with self.subTest(name):
                found = self.error_tree(changes)
                self.assertEqual(1, len(found), found)
                self.assertIn(expected, found[0])

    def test_functions_that_only_tests_call(self):
        header = File("src/a.hpp", "[[nodiscard]] Result<int> used(int x);\n[[nodiscard]] bool idle(int x);\nclass C {\n"
                                   "  [[nodiscard]] int size() const { return size_; }\n};\n")
        source = File("src/a.cpp", "Result<int> used(int x) { return x; }\nbool idle(int x) { return x; } // idle\nint g() { return *used(1); }\n")
        test = File("src/a_test.cpp", "TEST(A, b) { idle(1); C().size(); used(1); }\n")
        found = tidy.called_by_tests_only([header, source, test])
        self.assertEqual(["src/a.hpp:2: only tests call 'idle': use it or delete it",
                          "src/a.hpp:4: only tests call 'size': use it or delete it"], found)
        self.assertEqual([], tidy.called_by_tests_only([header, source, test, File("bench/b.cpp", "int n = idle(C().size());")]))

    def test_event_types_are_written_in_one_place(self):
        header = File(tidy.EVENT_TYPES, 'inline constexpr const char* kStepFailed = "step_failed";\n'
                                        'inline constexpr const char* kNote = "note";\n'
                                        'inline constexpr const char* kContextUsage = "context_usage";\n')
        for bad in ['tell("step_failed", x);', 'if (event.type == "note")', 'if (last_type_ != "note")', 'entry{.type = "note"}',
                    'whisper(\n  "note", x);', 'events.push_back({"note", x});', 'tell("context_usage", x);']:
            with self.subTest(bad):
                found = tidy.event_types([header, File("src/engine/a.cpp", "\n" + bad)])
                self.assertEqual(1, len(found), found)
                self.assertIn("event_types.hpp", found[0])
        good = ['first_in(data, {"note"})', 'key == "context_usage"', '"step_failed_since"', "tell(event_type::kNote);"]
        self.assertEqual([], tidy.event_types([header] + [File("src/a.cpp", text) for text in good]))
        self.assertEqual([], tidy.event_types([header, File("src/a_test.cpp", '"step_failed"'),
                                               File("src/domain/types.cpp", '"step_failed"')]))
        self.assertEqual(1, len(tidy.event_types([])))

    def test_sources_that_no_target_compiles(self):
        files = [File("src/a.cpp", ""), File("src/a_test.cpp", ""), File("tests/e2e/b_test.cpp", ""),
                 File("testing/c.cpp", "TEST_F(C, d) {}\n"), File("tests/golden/sample.cpp", "")]
        compiled = {"src/a.cpp", "src/a_test.cpp", "tests/e2e/b_test.cpp", "testing/c.cpp"}
        self.assertEqual([], tidy.tests_not_built(files, compiled))
        for left_out in sorted(compiled):
            self.assertEqual([f"{left_out}:1: no target compiles this file"],
                             tidy.tests_not_built(files, compiled - {left_out}))

    def test_whole_tree_with_compile_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "src").mkdir()
            (root / "build").mkdir()
            (root / ".gitignore").write_text("/build/\n")
            (root / "src/a_test.cpp").write_text("int a;\n")
            (root / "src/b_test.cpp").write_text("int b;\n")
            (root / "build/c_test.cpp").write_text("\t\n")
            commands = root / "build/compile_commands.json"
            commands.write_text(json.dumps([{"directory": str(root / "build"), "file": "../src/a_test.cpp"}]))
            subprocess.run(["git", "init", "-q", folder], check=True)
            found = tidy.check_tree(root, commands)
            self.assertIn("src/b_test.cpp:1: no target compiles this file", found)
            self.assertFalse([f for f in found if "a_test" in f or "c_test" in f], found)


class CppText(unittest.TestCase):
    def test_comments_and_literals_go_and_lines_stay(self):
        self.assertEqual('a ""  b \n\n 1\'000 \' \' c', code_only('a "x\\"y"  b /* d\n\n*/ 1\'000 \'"\' c'))
        self.assertEqual('"" e', code_only('R"x(")" // )x" e'))

    def test_functions_are_found_with_their_lines(self):
        text = ("#define M(a) { \\\n  a }\nnamespace n {\nclass C {\n public:\n  // d\n  int f() const { return 1; }\n};\n"
                "template <class T>\nT g(T a) {\n  if (a) {\n  }\n  return a;\n}\n}\n")
        self.assertEqual([1, 6], [length if "g(" in head else 1 for _, length, head in functions(text)])


if __name__ == "__main__":
    unittest.main()
