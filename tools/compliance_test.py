#!/usr/bin/env python3
"""Tests for compliance.py."""
import unittest

from compliance import ROOT, faults

TABLE = "| Criterion | What Pawl does |\n|---|---|\n| CC6.1 | x |\n"
GOOD = TABLE + "\n- CC6.1\n  - `tests/e2e/erasure.py#test_erasing_again_is_answered`\n"


class Compliance(unittest.TestCase):
    def test_the_document_names_tests_that_exist(self):
        self.assertEqual(faults((ROOT / "docs/compliance.md").read_text(), ROOT), [])

    def test_what_is_right_is_let_pass(self):
        self.assertEqual(faults(GOOD, ROOT), [])
        self.assertEqual(faults("`testing/store_contract_erasing.cpp#S42_OtherRunsStayAsTheyAre`", ROOT), [])
        self.assertEqual(faults("`tests/crash/erase_test.cpp#EraseOrder.ZerosAreDurableBeforeANameGoes`", ROOT), [])

    def test_a_test_that_does_not_exist_is_found(self):
        self.assertEqual(faults(GOOD.replace("again", "once"), ROOT), ["tests/e2e/erasure.py has no test test_erasing_once_is_answered"])
        self.assertEqual(len(faults("`tests/crash/erase_test.cpp#EraseOrder.Missing`", ROOT)), 1)
        self.assertEqual(len(faults("`testing/store_contract_erasing.cpp#S42_Missing`", ROOT)), 1)
        self.assertEqual(faults(GOOD.replace("erasure.py", "missing.py"), ROOT), ["tests/e2e/missing.py does not exist"])

    def test_a_claim_without_a_test_is_found(self):
        more = GOOD.replace("| CC6.1 | x |\n", "| CC6.1 | x |\n| CC6.2 | y |\n")
        self.assertEqual(faults(more, ROOT), ["no test named for CC6.2"])
        self.assertEqual(faults(more + "- CC6.2\n  - trust us\n", ROOT), ["no test named for CC6.2"])
        self.assertEqual(faults(more + "- CC6.2\n  - none: up to the organisation\n", ROOT), [])
        self.assertEqual(faults("nothing", ROOT), ["the document names no tests"])


if __name__ == "__main__":
    unittest.main()
