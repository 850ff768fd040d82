#!/usr/bin/env python3
"""Tests that each rule of layers.py fails on a bad tree and passes on a good one."""
import tempfile
import unittest
from pathlib import Path

import layers

CMAKE = """
pawl_folder(base DEPENDS fmt::fmt)
pawl_folder(ports DEPENDS pawl_base)
pawl_folder(adapters/memory DEPENDS pawl_ports)
pawl_folder(adapters/posix DEPENDS pawl_ports)
pawl_folder(engine DEPENDS pawl_ports)
pawl_folder(app DEPENDS pawl_engine pawl_adapters_memory pawl_adapters_posix)  # composition root
"""
GOOD = {
    "CMakeLists.txt": CMAKE,
    "include/pawl/error.hpp": "#include <expected>\n#include <pawl/types.hpp>\n",
    "src/base/text.hpp": "#include <fmt/format.h>\n#include <pawl/error.hpp>\n",
    "src/ports/store.hpp": '#include "base/text.hpp"\n',
    "src/adapters/memory/store.cpp": '#include "ports/store.hpp"\n#include "base/text.hpp"\n',
    "src/adapters/memory/store_test.cpp": '#include "testing/clock.hpp"\n#include <sqlite3.h>\n',
    "src/adapters/posix/clock.hpp": "",
    "src/engine/save.hpp": '#include "ports/store.hpp"\n',
    "src/app/main/main.cpp": '#include "adapters/posix/clock.hpp"\n#include "engine/save.hpp"\n',
}


def check(changes: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (GOOD | changes).items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return layers.check_tree(Path(folder))


class Layers(unittest.TestCase):
    def finds(self, expected: str, changes: dict[str, str]) -> None:
        findings = check(changes)
        self.assertEqual(1, len(findings), findings)
        self.assertIn(expected, findings[0])

    def test_good_tree_has_no_findings(self):
        self.assertEqual([], check({}))

    def test_an_include_against_the_graph(self):
        self.finds("src/base/up.cpp:2: base may not include ports/store.hpp",
                   {"src/base/up.cpp": '\n#include "ports/store.hpp"\n'})

    def test_a_library_that_is_confined_to_one_file(self):
        cmake = {"CMakeLists.txt": CMAKE + "pawl_folder(cli DEPENDS CLI11::CLI11)\n",
                 "src/cli/command.hpp": "Command add_run(Root& root);\n"}
        self.assertEqual([], check(cmake | {"src/cli/options.cpp": "#include <CLI/CLI.hpp>\n"}))
        self.finds("src/cli/other.hpp:1: only cli/options.cpp may include <CLI/CLI.hpp>",
                   cmake | {"src/cli/other.hpp": "#include <CLI/CLI.hpp>\n"})

    def test_an_adapter_that_includes_another(self):
        self.finds("adapters/memory may not include adapters/posix/clock.hpp",
                   {"src/adapters/memory/x.cpp": '#include "adapters/posix/clock.hpp"\n'})

    def test_an_adapter_that_includes_the_engine(self):
        self.finds("adapters/posix may not include engine/save.hpp",
                   {"src/adapters/posix/x.cpp": '#include "engine/save.hpp"\n'})

    def test_an_adapter_that_declares_another(self):
        self.finds("depends on another adapter", {
            "CMakeLists.txt": CMAKE.replace("posix DEPENDS pawl_ports", "posix DEPENDS pawl_adapters_memory")})

    def test_only_app_names_adapters(self):
        self.finds("only app names adapters", {
            "CMakeLists.txt": CMAKE.replace("engine DEPENDS", "engine DEPENDS pawl_adapters_memory")})

    def test_a_library_that_is_not_declared(self):
        self.finds("engine does not depend on SQLite::SQLite3", {"src/engine/x.cpp": "#include <sqlite3.h>\n"})

    def test_a_public_header_with_a_library(self):
        self.finds("a public header includes only", {"include/pawl/x.hpp": "#include <fmt/format.h>\n"})

    def test_a_public_header_with_a_private_one(self):
        self.finds("a public header includes only", {"include/pawl/x.hpp": '#include "base/text.hpp"\n'})

    def test_production_code_with_test_code(self):
        self.finds("only tests include", {"src/engine/x.cpp": '#include "testing/clock.hpp"\n'})

    def test_a_folder_that_is_not_declared(self):
        self.finds("no pawl_folder line", {"src/stray/x.cpp": ""})

    def test_an_include_that_is_not_there(self):
        self.finds("is not a path below src/", {"src/engine/x.cpp": '#include "save.hpp"\n'})

    def test_a_cycle_of_files(self):
        self.finds("cycle: engine/a.hpp -> engine/b.hpp -> engine/a.hpp", {
            "src/engine/a.hpp": '#include "engine/b.hpp"\n', "src/engine/b.hpp": '#include "engine/a.hpp"\n'})

    def test_a_cycle_of_folders(self):
        self.finds("the folders form a cycle", {
            "CMakeLists.txt": CMAKE.replace("base DEPENDS", "base DEPENDS pawl_ports")})

    def test_no_graph_is_a_finding(self):
        self.assertIn("CMakeLists.txt: no pawl_folder lines", check({"CMakeLists.txt": ""}))


CLI = {
    "CMakeLists.txt": CMAKE.replace("pawl_folder(app DEPENDS pawl_engine",
                                    "pawl_folder(cli DEPENDS pawl_engine)\npawl_folder(app DEPENDS pawl_cli"),
    "src/cli/command.hpp": "[[nodiscard]] Command add_fsck(App& root);\nCommand add_resume(App& root);\n",
}


class BelowTheCommandLine(unittest.TestCase):
    def finds(self, expected: str, changes: dict[str, str]) -> None:
        findings = check(CLI | changes)
        self.assertEqual(1, len(findings), findings)
        self.assertIn(expected, findings[0])

    def test_comments_may_name_commands_and_other_words_may_follow_the_name(self):
        self.assertEqual([], check(CLI | {
            "src/engine/x.cpp": "// `pawl resume` calls it\n/* pawl fsck */\nauto a = \"a newer pawl that resumes\";\n"
                                "int status = 'x';  // exit_status\n"}))

    def test_a_string_that_names_a_command(self):
        self.finds("src/engine/x.cpp:2: names the command `pawl resume`",
                   {"src/engine/x.cpp": '\nauto a = "then run: pawl resume nightly";\n'})

    def test_a_command_in_two_adjacent_strings(self):
        self.finds("src/engine/x.cpp:1: names the command `pawl fsck`",
                   {"src/engine/x.cpp": 'auto a = "run pawl "\n         "fsck";\n'})

    def test_a_command_in_a_raw_string(self):
        self.finds("names the command `pawl fsck`", {"src/base/x.cpp": 'auto a = R"x(run "pawl fsck")x";\n'})

    def test_public_headers_and_app_are_below_it(self):
        self.finds("include/pawl/codes.def:1: names the command", {"include/pawl/codes.def": 'CODE("not a pawl resume")\n'})
        self.finds("src/app/x.cpp:1: names the command", {"src/app/x.cpp": 'auto a = "pawl fsck";\n'})

    def test_the_command_line_itself_and_main_may_name_commands(self):
        self.assertEqual([], check(CLI | {"src/cli/x.cpp": 'auto a = "pawl fsck"; int b = exit_status();\n',
                                          "src/app/main/x.cpp": 'auto a = "pawl fsck";\n'}))

    def test_an_exit_status(self):
        self.finds("src/engine/x.cpp:1: exit statuses belong to cli", {"src/engine/x.cpp": "if (exit_status(code) == 4) {}\n"})
        self.finds("include/pawl/x.hpp:1: exit statuses belong to cli", {"include/pawl/x.hpp": "int exit_status(Code code);\n"})

    def test_a_command_line_whose_commands_are_not_found(self):
        self.finds("declares no commands", {"src/cli/command.hpp": "\n"})


if __name__ == "__main__":
    unittest.main()
