#include "machine/snapshot.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "machine/apply.hpp"

namespace pawl::machine {
namespace {

constexpr std::string_view kAsideMark = ".on_failure.";

/// Outer steps first, siblings in the order of the workflow.
template <class Visit>
void for_each_in_order(const State& s, ScopeId id, const Visit& visit) {
  for (const NodeId inside : scope_at(s, id).nodes) {
    const Node& node = node_at(s, inside);
    visit(node);
    for (const auto& [key, inner] : node.inner) for_each_in_order(s, inner, visit);
  }
}

/// A report that was left behind can be about a `finally` whose beginning was lost, so its number is no limit.
std::vector<ScopeId> roots_of(const State& s) {
  std::vector<const Scope*> roots;
  for (const auto& [id, scope] : s.scopes) {
    if (scope.owner == NodeId::none) roots.push_back(&scope);
  }
  std::ranges::sort(roots, {}, [](const Scope* root) { return std::pair(root->kind, root->index); });
  std::vector<ScopeId> ids;
  for (const Scope* root : roots) ids.push_back(root->id);
  return ids;
}

bool is_over(const StepRecord& record) {
  return record.status == StepStatus::completed || record.status == StepStatus::skipped;
}

std::uint64_t translated(const State& s, std::uint64_t number, const EventOf& event_of) {
  return number <= s.base ? number : event_of(number);
}

std::uint64_t event_in(const Json& entry) {
  const auto found = entry.is_object() ? entry.find("output_event") : entry.end();
  return entry.is_object() && found != entry.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

/// Returns the largest number of an event that the state refers to.
std::uint64_t largest_event(const RunState& from) {
  std::uint64_t largest = from.events;
  for (const auto& [path, record] : from.steps) {
    largest = std::max(largest, record.output_event);
    if (!record.previous.is_object()) continue;
    for (const auto& [id, entry] : record.previous.items()) largest = std::max(largest, event_in(entry));
  }
  return largest;
}

void take_head(State& s, const RunState& from) {
  s.status = from.status;
  s.error = from.error;
  s.base = std::max(from.records, largest_event(from));
  s.records = s.base;
  s.saving.durable = s.base;
  s.usage = from.usage;
  s.completed_steps = from.completed_steps;
  s.spent_ms = from.spent_ms;
  s.confidence = from.confidence;
  s.resumes = from.resumes;
  s.automatic_resumes = from.automatic_resumes;
  s.rollbacks = from.rollbacks;
  s.taken.insert(from.consumed.begin(), from.consumed.end());
  s.starts_used.insert(from.starts.begin(), from.starts.end());
  for (const std::string& signal : from.signals) {
    const Json body = parse_json(signal);
    if (body.is_object())
      s.signals.push_back(
          {text_in(body, "signal"), body.value("payload", Json()), {body.value("sent", std::int64_t{0})}});
  }
  s.outputs = from.outputs;
  s.budget = from.budget;
  s.cancel_requested = from.cancelled.has_value() || from.status == RunStatus::cancelled;
  s.cancel_why = from.cancelled.value_or("");
  s.finally_number = from.finally_number;
  s.reached_gates.insert(from.reached_gates.begin(), from.reached_gates.end());
  s.worked_since_finally = from.worked_since_finally;
  s.phases = from.phases;
  s.driven_us = from.driven_us;
  s.last_at = from.last_at;
}

void take_added(State& s, const RunState& from) {
  for (const AddedSteps& added : from.added) {
    const Node* after = find_node(std::as_const(s), added.after);
    if (after == nullptr || after->scope != s.top) continue;
    s.added.push_back(added);
    static_cast<void>(grow(s, after->index, added.steps));
  }
}

void take_record(State& s, Node& node, const StepRecord& from) {
  StepRecord& record = node.record;
  record = from;
  if (record.iteration > 0) record.spent = std::max(record.spent, record.iteration - 1);  // counts over all executions
  if (std::holds_alternative<Loop>(node.step->work) && !is_settled(record.status))
    record.iteration = std::max(record.iteration, 1U);
  if (is_over(record)) record.counted_start = record.starts + 1;
  const bool begun = record.status == StepStatus::running || record.status == StepStatus::waiting ||
                     record.status == StepStatus::interrupted;
  if (begun && record.driven_from_us < 0) record.driven_from_us = s.driven_us;
  if (record.child_number > 0 || record.child_run.empty()) return;
  record.child_number = 1;
  record.child_rollbacks = s.rollbacks;
  record.child_usage = record.usage;
}

/// Older programs did not record that a step runs its `on_failure` steps.
void take_asides(State& s, const RunState& from) {
  for (const auto& [path, record] : from.steps) {
    const std::size_t mark = path.rfind(kAsideMark);
    if (mark == std::string::npos) continue;
    Node* owner = find_node(s, path.substr(0, mark));
    if (owner == nullptr || owner->step->on_failure == nullptr || is_settled(*owner)) continue;
    owner->record.aside = Aside::on_failure;
    owner->record.status = StepStatus::running;
  }
}

/// Returns whether the progress of a failed step still fits: it contained steps, and is of the same kind.
bool keeps_progress(const Node& node) {
  const StepRecord& record = node.record;
  if (record.status != StepStatus::failed) return false;
  if (std::holds_alternative<Map>(node.step->work)) return record.map.has_value();
  if (std::holds_alternative<Loop>(node.step->work)) return record.iteration > 0;
  return std::holds_alternative<CallWorkflow>(node.step->work) && !record.child_run.empty();
}

/// Opens the steps whose definition changed. The completed items and iterations of a failed step stay.
void open_changed(State& s) {
  std::vector<NodeId> changed;
  for (const ScopeId root : roots_of(s)) {
    for_each_in_order(s, root, [&](const Node& node) {
      if (is_settled(node) && !has_definition(*node.step, node.record.definition)) changed.push_back(node.id);
    });
  }
  for (const NodeId id : changed) {
    Node* node = find_node(s, id);
    if (node == nullptr) continue;  // it was inside another one
    if (keeps_progress(*node)) {
      retry_container(s, *node);
    } else {
      reset(s, *node);
    }
  }
}

bool is_past(const Node& owner, const std::pair<ScopeKind, std::uint64_t>& inner) {
  const auto& [kind, index] = inner;
  if (kind == ScopeKind::iteration && index < owner.record.iteration) return true;
  if (kind != ScopeKind::item) return is_over(owner.record);
  const auto& map = owner.record.map;
  return map && map->done.contains(index) && !map->failed.contains(index);
}

/// Drops what is inside completed steps, items and iterations. Older programs kept some of it.
void drop_past(State& s) {
  std::vector<ScopeId> past;
  for (const ScopeId root : roots_of(s)) {
    for_each_in_order(s, root, [&](const Node& node) {
      for (const auto& [key, inner] : node.inner) {
        if (is_past(node, key)) past.push_back(inner);
      }
    });
  }
  for (const ScopeId id : past) {
    if (s.scopes.contains(id)) drop_scope(s, id);
  }
}

}  // namespace

bool is_in_snapshot(const State& s, const Node& node) {
  static const StepRecord kFresh;
  if (node.record.status != StepStatus::pending) return true;
  const bool quiet = node.record.starts > 0 && node.index == 0 && scope_at(s, node.scope).kind == ScopeKind::item;
  if (!quiet) return node.record != kFresh;
  StepRecord record = node.record;
  record.starts = 0;
  return record != kFresh;
}

StepRecord record_of(const State& s, const Node& node, const EventOf& event_of) {
  StepRecord record = node.record;
  if (is_over(record)) {
    record.counted_start = 0;
    record.counted = {};
    record.driven_from_us = -1;
  }
  // The time that it took counts only for timeouts and for steps that contain others.
  const bool limited = node.step->total_timeout || is_computed(*node.step, Setting::total_timeout);
  if (has_attempts(*node.step) && !limited) record.driven_from_us = -1;
  if (record.output_event != 0) record.output_event = translated(s, record.output_event, event_of);
  if (record.previous.is_object()) {
    for (auto& [id, entry] : record.previous.items()) {
      if (const std::uint64_t number = event_in(entry)) entry["output_event"] = translated(s, number, event_of);
    }
  }
  return record;
}

RunState head_of(const State& s, const RunState& base) {
  RunState out = base;
  out.steps.clear();
  out.status = s.status;
  out.error = s.error;
  out.records = s.records;
  out.usage = s.usage;
  out.completed_steps = s.completed_steps;
  out.spent_ms = s.spent_ms;
  out.confidence = s.confidence;
  out.resumes = s.resumes;
  out.automatic_resumes = s.automatic_resumes;
  out.rollbacks = s.rollbacks;
  out.consumed.assign(s.taken.begin(), s.taken.end());
  out.starts = {s.starts_used.begin(), s.starts_used.end()};
  out.signals.clear();
  for (const auto& [signal, payload, sent] : s.signals)
    out.signals.push_back(compact({{"signal", signal}, {"payload", payload}, {"sent", sent.us}}));
  out.added = s.added;
  out.outputs = s.outputs;
  out.budget = s.budget;
  out.limits = s.workflow().budget.raised(s.budget);
  out.cancelled.reset();
  if (s.cancel_requested) out.cancelled = s.cancel_why;
  out.finally_number = s.finally_number;
  out.reached_gates.assign(s.reached_gates.begin(), s.reached_gates.end());
  out.worked_since_finally = s.worked_since_finally;
  out.phases = s.phases;
  out.driven_us = s.driven_us;
  out.last_at = s.last_at;
  return out;
}

RunState snapshot(const State& s, const RunState& base, const EventOf& event_of) {
  RunState out = head_of(s, base);
  for (const ScopeId root : roots_of(s)) {
    for_each_in_order(s, root, [&](const Node& node) {
      if (is_in_snapshot(s, node)) out.steps.emplace_back(node.path, record_of(s, node, event_of));
    });
  }
  return out;
}

std::vector<Change> take_changes(State& s) {
  std::vector<Change> changes;
  std::set<std::string> dropped;
  for (std::string& path : std::exchange(s.dropped, {})) dropped.insert(std::move(path));
  for (const NodeId id : std::exchange(s.touched, {})) {
    Node* node = find_node(s, id);
    if (node == nullptr) continue;
    node->touched = false;
    const bool was_taken = std::exchange(node->taken, is_in_snapshot(s, *node));
    if (node->taken) {
      dropped.erase(node->path);
      changes.push_back({node->path, id});
    } else if (was_taken) {
      dropped.insert(node->path);
    }
  }
  for (const std::string& path : dropped) changes.push_back({path, NodeId::none});
  return changes;
}

Result<State> restore(std::shared_ptr<const Definition> definition, const RunState& from) {
  State s = empty_state(std::move(definition));
  take_head(s, from);
  take_added(s, from);
  for (const auto& [path, record] : from.steps) {
    if (Node* node = resolve(s, path)) take_record(s, *node, record);
  }
  if (from.records == 0) take_asides(s, from);
  drop_past(s);
  open_changed(s);
  for (const auto& [id, scope] : s.scopes) recount(s, scope_at(s, id));
  for (const ScopeId root : roots_of(s)) {
    for_each_node(s, root, [&](Node& node) { node.taken = is_in_snapshot(s, node); });
  }
  return s;
}

}  // namespace pawl::machine
