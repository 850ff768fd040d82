#include "machine/apply.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace pawl::machine {
namespace {

using namespace recorded;

constexpr double kFailureConfidence = 0.8;  // factor for the run's confidence after a failed step

void count_in_owners(State& s, Node& node, const Usage& fresh) {
  if (fresh == Usage{}) return;
  for (Node* at = &node; at != nullptr; at = find_node(s, scope_at(s, at->scope).owner)) {
    touch(s, *at);
    at->record.usage.add(fresh);
  }
}

/// Counts what is new since the last report of the same attempt. Attempts before it are counted already.
void count_usage(State& s, Node& node, std::uint32_t start, const Usage& total) {
  const auto used = s.starts_used.find(node.path);
  const bool known = start < node.record.counted_start || (used != s.starts_used.end() && start <= used->second);
  if (known) return;
  if (start > node.record.counted_start) {
    node.record.counted_start = start;
    node.record.counted = {};
  }
  const Usage fresh = node.record.counted.until(total);
  node.record.counted.add(fresh);
  s.usage.add(fresh);
  count_in_owners(s, node, fresh);
}

void begin(State& s, Node& node, Timestamp at) {
  if (node.record.started.us == 0) node.record.started = at;
  if (node.record.driven_from_us < 0) node.record.driven_from_us = s.driven_us;
  if (node.record.status == StepStatus::pending) node.record.status = StepStatus::running;
  if (std::holds_alternative<Loop>(node.step->work) && node.record.iteration == 0) node.record.iteration = 1;
}

Timestamp before(Timestamp at, std::uint64_t ms) { return {at.us - static_cast<std::int64_t>(ms) * 1000}; }

void note_start(Node& node, std::uint32_t start) { node.record.starts = std::max(node.record.starts, start); }

void note_confidence(State& s, Node& node, const std::optional<double>& value) {
  if (!value) return;
  node.record.confidence = value;
  s.confidence = value;
}

void reopen_scope(State& s, Scope& scope, bool automatic);

bool stays_failed(const Node& node, bool automatic) {
  const StepRecord& record = node.record;
  if (node.step->continue_on_error || record.reason == StepReason::rejected) return true;
  const bool unknown = is_computed(*node.step, Setting::attempts);  // begin_attempts() checks it
  return automatic && (!record.retryable || (!unknown && record.spent >= node.step->retry.attempts.value_or(1)));
}

void reopen_items(Node& node) {
  MapProgress& progress = *node.record.map;
  for (const auto& [first, last] : progress.failed.ranges()) {
    for (std::uint64_t index = first; index <= last; ++index) progress.done.remove(index);
  }
  progress.failed = {};
  progress.trips = 0;
}

/// What a failed or cancelled step has completed stays completed. After another failure, its `on_failure` steps run
/// again.
void open_again(State& s, Node& node) {
  StepRecord& record = node.record;
  if (record.status == StepStatus::failed) {
    record.aside = Aside::none;
    if (record.map) reopen_items(node);
    if (record.reason == StepReason::exhausted) record.iteration = record.spent + 1;
    for (const ScopeKind kind : {ScopeKind::on_failure, ScopeKind::low_confidence}) {
      if (const Scope* aside = find_scope(s, node, kind, 0)) forget_scope(s, aside->id);
    }
  }
  record.status = StepStatus::pending;
  record.error.clear();
  record.clear_reason();
  record.retryable = true;
  record.due = {};
  record.output = Json();
  record.output_event = 0;
  node.output = nullptr;
}

/// Prepares an unfinished step for a resume.
void reopen(State& s, Node& node, bool automatic) {
  StepRecord& record = node.record;
  if (record.status == StepStatus::completed || record.status == StepStatus::skipped) return;
  if (record.status == StepStatus::interrupted) record.status = StepStatus::running;
  const bool failed = record.status == StepStatus::failed;
  if (failed && stays_failed(node, automatic)) return;
  touch(s, node);
  if (failed || record.status == StepStatus::cancelled) open_again(s, node);
  const bool tries = has_attempts(*node.step) || std::holds_alternative<Approve>(node.step->work);
  if (failed && tries && !automatic) record.spent = 0;
  if (record.status == StepStatus::waiting && record.reason == StepReason::breakpoint) {
    record.status = StepStatus::pending;
    record.clear_reason();
    node.record.passed_breakpoint = true;
  }
  for (const auto& [key, inner] : node.inner) {
    const bool done = key.first == ScopeKind::item && record.map && record.map->done.contains(key.second);
    if (!done) reopen_scope(s, scope_at(s, inner), automatic);
  }
}

void reopen_scope(State& s, Scope& scope, bool automatic) {
  for (const NodeId id : scope.nodes) reopen(s, node_at(s, id), automatic);
  recount(s, scope);
}

/// Resets every step that comes after `node` in its scope.
void reset_dependents(State& s, const Node& node) {
  Scope& scope = scope_at(s, node.scope);
  std::vector<bool> affected(scope.nodes.size(), false);
  affected[node.index] = true;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < scope.nodes.size(); ++i) {
      if (affected[i]) continue;
      const auto& after = (*scope.steps)[i].after;
      affected[i] = std::ranges::any_of(after, [&](std::size_t before) { return affected[before]; });
      more = more || affected[i];
    }
  }
  for (std::size_t i = 0; i < scope.nodes.size(); ++i) {
    if (affected[i] && i != node.index) reset(s, node_at(s, scope.nodes[i]));
  }
}

/// After another failure of the run, its `on_failure` steps run again.
void forget_run_failure(State& s) {
  ScopeId found = ScopeId::none;
  for (const auto& [id, scope] : s.scopes) {
    if (scope.kind == ScopeKind::run_failure) found = id;
  }
  if (found != ScopeId::none) forget_scope(s, found);
}

// Facts about the run.

void apply_to_run(State& s, const RunBegan&) { s.status = RunStatus::running; }
void apply_to_run(State& s, const RunResumed& r) {
  // A run that waits has not failed yet: what failed in it is not tried again by answering.
  const bool keeps_failures = r.automatic || s.status == RunStatus::waiting;
  ++s.resumes;
  // A run that waits or was stopped by a signal did not fail, so resuming it is no attempt at a recovery.
  const bool recovers = s.status == RunStatus::running || s.status == RunStatus::failed;
  if (!r.automatic) s.automatic_resumes = 0;
  if (r.automatic && recovers) ++s.automatic_resumes;
  if (s.status == RunStatus::failed && !r.automatic) forget_run_failure(s);
  s.status = RunStatus::running;
  s.error.clear();
  s.changes_accepted = r.changes_accepted;
  if (!r.budget.is_null()) s.budget = r.budget;
  reopen_scope(s, scope_at(s, s.top), keeps_failures);
  std::vector<ScopeId> others;
  for (const auto& [id, scope] : s.scopes) {
    if (scope.kind == ScopeKind::run_failure || scope.kind == ScopeKind::finally) others.push_back(id);
  }
  for (const ScopeId id : others) reopen_scope(s, scope_at(s, id), keeps_failures);
}
void apply_to_run(State& s, const MessageTaken& r) {
  if (!r.id.empty()) s.taken.insert(r.id);  // a signal that no step waited for has none
}
void apply_to_run(State&, const EntryAdded&) {}
void apply_to_run(State& s, const SignalReceived& r) { s.signals.push_back({r.signal, r.payload, r.sent}); }
void apply_to_run(State& s, const CancelRequested& r) {
  s.cancel_requested = true;
  s.cancel_why = r.why;
}
void apply_to_run(State& s, const PhaseCompleted& r) {
  s.phases.insert(r.stage.empty() ? fmt::format("layer {}", r.layer) : "stage " + r.stage);
}
void apply_to_run(State& s, const FinallyBegan& r) {
  s.finally_number = r.number;
  s.worked_since_finally = false;
}
void apply_to_run(State& s, const RunEnded& r) {
  s.status = r.status;
  s.error = r.error;
  if (r.status == RunStatus::completed) s.outputs = r.outputs;
  if (r.status == RunStatus::completed || r.status == RunStatus::waiting) return;
  // What was under way has stopped. A resume continues it.
  const bool cancelled = r.status == RunStatus::cancelled;
  for (auto& [id, node] : s.nodes) {
    StepStatus& status = node.record.status;
    const bool stops = status == StepStatus::running || (cancelled && status == StepStatus::waiting);
    if (!stops) continue;
    status = cancelled ? StepStatus::cancelled : StepStatus::interrupted;
    touch(s, node);
  }
}
// Facts about a step.

void apply_to(State& s, Node& node, const StepStarted&, Timestamp at) {
  begin(s, node, at);
  node.record.status = StepStatus::running;
}
void apply_to(State& s, Node& node, const AttemptReported& r, Timestamp at) {
  begin(s, node, at);
  note_start(node, r.start);
  count_usage(s, node, r.start, r.usage);
  note_confidence(s, node, r.confidence);
  if (!r.progress.is_null()) node.record.partial = r.progress;
  if (r.decisions > 0) node.record.decisions = r.decisions;
}
void apply_to(State& s, Node& node, const AttemptEnded& r, Timestamp at) {
  begin(s, node, before(at, r.ms));  // the start of an item's steps is not recorded
  note_start(node, r.start);
  count_usage(s, node, r.start, r.usage);
  note_confidence(s, node, r.confidence);
  if (!r.progress.is_null()) node.record.partial = r.progress;
  node.record.duration_ms += r.ms;
  node.record.decisions = 0;
  if (r.how == AttemptEnd::interrupted) return;
  ++node.record.attempts;
  ++node.record.spent;
  node.record.error = r.error;
  node.record.exit_code = r.exit_code;
  node.record.retryable = r.retryable;
}
void apply_to(State&, Node& node, const RetryPlanned& r, Timestamp) { node.record.due = r.due; }
void apply_to(State& s, Node& node, const AsideBegan& r, Timestamp at) {
  begin(s, node, at);
  node.record.aside = r.aside;
  node.record.status = StepStatus::running;
  node.record.error = r.error;
  node.record.retryable = r.retryable;
  node.record.set_reason(r.reason);
  node.record.output = r.output;
}
/// Small outputs are part of the step's record. Larger ones are in the record that it names, and perhaps in memory.
void set_output(State& s, Node& node, const StepSettled& r) {
  node.output = nullptr;
  node.record.output = Json();
  node.record.output_event = r.output_of;
  if (r.output_of != 0) {
    if (std::holds_alternative<Map>(node.step->work)) {
      if (const Scope* reduce = find_scope(s, node, ScopeKind::reduce, 0))
        node.output = node_at(s, reduce->nodes[0]).output;
    } else if (const auto& loop = std::get<Loop>(node.step->work); !loop.steps->empty()) {
      const auto known = node.previous.find(loop.steps->back().id);
      if (known != node.previous.end()) node.output = known->second;
    }
  } else if (compact(r.output).size() <= kOutputInline) {
    node.record.output = r.output;
  } else {
    node.record.output_event = s.records;
    node.output = std::make_shared<const Json>(r.output);
  }
}

/// Removes what is inside a completed step, except for failed items, which can be retried.
void drop_finished(State& s, Node& node) {
  std::vector<ScopeId> gone;
  for (const auto& [key, inner] : node.inner) {
    if (key.first != ScopeKind::item) gone.push_back(inner);
  }
  for (const ScopeId id : gone) drop_scope(s, id);
}

void apply_to(State& s, Node& node, const StepSettled& r, Timestamp at) {
  if (r.start > 0) {
    note_start(node, r.start);
    count_usage(s, node, r.start, r.usage);
    note_confidence(s, node, r.confidence);
  }
  if (is_settled(node)) return;
  begin(s, node, before(at, r.start > 0 ? r.ms : 0));
  s.reached_gates.erase(node.path);
  StepRecord& record = node.record;
  record.decisions = 0;
  if (r.start > 0) {
    ++record.attempts;
    ++record.spent;
    record.duration_ms += r.ms;
  }
  if (contains_steps(*node.step) && record.driven_from_us >= 0) {
    const std::int64_t took_us = s.driven_us - std::exchange(record.driven_from_us, -1);
    record.duration_ms += static_cast<std::uint64_t>(std::max<std::int64_t>(took_us, 0)) / 1000;
  }
  const bool loop_ended = r.status == StepStatus::completed || r.reason == StepReason::exhausted;
  if (std::holds_alternative<Loop>(node.step->work) && loop_ended && record.spent > 0) record.iteration = record.spent;
  record.status = r.status;
  record.set_reason(r.reason, r.detail);
  record.error = r.error;
  record.retryable = r.retryable;
  record.ended = at;
  record.definition = r.definition;
  set_output(s, node, r);
  node.record.aside = Aside::none;
  node.record.no_output = r.no_output;
  if (r.status == StepStatus::completed) {
    record.partial = Json();
    record.exit_code = 0;
    s.spent_ms += has_attempts(*node.step) ? record.duration_ms : 0;
    const bool in_item = scope_at(s, node.scope).kind == ScopeKind::item;  // the item counts as one
    s.completed_steps += in_item ? 0 : 1;
    s.automatic_resumes = 0;
    drop_finished(s, node);
  }
  // After a rollback, a step that had begun may be skipped.
  while (r.status == StepStatus::skipped && !node.inner.empty()) forget_scope(s, node.inner.begin()->second);
  if (r.status == StepStatus::failed && s.confidence) s.confidence = *s.confidence * kFailureConfidence;
  settle_in_scope(s, node);
}
void apply_to(State& s, Node& node, const WaitBegan& r, Timestamp at) {
  begin(s, node, at);
  node.record.status = StepStatus::waiting;
  node.record.set_reason(r.reason, r.detail);
  node.record.binding = r.binding;
  node.record.due = r.due;
}
void apply_to(State& s, Node& node, const IterationEnded& r, Timestamp) {
  node.record.spent = r.iteration;
  node.record.iteration = r.iteration + 1;
  if (!std::holds_alternative<Loop>(node.step->work)) return;
  const Scope& scope = open_scope(s, &node, ScopeKind::iteration, r.iteration);
  node.record.previous = Json::object();
  node.previous.clear();
  for (const NodeId id : scope.nodes) {
    const Node& inner = node_at(s, id);
    const std::string& name = inner.step->id;
    Json& entry = node.record.previous[name];
    if (r.outputs.is_object() && r.outputs.contains(name)) {
      entry["output"] = r.outputs[name];
    } else if (inner.record.output_event != 0) {
      entry["output_event"] = inner.record.output_event;
      if (inner.output != nullptr) node.previous[name] = inner.output;
    } else {
      entry["output"] = inner.record.output;
    }
    entry["status"] = to_text(inner.record.status);
  }
  drop_scope(s, scope.id);
}
void apply_to(State& s, Node& node, const MapOpened& r, Timestamp at) {
  begin(s, node, at);
  if (!node.map) return;
  if (!node.record.map) node.record.map = MapProgress{};
  MapProgress& progress = *node.record.map;
  const IndexRanges kept = IndexRanges::parse(r.kept).value_or(IndexRanges());
  const auto keep = [&](IndexRanges& ranges) {
    IndexRanges out;
    for (const auto& [first, last] : ranges.ranges()) {
      for (std::uint64_t index = first; index <= last; ++index) {
        if (kept.contains(index)) out.add(index);
      }
    }
    ranges = std::move(out);
  };
  if (!progress.items_hash.empty() && progress.items_hash != r.items_hash) {
    keep(progress.done);
    keep(progress.failed);
    keep(progress.dropped);
    std::vector<ScopeId> gone;
    for (const auto& [key, inner] : node.inner) {
      if (key.first == ScopeKind::item && !kept.contains(key.second)) gone.push_back(inner);
      if (key.first == ScopeKind::reduce) gone.push_back(inner);
    }
    for (const ScopeId id : gone) forget_scope(s, id);
  }
  progress.total = r.total;
  progress.items_hash = r.items_hash;
}
void apply_to(State& s, Node& node, const ItemEnded& r, Timestamp) {
  if (!node.map || !node.record.map) return;
  node.record.map->done.add(r.index);
  if (r.failed) {
    node.record.map->failed.add(r.index);
    return;
  }
  ++s.completed_steps;
  s.automatic_resumes = 0;
  if (Scope* scope = find_scope(s, node, ScopeKind::item, r.index)) drop_scope(s, scope->id);
}
void apply_to(State&, Node& node, const CircuitOpened& r, Timestamp) {
  if (node.record.map) ++node.record.map->trips;
  node.record.due = r.due;
}
void apply_to(State& s, Node& node, const ChildBegan& r, Timestamp at) {
  begin(s, node, at);
  if (r.number != node.record.child_number) {
    node.record.child_run.clear();
    node.record.child_usage = {};
  }
  node.record.child_number = r.number;
  node.record.child_rollbacks = s.rollbacks;
  node.record.child_with = r.with_hash;
  node.record.status = StepStatus::running;
}
void apply_to(State&, Node& node, const ChildOpened& r, Timestamp) { node.record.child_run = r.run; }
void apply_to(State& s, Node& node, const ChildReported& r, Timestamp) {
  if (r.steps > 0) s.automatic_resumes = 0;
  const Usage fresh = node.record.child_usage.until(r.usage);
  node.record.child_usage.add(fresh);
  s.usage.add(fresh);
  count_in_owners(s, node, fresh);
}
void apply_to(State& s, Node& node, const StepsAdded& r, Timestamp) {
  s.added.push_back({node.step->id, r.steps});
  static_cast<void>(grow(s, node.index, r.steps));
}
void apply_to(State& s, Node&, const SignalConsumed& r, Timestamp) {
  const auto found = std::ranges::find(s.signals, r.signal, &EarlySignal::name);
  if (found != s.signals.end()) s.signals.erase(found);
}
void apply_to(State&, Node&, const Decided&, Timestamp) {}
void apply_to(State& s, Node& node, const ItemsReopened& r, Timestamp) {
  if (!node.map || !node.record.map) return;
  const IndexRanges again = IndexRanges::parse(r.indices).value_or(IndexRanges());
  for (const auto& [first, last] : again.ranges()) {
    for (std::uint64_t index = first; index <= last; ++index) {
      if (!node.record.map->failed.contains(index)) continue;
      node.record.map->done.remove(index);
      node.record.map->failed.remove(index);
      if (Scope* scope = find_scope(s, node, ScopeKind::item, index)) reopen_scope(s, *scope, false);
    }
  }
  if (const Scope* scope = find_scope(s, node, ScopeKind::reduce, 0)) forget_scope(s, scope->id);
  node.record.status = StepStatus::running;
  node.record.output = Json();
  node.record.output_event = 0;
  node.output = nullptr;
  s.status = RunStatus::interrupted;
  recount(s, scope_at(s, node.scope));
  if (r.dependents) reset_dependents(s, node);
}
void apply_to(State& s, Node& node, const BreakpointReached& r, Timestamp at) {
  if (r.after) return;
  begin(s, node, at);
  node.record.status = StepStatus::waiting;
  node.record.set_reason(StepReason::breakpoint);
}
}  // namespace

State empty_state(std::shared_ptr<const Definition> definition) {
  State s;
  s.definition = std::move(definition);
  s.top = open_scope(s, nullptr, ScopeKind::top, 0).id;
  return s;
}

void apply(State& s, const Record& record) {
  ++s.records;
  // Only time during which a process drove the run counts.
  const auto* ended = std::get_if<AttemptEnded>(&record.fact);
  const bool resumes =
      std::holds_alternative<RunResumed>(record.fact) || (ended != nullptr && ended->left) || s.last_at.us == 0;
  if (!resumes) s.driven_us += std::max<std::int64_t>(record.at.us - s.last_at.us, 0);
  s.last_at = record.at;
  std::visit(
      [&](const auto& fact) {
        if constexpr (requires { fact.path; }) {
          Node* node = resolve(s, fact.path);
          if (node == nullptr) return;
          touch(s, *node);
          if (!is_within(s, scope_at(s, node->scope), ScopeKind::finally)) s.worked_since_finally = true;
          apply_to(s, *node, fact, record.at);
        } else {
          apply_to_run(s, fact);
        }
      },
      record.fact);
}

void retry_container(State& s, Node& node) {
  touch(s, node);
  open_again(s, node);
}

State replay(std::shared_ptr<const Definition> definition, std::span<const Record> records) {
  State s = empty_state(std::move(definition));
  for (const Record& record : records) apply(s, record);
  return s;
}

}  // namespace pawl::machine
