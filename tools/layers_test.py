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


if __name__ == "__main__":
    unittest.main()
