#!/usr/bin/env python3
"""Tests checkpoints that build on each other: merged states of imports, variables, levels and dependents."""
import argparse
import json
import os
import sys
import unittest

import imports


class Chains(imports.Case):
    def chain(self, *links):
        """Writes an orchestration workflow; a link is (stage, agent, parent, workflow, stage and agent state)."""
        ids = []
        for number, (stage, agent, parent, *states) in enumerate(links, 1):
            ids.append({"workflow_id": "chain", "stage_id": stage, "agent_id": agent, "sequence": number})
            document = {"schema_version": "1.0.0", "id": ids[-1], "status": "active", "created_at": "2026-01-11T14:00:00",
                        "checkpoint_type": "agent_complete" if agent else "stage_complete" if stage else "workflow_start",
                        "parent_checkpoint_id": ids[parent - 1] if parent else None,
                        "resume_handler": "resume", "retry_count": 0, "max_retries": 3,
                        **dict(zip(("workflow_state", "stage_state", "agent_state"), states))}
            place = "/".join(part for part in ("chain", stage, agent) if part)
            self.write(f"source/checkpoints/{place}/seq-{number:05}.json", json.dumps(document))
        return self.path("source")

    def test_a_state_is_merged_from_its_chain_of_parents(self):
        source = self.chain(
            (None, None, 0, {"topic": "a", "global_context": {"x": 1}, "workflow_name": "w"}, {}, {}),
            ("design", None, 1, {"depth": 2}, {"owner": "ada"}, {}),
            ("design", "one", 2, {}, {"round": 1}, {"output_payload": "first"}),
            ("design", "two", 2, {"topic": "b"}, {"round": 2}, {"output_payload": "second"}),
            ("design", "two", 4, {}, {}, {"score": 5}))
        self.pawl("import", source)
        self.assertEqual(self.restored("chain@1"), {"workflow": {"topic": "a", "global_context": {"x": 1}, "workflow_name": "w"}, "stage": {}, "agent": {}})
        self.assertEqual(self.restored("chain@5"), {
            "workflow": {"topic": "b", "global_context": {"x": 1}, "workflow_name": "w", "depth": 2},
            "stage": {"owner": "ada", "round": 2}, "agent": {"output_payload": "second", "score": 5}})
        self.assertEqual(self.restored("chain@3")["stage"], {"owner": "ada", "round": 1})
        for level, state in self.restored("chain@5").items():
            self.assertEqual(json.loads(self.pawl("restore", "chain@5", "--level", level).stdout), state)
        # Levels and dependents follow from the parents, not from the numbers.
        shown = {number: self.json("show", f"chain@{number}") for number in range(1, 6)}
        self.assertEqual([shown[number]["level"] for number in shown], ["workflow", "stage", "agent", "agent", "agent"])
        self.assertEqual([shown[number]["dependents"]["checkpoints"] for number in shown], [[2, 3, 4, 5], [3, 4, 5], [], [5], []])
        self.assertIn("Dependents:  3 checkpoints (3-5)", self.pawl("show", "chain@2").stdout.decode())

    def test_variables_directly_in_the_workflow_state_are_kept(self):
        source = self.chain(
            (None, None, 0, {"topic": "a", "depth": 1, "pending_stage_ids": ["design"]}, {}, {}),
            ("design", "one", 1, {"depth": 2, "global_context": {"x": [1]}}, {}, {"output_payload": 1}))
        workflow = self.workflow(stages={"design": ["one", "two"]}, variables="vars:\n  topic: none\n  depth: 0\n  x: 0\n")
        self.pawl("import", source, "--workflow", workflow)
        self.assertEqual(self.restored("chain")["vars"], {"topic": "a", "depth": 2, "x": [1]})
        self.resume("chain", "two")

    def test_a_missing_parent_is_told(self):
        source = self.chain((None, None, 0, {"a": 1}, {}, {}), ("design", None, 1, {"b": 2}, {}, {}), ("design", None, 2, {"c": 3}, {}, {}))
        os.remove(os.path.join(source, "checkpoints/chain/seq-00001.json"))
        report = self.json("import", source)
        self.assertEqual([note["file"].rsplit("/", 1)[-1] for note in report["notes"]], ["seq-00002.json"])
        self.assertIn("chain/seq-00001 is missing", report["notes"][0]["text"])
        self.assertEqual(self.restored("chain")["workflow"], {"b": 2, "c": 3})

    def test_steps_that_depend_on_a_checkpoint_are_shown(self):
        workflow = self.write("w.yaml", "steps:\n- {id: a, needs: [], run: 'sleep 0.2'}\n- {id: b, needs: [a], run: 'true'}\n"
                                        "- {id: c, needs: [b], run: 'true'}\n- {id: other, needs: [], run: 'true'}\n")
        self.pawl("run", workflow, "--run-id", "r")
        shown = [self.json("show", f"r@{info['sequence']}") for info in self.json("show", "r", "--checkpoints")]
        expected = {"a": ["b", "c"], "b": ["c"], "c": [], "other": []}  # a shared checkpoint names only one step
        of_steps = [info for info in shown if info["step"]]
        self.assertEqual([info["dependents"]["steps"] for info in of_steps], [expected[info["step"]] for info in of_steps])
        first = next(info for info in shown if info["step"] == "a")
        self.assertEqual(first["level"], "agent")
        self.assertIn("steps b, c", self.pawl("show", f"r@{first['sequence']}").stdout.decode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    given, rest = parser.parse_known_args()
    imports.PROGRAM = os.path.abspath(given.program)
    unittest.main(argv=[sys.argv[0], *rest])
