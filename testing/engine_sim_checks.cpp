// What must hold in every simulated schedule.
#include <algorithm>

#include "machine/progress.hpp"
#include "machine/snapshot.hpp"
#include "testing/engine_sim_world.hpp"

namespace pawl::engine_sim {

using namespace machine;

/// Returns whether the outputs agree. What an attempt that was lost had printed is unknown: if it was the last one, the
/// output of the failed step is null.
static bool agree(const Json& expected, const Json& actual, bool lost_attempts) {
  if (expected == actual || (lost_attempts && actual.is_null())) return true;
  if (expected.type() != actual.type() || !expected.is_structured() || expected.size() != actual.size()) return false;
  for (auto a = expected.begin(), b = actual.begin(); a != expected.end(); ++a, ++b) {
    if (expected.is_object() && a.key() != b.key()) return false;
    if (!agree(*a, *b, lost_attempts)) return false;
  }
  return true;
}

/// Returns the number of the unsaved record that settles the step; 0 if it is durable.
std::uint64_t World::settled_in(const SimRun& run, const std::string& path) {
  const Saving& saving = run.state->saving;
  std::uint64_t number = run.state->records - saving.unsaved.size();
  for (const Record& record : saving.unsaved) {
    ++number;
    if (path_of(record.fact) == path && std::holds_alternative<recorded::StepSettled>(record.fact)) return number;
  }
  if (!saving.in_flight) return 0;
  number = saving.in_flight->first - 1;
  for (const Record& record : saving.in_flight->records) {
    ++number;
    if (path_of(record.fact) == path && std::holds_alternative<recorded::StepSettled>(record.fact)) return number;
  }
  return 0;
}

void World::check_start(SimRun& run, const command::StartAttempt& c) {
  const State& s = *run.state;
  const Node& node = node_at(s, c.node);
  if (run.done.contains(c.path))
    return violate(fmt::format("{} runs again although its completion is recorded", c.path));
  if (run.processes.contains(c.node)) return violate(fmt::format("{} runs twice at once", c.path));
  const Scope& scope = scope_at(s, node.scope);
  if (scope.failed && !overrides_skipping(*node.step)) return violate(fmt::format("{} starts after a failure", c.path));
  const bool in_finally = is_within(s, scope, ScopeKind::finally);
  if (over_budget(s) && !in_finally) return violate(fmt::format("{} starts although the budget is used up", c.path));
  for (const std::size_t index : node.step->after) {
    const Node& before = node_at(s, scope.nodes[index]);
    const bool ran = before.record.status == StepStatus::completed && before.record.attempts > 0;
    if (ran && !s.saving.memory_only && s.saving.durable < settled_in(run, before.path))
      return violate(fmt::format("{} starts before the completion of {} is durable", c.path, before.path));
  }
  std::uint32_t failures = 0;
  if (const auto durable = run.failures.find(c.path); durable != run.failures.end()) failures = durable->second;
  if (failures >= node.step->retry.attempts.value_or(1))
    return violate(fmt::format("{} has more attempts than allowed", c.path));
  for (const Scope* at = &scope; at->owner != NodeId::none;) {
    const Node& owner = node_at(s, at->owner);
    if (const auto* loop = std::get_if<Loop>(&owner.step->work);
        loop != nullptr && at->kind == ScopeKind::iteration && at->index > loop->max)
      return violate(fmt::format("{} is iteration {} of at most {}", c.path, at->index, loop->max));
    if (is_settled(owner)) return violate(fmt::format("{} starts inside the finished step {}", c.path, owner.path));
    at = &scope_at(s, at->outer);
  }
}

void World::check_running(SimRun& run) {
  const State& s = *run.state;
  const std::uint32_t limit = s.workflow().parallel;
  if (limit > 0 && run.processes.size() > limit)
    return violate(fmt::format("{} attempts run at once (parallel: {})", run.processes.size(), limit));
  std::map<NodeId, std::set<std::uint64_t>> items;
  std::size_t limited = 0;
  for (const auto& [id, process] : run.processes) {
    const Node* node = find_node(s, id);
    if (node == nullptr) return violate(fmt::format("{} runs, but the machine has forgotten it", process.path));
    limited += node->step->uses.empty() ? 0U : 1U;
    for (const Scope* at = &scope_at(s, node->scope); at->owner != NodeId::none; at = &scope_at(s, at->outer)) {
      if (at->kind == ScopeKind::item) items[at->owner].insert(at->index);
    }
  }
  for (const auto& [owner, running] : items) {
    const Node& map = node_at(s, owner);
    if (running.size() > std::get<Map>(map.step->work).parallel)
      return violate(fmt::format("{} items of {} run at once", running.size(), map.path));
  }
  if (limited > 2) violate("more attempts use the shared limit than it allows");
}

void World::check_same(const State& expected, const State& actual) {
  const Json then = progress_of(expected);
  const Json now = progress_of(actual);
  if (then == now) return;
  violate("the records lead to another state: " + compact(Json::diff(then, now)).substr(0, 300));
}

void World::check_replay(SimRun& run, const State& actual) {
  State again = *run.checked;
  for (std::size_t i = run.checked_from; i < run.journal.size(); ++i) apply(again, run.journal[i]);
  check_same(again, actual);
}

/// The state that is durable is the one that the records lead to, as long as neither a rollback nor a change is
/// between.
void World::check_restored(SimRun& run) {
  if (!run.checked || run.durable.empty() || run.other_progress) return;
  const Result<State> restored = restore(run.checked->definition, durable_state(run));
  if (!restored) return violate("the state can't be restored: " + restored.error().message);
  check_replay(run, *restored);
}

/// A cancelled run does not ask any more, except in `finally`.
void World::check_refused(SimRun& run, const fact::MessageArrived& message, std::uint64_t before) {
  const Node* node = find_node(std::as_const(*run.state), message.path);
  if (node == nullptr || is_within(*run.state, scope_at(std::as_const(*run.state), node->scope), ScopeKind::finally))
    return;
  const std::vector<Record> records = all_records(run);
  for (std::uint64_t number = before + 1; number <= run.state->records; ++number) {
    const std::size_t position = position_of(run, number);
    if (position <= records.size() && std::holds_alternative<recorded::Decided>(records[position - 1].fact))
      return violate(fmt::format("a decision on {} counts after the cancellation", message.path));
  }
}

/// Results are about the items that the map has now.
void World::check_results(const Node& map, const Json& results) {
  if (!map.map || (map.map->items == nullptr && map.map->item_hashes == nullptr)) return;
  for (const Json& result : results) {
    const auto index = result["index"].get<std::uint64_t>();
    if (index >= map.map->total) return violate(fmt::format("{} has a result of a missing item", map.path));
    const std::uint64_t hash =
        map.map->item_hashes != nullptr ? (*map.map->item_hashes)[index] : hash_of_item((*map.map->items)[index]);
    if (hash != hash_of_item(result["item"]))
      return violate(fmt::format("a result of {} is about another item {}", map.path, index));
  }
  if (results.size() != map.record.map->done.count())
    violate(fmt::format("{} of {} results of {} were found", results.size(), map.record.map->done.count(), map.path));
}

/// In some schedules: applying the changes gives the new snapshot.
void World::check_changes(SimRun& run) {
  if (schedule_.seed % 8 != 0 || !run.live) return;
  const auto same = [](std::uint64_t number) { return number; };
  for (const Change& change : take_changes(*run.state)) {
    if (change.node == NodeId::none) {
      run.shadow.erase(change.path);
    } else {
      run.shadow[change.path] = compact(record_of(*run.state, node_at(*run.state, change.node), same).to_json());
    }
  }
  std::map<std::string, std::string> whole;
  for (const auto& [path, record] : snapshot(*run.state, run.base, same).steps) whole[path] = compact(record.to_json());
  if (whole == run.shadow) return;
  for (const auto& [path, text] : whole) {
    const auto known = run.shadow.find(path);
    if (known == run.shadow.end()) return violate(fmt::format("a change is missing: {} is {}", path, text));
    if (known->second != text)
      return violate(fmt::format("a change is missing: {} is {}, not {}", path, text, known->second));
  }
  violate("a change is missing: a step is no longer in the snapshot");
}

void World::check_end(const command::Finish& c) {
  SimRun& run = main();
  ended_.status = run.status;
  for (const auto& other : runs_) {
    if (other->live) return violate(fmt::format("{} still runs after its parent ended", other->key));
  }
  lost_costs_ = lost_costs_ || !c.everything_saved;  // of steps that the saved state says are over
  if (!c.everything_saved) return;
  if (c.ending == Ending::refused) return violate("the run was refused: " + c.error);
  if (run.status == RunStatus::waiting && waiting_for(*run.state).empty())
    return violate("the run waits for something without a name");
  const bool over = run.status == RunStatus::completed || run.status == RunStatus::cancelled;
  if ((over || run.status == RunStatus::failed) && !run.inbox.empty())
    return violate(fmt::format("the run ended without answering {}", run.inbox.front().fact.id));
  if (run.status == RunStatus::cancelled && !cancelled_) return violate("the run was cancelled by nobody");
  if (!over && run.status != RunStatus::failed) return;
  if (over) over_ = true;
  const bool plain = !cancelled_ && !inputs_changed_ && !rolled_back_;
  if (!plain) return;
  // A child that was running beside a failure is opened again, and its last cost counted, when a person resumes the
  // run.
  const bool all_counted = !lost_costs_ && (run.status == RunStatus::completed || runs_.size() == 1);
  if (run.state->usage.tokens > spent_tokens_ || (all_counted && run.state->usage.tokens != spent_tokens_))
    return violate(fmt::format("{} tokens were counted, {} were used", run.state->usage.tokens, spent_tokens_));
  const Expected expected = interpret(built_, rejecting_gates(plan_), 0, run.vars);
  if (expected.failed != (run.status == RunStatus::failed))
    return violate(fmt::format("the run is {}, but the oracle's {}: {}", to_text(run.status),
                               expected.failed ? "failed" : "completed", c.error));
  if (run.status != RunStatus::completed) return;
  ended_.compared = true;
  if (!agree(expected.outputs, run.state->outputs, lost_attempts_))
    violate(fmt::format("other outputs: {}", compact(Json::diff(expected.outputs, run.state->outputs)).substr(0, 300)));
}

}  // namespace pawl::engine_sim
