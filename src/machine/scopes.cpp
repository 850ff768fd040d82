// Decides which step runs next. A new run, a resume and the end of a step all come through here.
#include <algorithm>

#include "domain/event_types.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

void count_phases(State& s, const Scope& top) {
  s.phase_steps.clear();
  for (const NodeId id : top.nodes) {
    const Node& node = node_at(s, id);
    State::Phase& phase = s.phase_steps[phase_of(s, *node.step)];
    ++phase.steps;
    phase.unsettled += is_settled(node) ? 0U : 1U;
  }
}

/// Connects the steps of a scope, and counts for each how many before it are unfinished. A finished step counts only
/// if everything before it is finished, too: a reopened map delays all unfinished steps after it.
void link(State& s, Scope& scope) {
  if (scope.id == s.top) count_phases(s, scope);
  for (const NodeId id : scope.nodes) {
    Node& node = node_at(s, id);
    node.dependents.clear();
    node.blockers = node.step->after.size();
  }
  std::vector<NodeId> closed;
  for (const NodeId id : scope.nodes) {
    const Node& node = node_at(s, id);
    for (const std::size_t before : node.step->after) node_at(s, scope.nodes[before]).dependents.push_back(node.index);
    if (node.blockers == 0 && is_settled(node)) closed.push_back(id);
  }
  while (!closed.empty()) {
    const Node& node = node_at(s, closed.back());
    closed.pop_back();
    for (const std::size_t dependent : node.dependents) {
      Node& next = node_at(s, scope.nodes[dependent]);
      if (--next.blockers == 0 && is_settled(next)) closed.push_back(next.id);
    }
  }
}

std::optional<std::string> reason_to_skip(Turn& t, const Scope& scope, const Node& node, std::string& error) {
  const Step& step = *node.step;
  if (!overrides_skipping(step)) {
    for (const std::size_t need : step.needed) {
      const Node& needed = node_at(t.s, scope.nodes[need]);
      if (needed.record.status == StepStatus::skipped)
        return fmt::format("it needs '{}', which was skipped", needed.step->id);
    }
  }
  if (!step.when) return std::nullopt;
  const Result<bool> wanted = step.when->test(StateNames(t.s, scope, &node));
  if (!wanted) {
    error = fmt::format("`when: {}` can't be evaluated: {}", step.when->text(), wanted.error().message);
    return std::nullopt;
  }
  if (!*wanted) return fmt::format("`when: {}` is false", step.when->text());
  return std::nullopt;
}

/// Returns a gate that must be asked again, if it is this step or inside it.
const std::string* reached_gate_in(const State& s, const Node& node) {
  for (const std::string& gate : s.reached_gates) {
    if (!gate.starts_with(node.path)) continue;
    if (gate.size() == node.path.size() || gate[node.path.size()] == '.' || gate[node.path.size()] == '[') return &gate;
  }
  return nullptr;
}

/// Gives the node a step with the values of its computed settings. Fails the step and returns false if one is invalid.
bool compute_settings(Turn& t, Node& node) {
  if (node.own != nullptr || (node.step->computed.empty() && node.step->retry.computed.empty())) return true;
  Result<Step> step = with_settings(*node.step, StateNames(t.s, scope_at(t.s, node.scope), &node));
  if (!step) {
    fail_step(t, node, step.error().message, false);
    return false;
  }
  node.own = std::make_shared<const Step>(std::move(*step));
  node.step = node.own.get();
  return true;
}

void go_on(Turn& t, Node& node) {
  if (node.record.aside != Aside::none) return begin_aside(t, node, node.record.aside);
  if (!compute_settings(t, node)) return;
  arm_deadline(t, node);
  const Work& work = node.step->work;
  if (has_attempts(*node.step)) return begin_attempts(t, node);
  if (std::holds_alternative<Approve>(work)) return begin_gate(t, node);
  if (std::holds_alternative<Sleep>(work)) return begin_sleep(t, node);
  if (std::holds_alternative<WaitFor>(work)) return begin_listening(t, node);
  if (std::holds_alternative<Loop>(work)) return begin_loop(t, node);
  if (std::holds_alternative<Map>(work)) return begin_map(t, node);
  if (std::holds_alternative<CallWorkflow>(work)) return begin_child(t, node);
  complete(t, node, Json());
}

/// Requests the outputs that the binding of a gate covers. Returns whether all are in memory.
bool binding_ready(Turn& t, const Scope& scope, const Node& node) {
  if (!std::holds_alternative<Approve>(node.step->work)) return true;
  std::vector<NodeId> missing;
  for (const std::size_t before : node.step->after) {
    const Node& other = node_at(t.s, scope.nodes[before]);
    const bool in_record = other.output == nullptr && other.record.output_event != 0;
    if (in_record && is_settled(other)) missing.push_back(other.id);
  }
  return nodes_ready(t, missing, node.id);
}

void begin(Turn& t, Node& node, const Scope& scope) {
  node.active = true;
  node.stop = Stop::none;
  ++scope_at(t.s, scope.id).active;
  const bool is_item = scope.kind == ScopeKind::item;
  if (node.step->breakpoint == Breakpoint::before && !node.record.passed_breakpoint && !is_item &&
      node.record.status == StepStatus::pending) {
    set_activity(t.s, node, Activity::at_breakpoint);
    record(t, recorded::BreakpointReached{.path = node.path});
    announce_breakpoint(t, node, "before");
    return label(t, Kind::waiting, Reason::breakpoint, &node);
  }
  announce_begun_step(t, node);
  // The start of an item is not recorded: after a crash it starts again, with the same key.
  const bool quiet = is_item && node.index == 0 && has_attempts(*node.step);
  if (node.record.status == StepStatus::pending && !quiet) {
    record(t, recorded::StepStarted{.path = node.path});
    const bool breaks = node.step->breakpoint == Breakpoint::before;
    label(t, Kind::step_start,
          node.step->risky ? Reason::before_risky_step
          : breaks         ? Reason::breakpoint
                           : Reason::before_step,
          &node);
  }
  go_on(t, node);
}

void scope_ended(Turn& t, Scope& scope) {
  if (scope.owner == NodeId::none) return run_scope_ended(t, scope);
  Node& owner = node_at(t.s, scope.owner);
  if (is_settled(owner)) return;
  if (scope.stopping && scope.kind != ScopeKind::item) return stopped(t, owner);
  switch (scope.kind) {
    case ScopeKind::iteration: return iteration_ended(t, owner, scope);
    case ScopeKind::item: return item_ended(t, owner, scope);
    case ScopeKind::reduce: return reduce_ended(t, owner, scope);
    default: return aside_ended(t, owner, scope);
  }
}

}  // namespace

bool over_budget(const State& s) { return s.workflow().budget.raised(s.budget).reached(s.usage); }

bool may_start(const Turn& t, const Scope& scope) {
  const State& s = t.s;
  if (s.finishing || scope.stopping || is_held_up(s)) return false;
  if (s.saving.failures > 0 && !s.saving.memory_only) return false;
  if (is_within(s, scope, ScopeKind::finally)) return s.hold == Hold::none || is_ending(s.hold);
  if (s.hold == Hold::timeout && is_within(s, scope, ScopeKind::run_failure)) return true;
  return s.hold == Hold::none && s.breakpoint_after.empty() && !s.pause_requested && !over_budget(s);
}

bool may_launch(const Turn& t, const Node& node) {
  const Scope& scope = scope_at(t.s, node.scope);
  return may_start(t, scope) && (!scope.failed || overrides_skipping(*node.step));
}

bool outputs_ready(Turn& t, const Scope& scope, std::span<const Expression::Reference> references, Node* waiter) {
  return nodes_ready(t, missing_outputs(t.s, scope, references), waiter == nullptr ? NodeId::none : waiter->id);
}

std::vector<NodeId> unloaded(const State& s, const Scope& scope) {
  std::vector<NodeId> missing;
  for (const NodeId id : scope.nodes) {
    const Node& node = node_at(s, id);
    if (is_settled(node) && needs_loading(node)) missing.push_back(id);
  }
  return missing;
}

bool nodes_ready(Turn& t, const std::vector<NodeId>& missing, NodeId waiter) {
  if (missing.empty()) return true;
  for (const NodeId id : missing) {
    Node& node = node_at(t.s, id);
    if (std::exchange(node.output_requested, true)) continue;
    when_durable(t, command::LoadOutput{id, node.path, node.record.output_event});
  }
  t.s.loading.insert(waiter);
  return false;
}

void handle(Turn& t, const fact::OutputLoaded& f) {
  Node* node = find_node(t.s, f.node);
  if (node == nullptr) return;
  const bool of_loop = node->activity == Activity::loading && std::holds_alternative<Loop>(node->step->work);
  if (!of_loop && !std::exchange(node->output_requested, false)) return;
  const bool unusable = f.party == fact::Party::work;  // too large
  if (of_loop && (f.error.empty() || unusable)) return previous_loaded(t, *node, f.output);
  if (!f.error.empty() && !unusable) {
    if (of_loop) set_activity(t.s, *node, Activity::idle);
    t.s.loading.clear();
    return hold_run(t, Hold::machine, f.error);
  }
  node->output_error = f.error;
  if (f.error.empty()) node->output = std::make_shared<const Json>(f.output);
  for (const NodeId id : std::exchange(t.s.loading, {})) {
    if (id == NodeId::none) {
      t.tasks.push_back({Task::What::check_scope, NodeId::none, t.s.top});
      continue;
    }
    Node* waiter = find_node(t.s, id);
    if (waiter == nullptr) continue;
    if (!waiter->active) t.tasks.push_back({Task::What::consider, id, waiter->scope});
    for (const auto& [key, inner] : waiter->inner) t.tasks.push_back({Task::What::check_scope, NodeId::none, inner});
  }
}

void consider(Turn& t, Node& node) {
  Scope& scope = scope_at(t.s, node.scope);
  if (is_settled(node) || node.active || !scope.entered || scope.ended) return;
  if (node.blockers > 0 && !node.seen_on_failure) return;
  // A gate that waits beside a failure keeps waiting after a resume.
  const bool begun = node.record.status == StepStatus::waiting;
  if (scope.failed && !begun && !overrides_skipping(*node.step)) return;
  if (!may_start(t, scope)) return announce_budget(t, node);
  if (node.step->risky && node.record.status == StepStatus::pending && !t.s.saving.unsaved.empty()) {
    t.s.saving.hold_until = t.s.records;  // its start has a checkpoint of its own
    return;
  }
  if (node.step->when && !outputs_ready(t, scope, node.step->when->references(), &node)) return;
  std::string error;
  const std::optional<std::string> skip = reason_to_skip(t, scope, node, error);
  if (!skip && error.empty() && !outputs_ready(t, scope, references_of(*node.step), &node)) return;
  if (!skip && error.empty() && !binding_ready(t, scope, node)) return;
  if (!skip && error.empty()) return begin(t, node, scope);
  node.active = true;
  ++scope.active;
  if (!error.empty()) return fail_step(t, node, error, false);
  if (const std::string* gate = reached_gate_in(t.s, node))
    return refuse_run(
        t, Refusal::gate,
        fmt::format("the changed workflow skips the approval step '{}', which this run has reached: {}", *gate, *skip));
  settle(t, node, {.status = StepStatus::skipped, .reason = StepReason::skipped, .detail = *skip});
}

void release(Turn& t, Node& node) {
  const Scope& scope = scope_at(t.s, node.scope);
  std::vector<NodeId> released{node.id};
  while (!released.empty()) {
    const Node& closed = node_at(t.s, released.back());
    released.pop_back();
    for (const std::size_t dependent : closed.dependents) {
      Node& next = node_at(t.s, scope.nodes[dependent]);
      if (next.blockers == 0 || --next.blockers > 0) continue;
      if (is_settled(next)) {
        released.push_back(next.id);
      } else {
        t.tasks.push_back({Task::What::consider, next.id, scope.id});
      }
    }
  }
}

void enter(Turn& t, Scope& scope) {
  scope.entered = true;
  scope.ended = false;
  link(t.s, scope);
  for (const NodeId id : scope.nodes) {
    const Node& node = node_at(t.s, id);
    if (!is_settled(node) && node.blockers == 0) t.tasks.push_back({Task::What::consider, id, scope.id});
  }
  t.tasks.push_back({Task::What::check_scope, NodeId::none, scope.id});
}

void check_scope(Turn& t, Scope& scope) {
  if (!scope.entered || scope.ended || scope.active > 0) return;
  if (scope.unsettled > 0 && !scope.stopping) {
    if (!scope.failed) return;
    for (const NodeId id : scope.nodes) {
      Node& node = node_at(t.s, id);
      if (is_settled(node) || !overrides_skipping(*node.step)) continue;
      if (t.s.loading.contains(id) || (!node.seen_on_failure && !may_start(t, scope))) return;
      if (std::exchange(node.seen_on_failure, true)) continue;
      consider(t, node);
      if (scope.active > 0 || t.s.loading.contains(id)) return;
    }
  }
  if (scope.unsettled == 0 && t.s.hold == Hold::none && scope.kind != ScopeKind::finally &&
      scope.owner == NodeId::none && !t.s.breakpoint_after.empty())
    return;  // the run stops at the breakpoint first
  scope.ended = true;
  scope_ended(t, scope);
}

void kick(Turn& t) {
  std::vector<ScopeId> roots{t.s.top};
  if (t.s.run_failure != ScopeId::none) roots.push_back(t.s.run_failure);
  if (t.s.finally != ScopeId::none) roots.push_back(t.s.finally);
  for (const ScopeId root : roots) {
    for_each_node(t.s, root, [&](const Node& node) {
      if (!is_settled(node) && !node.active) t.tasks.push_back({Task::What::consider, node.id, node.scope});
      if (node.active && node.map) t.tasks.push_back({Task::What::start_items, node.id, node.scope});
      for (const auto& [key, inner] : node.inner) t.tasks.push_back({Task::What::check_scope, NodeId::none, inner});
    });
    t.tasks.push_back({Task::What::check_scope, NodeId::none, root});
  }
  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});
}

}  // namespace pawl::machine
