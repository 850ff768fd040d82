#!/usr/bin/env python3
"""Puts wrong decisions back into the machine of the engine, one at a time, and expects its tests to fail.

    tests/crash/engine_mutants.py [--build build/release] [--seeds 20000] [--only TEXT] [--check]

For each mutant, prints the number of simulated schedules after which it was found. Mutants that no schedule finds must
be found by a unit test. Each mutant is an exact replacement in one file of src/machine or
src/domain.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINE = ROOT / "src" / "machine"

MUTANTS = [
    ("a failed item starts from the beginning", "apply.cpp",
     "    node.record.map->failed.add(r.index);\n    return;",
     "    node.record.map->failed.add(r.index);\n"
     "    if (Scope* gone = find_scope(s, node, ScopeKind::item, r.index)) drop_scope(s, gone->id);\n    return;"),
    ("a resumed loop gets `max` more iterations", "loops.cpp",
     "  if (node.record.spent >= loop.max) return end_loop(t, node, loop, false);", "  if (node.record.spent >= loop.max) node.record.spent = 0;"),
    ("a loop begins again after a crash", "apply.cpp",
     "  node.record.iteration = r.iteration + 1;", "  node.record.iteration = 1;"),
    ("steps are added a second time", "state.cpp",
     "    if (std::ranges::find(*top.steps, step.id, &Step::id) != top.steps->end())", "    if (step.id.empty())"),
    ("an interrupted attempt that exits with 0 is completed", "attempts.cpp",
     "  label_report(t, *node, f.report);\n  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});\n  if (node->activity == Activity::stopping) return",
     "  label_report(t, *node, f.report);\n  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});\n  if (node->activity == Activity::stopping && f.exit_code != 0) return"),
    ("an older result of an item counts", "results.cpp",
     "    results[item->index] = {", "    if (!results.contains(item->index)) results[item->index] = {"),
    ("items that changed keep their results", "maps.cpp",
     "if (exists && hash_at(*node.map, index) == hash)", "if (exists && hash_at(*node.map, index) + hash > 0)"),
    ("a child is identified by its name", "children.cpp",
     'fmt::format("{}/{}#{}", s.definition->run_uuid, node.path, node.record.child_number)',
     'fmt::format("{}/{}", s.definition->run_uuid, node.path)'),
    ("a child whose values changed is used on", "children.cpp", " || (node.record.child_with != hash && node.record.child_with != older)) {", ") {"),
    ("a start that the machine refused fails the step", "attempts.cpp",
     "  if (f.party == fact::Party::machine) return pause_for_machine(t, *node, f.error);\n  set_activity(t.s, *node, Activity::idle);\n  fail_attempt",
     "  set_activity(t.s, *node, Activity::idle);\n  fail_attempt"),
    ("a killed reaper fails the step", "attempts.cpp",
     "  interrupt_attempt(t, *node, Stop::none, ended);\n  pause_for_machine(t, *node, error);",
     "  set_activity(t.s, *node, Activity::idle);\n  fail_attempt(t, *node, ended, \"lost\", true);"),
    ("a queued step starts after a failure", "attempts.cpp",
     "    if (scope.failed && !overrides_skipping(*node->step)) {\n      leave_queue(t, *node);\n    } else if", "    if"),
    ("a queue that is left does not end its scope", "attempts.cpp",
     "  --scope_at(t.s, node.scope).active;\n  t.tasks.push_back({Task::What::check_scope, NodeId::none, node.scope});\n}\n\nvoid pump",
     "}\n\nvoid pump"),
    ("fail_fast leaves what it stopped unfinished", "settling.cpp",
     "  if (why == Stop::fail_fast || why == Stop::deadline)\n    return settle", "  if (why == Stop::deadline)\n    return settle"),
    ("the run does not wait for its on_failure steps", "ending.cpp",
     " && (s.run_failure == ScopeId::none || s.run_failure_ended);", ";"),
    ("a later answer to a gate counts, too", "messages.cpp",
     "  if (!waits || node->activity != Activity::asking)\n    return refuse",
     "  if (node == nullptr || !std::holds_alternative<Approve>(node->step->work))\n    return refuse"),
    ("a decision on a gate that was stopped counts", "messages.cpp",
     "  if (!waits || node->activity != Activity::asking)\n    return refuse", "  if (!waits)\n    return refuse"),
    ("a decision that came before the gate asked again is lost", "messages.cpp",
     "    if (t.s.hold != Hold::none) return;\n    auto& early", "    if (t.s.hold != Hold::none || waits) return;\n    auto& early"),
    ("an output of the iteration before is not loaded", "loops.cpp",
     "  if (previous_ready(t, node)) run_iteration(t, node);\n}\n\nvoid previous_loaded", "  run_iteration(t, node);\n}\n\nvoid previous_loaded"),
    ("the inputs of a gate are not loaded", "scopes.cpp",
     "  if (!skip && error.empty() && !binding_ready(t, scope, node)) return;\n",
     "  if (!skip && error.empty() && scope.nodes.empty() && !binding_ready(t, scope, node)) return;\n"),
    ("records and events share their numbers", "snapshot.cpp",
     "  s.base = std::max(from.records, largest_event(from));", "  s.base = std::max(from.records, largest_event(from) * 0);"),
    ("a state forgets that the steps of on_failure run", "../domain/run_state.cpp",
     "  if (record.aside != Aside::none) out[\"aside\"]", "  if (record.aside == Aside::low_confidence) out[\"aside\"]"),
    ("a state forgets what an attempt reported", "../domain/run_state.cpp",
     "  if (record.counted != Usage{}) out", "  if (record.counted_start > 5) out"),
    ("a state forgets the completed stages", "snapshot.cpp", "  s.phases = from.phases;\n", ""),
    ("a changed step stays completed", "snapshot.cpp", "  open_changed(s);\n  for", "  if (s.nodes.empty()) open_changed(s);\n  for"),
    ("a rollback gives numbers of attempts back", "../domain/rolled_back.cpp",
     "    used = std::max(used, record.starts);", "    used = std::max(used, 0U);"),
    ("the run ends without sealing its inbox", "ending.cpp",
     "  if (!inbox_is(t, State::Inbox::sealed)) return;\n", ""),
    ("an execution leaves without reading its inbox", "ending.cpp",
     " || !inbox_is(t, State::Inbox::read)) return;", ") return;"),
    ("a message is removed before its effect is durable", "messages.cpp",
     "  when_durable(t, command::TakeMessage{m.id});\n}", "  t.out.push_back(command::TakeMessage{m.id});\n}"),
    ("a message that is delivered twice counts twice", "messages.cpp",
     "  if (t.s.taken.contains(m.id)) return when_durable(t, command::TakeMessage{m.id});\n", ""),
    ("costs count again with each report", "apply.cpp",
     "  const Usage fresh = node.record.counted.until(total);\n  node.record.counted.add(fresh);",
     "  const Usage fresh = total;\n  node.record.counted.add(fresh);"),
    ("the cost of a child counts again after a resume", "apply.cpp",
     "  const Usage fresh = node.record.child_usage.until(r.usage);", "  const Usage fresh = r.usage;"),
    ("a rollback gives costs back", "../domain/rolled_back.cpp", "  out.usage = newest.usage;\n", ""),
    ("the budget is not checked before an attempt", "scopes.cpp",
     " && !s.pause_requested && !over_budget(s);", " && !s.pause_requested;"),
    ("the budget is not checked again when a start is released", "saving.cpp",
     "      if (!may_launch(t, *node)) {", "      if (t.s.saving.given_up) {"),
    ("children do not pause with the budget", "ending.cpp", "    t.out.push_back(command::PauseChild{id});\n", ""),
    ("a step starts before the completion before it is durable", "attempts.cpp",
     "  if ((item_begins && is_durable) || all_durable(t.s)) {", "  if (item_begins || is_durable || t.s.records > 0) {"),
    ("a repeated save has a new id", "saving.cpp",
     "  saving.waits = false;\n  send_batch(t);", "  saving.waits = false;\n  SaveBatch other = *saving.in_flight;\n  other.id = ++saving.batches;\n"
     "  saving.in_flight = std::make_shared<const SaveBatch>(other);\n  send_batch(t);"),
    ("the total timeout runs on while nothing executes", "apply.cpp",
     "std::holds_alternative<RunResumed>(record.fact) || (ended != nullptr && ended->left) || s.last_at.us == 0;",
     "(ended == nullptr || !ended->left || ended->left) && s.last_at.us == 0;"),
    ("an automatic resume gives fresh attempts", "apply.cpp",
     "  return automatic && (!record.retryable ||", "  return automatic && !has_attempts(*node.step) && (!record.retryable ||"),
    ("a crash inside on_failure runs the step again", "scopes.cpp",
     "  if (node.record.aside != Aside::none) return begin_aside(t, node, node.record.aside);\n", ""),
    ("a stopped map gives up items that were begun", "maps.cpp",
     "      if (key.first == ScopeKind::item && key.second < map.total && waits(key.second)) return key.second;",
     "      if (key.first == ScopeKind::item && key.second < map.total && waits(key.second) && map.total == 0) return key.second;"),
    ("a map runs one item more at once", "maps.cpp",
     "    if (map.running.size() + map.loading.size() >= places) break;", "    if (map.running.size() + map.loading.size() > places) break;"),
    ("parallel is not respected", "attempts.cpp", "used_places(t.s) < places(t.s)", "used_places(t.s) <= places(t.s)"),
    ("a limit is not released when an attempt is lost", "attempts.cpp",
     "  if (node == nullptr) return;\n  cancel_timer(t, node->attempt_timer);\n  release_permits(t, *node);\n  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});\n  const std::string error = ",
     "  if (node == nullptr) return;\n  cancel_timer(t, node->attempt_timer);\n  node->holds_permits = false;\n  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});\n  const std::string error = "),
    ("a failed run waits for a larger budget", "scopes.cpp",
     "    if (!scope.failed) return;\n", "    if (!scope.failed || !may_start(t, scope)) return;\n"),
    ("the binding of a gate depends on what is in memory", "waits.cpp",
     "    if (map != nullptr && map->reduce == nullptr && other.record.map) {",
     "    if (map != nullptr && map->reduce == nullptr && needs_loading(other)) {"),
    ("a failed stage is completed", "settling.cpp",
     "  if (!last || scope_at(t.s, t.s.top).failed || t.s.phases.contains(name)) return;", "  if (!last || t.s.phases.contains(name)) return;"),
    ("a rejection is asked again at a resume", "apply.cpp",
     " || record.reason == StepReason::rejected) return true;", ") return true;"),
    ("finally repeats under the same key", "ending.cpp",
     "  if (s.finally_number == 0 || s.worked_since_finally)", "  if (s.finally_number == 0)"),
    ("a cancellation is forgotten by a crash", "ending.cpp",
     "    s.hold = Hold::cancel;\n", "    if (s.finishing) s.hold = Hold::cancel;\n"),
]


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def find(text, wanted):
    """Returns the (begin, end) offsets of all places in `text` that equal `wanted` apart from white space."""
    kept = [i for i, character in enumerate(text) if not character.isspace()]
    bare = "".join(text[i] for i in kept)
    bare_wanted = "".join(wanted.split())
    places = []
    at = bare.find(bare_wanted)
    while at >= 0:
        places.append((kept[at], kept[at + len(bare_wanted) - 1] + 1))
        at = bare.find(bare_wanted, at + 1)
    return places


def problem_of(file_name, old):
    path = MACHINE / file_name
    if not path.exists():
        return f"{file_name} does not exist"
    count = len(find(path.read_text(), old))
    return "" if count == 1 else f"the text to replace occurs {count} times in {file_name}"


def schedules_needed(build, seeds):
    """Returns the number of schedules that found a violation, or None."""
    environment = dict(os.environ, PAWL_ENGINE_SEEDS=str(seeds), PAWL_ENGINE_FAST="1")
    try:
        tested = run([str(ROOT / build / "engine_sim_test"), "--gtest_filter=*HoldsItsPromises*"], env=environment, timeout=600)
    except subprocess.TimeoutExpired:
        return "a schedule that does not end"
    if tested.returncode == 0:
        return None
    found = re.search(r"after (\d+) schedules: (.*)", tested.stdout)
    return f"{found.group(1)} ({found.group(2)[:90]})" if found else "a crash"


def failing_test(build):
    tested = run([str(ROOT / build / "machine_test")], timeout=120)
    if tested.returncode == 0:
        return None
    found = re.search(r"\[  FAILED  \] \w+\.(\w+)", tested.stdout)
    begun = re.findall(r"\[ RUN      \] \w+\.(\w+)", tested.stdout)  # an assertion ends the program
    return found.group(1) if found else begun[-1] if begun else "?"


def try_mutant(mutant, options):
    _, file_name, old, new = mutant
    if problem := problem_of(file_name, old):
        return problem, False
    path = MACHINE / file_name
    original = path.read_text()
    begin, end = find(original, old)[0]
    try:
        path.write_text(original[:begin] + new + original[end:])
        built = run(["ninja", "-C", options.build, "-j2", "engine_sim_test", "machine_test"])
        if built.returncode != 0:
            return "does not compile:\n" + built.stdout[-1500:], False
        schedules = schedules_needed(options.build, options.seeds)
        test = failing_test(options.build)
        parts = [f"schedules: {schedules or '-'}", f"unit test: {test or '-'}"]
        return ", ".join(parts), bool(schedules or test)
    finally:
        path.write_text(original)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="a configured build folder with tests")
    parser.add_argument("--seeds", type=int, default=20_000, help="schedules per mutant")
    parser.add_argument("--only", default="", help="run mutants whose name contains this")
    parser.add_argument("--check", action="store_true", help="only check that each mutant's text occurs once")
    options = parser.parse_args()
    if options.check:
        problems = [f"{name}: {problem}" for name, file_name, old, _ in MUTANTS if (problem := problem_of(file_name, old))]
        print("\n".join(problems) or f"{len(MUTANTS)} mutants apply")
        return 1 if problems else 0
    survivors = 0
    chosen = [mutant for mutant in MUTANTS if options.only in mutant[0]]
    for number, mutant in enumerate(chosen, 1):
        print(f"{number}/{len(chosen)} {mutant[0]} ... ", end="", flush=True)
        result, killed = try_mutant(mutant, options)
        survivors += not killed
        print(result if killed else "SURVIVED " + result, flush=True)
    run(["ninja", "-C", options.build, "engine_sim_test", "machine_test"])
    print(f"{len(chosen) - survivors} found, {survivors} not")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
