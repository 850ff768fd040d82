// How a step ends, and how it is stopped.
#include <algorithm>
#include <utility>

#include "domain/event_types.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

void close_timers(Turn& t, Node& node) {
  cancel_timer(t, node.wait_timer);
  cancel_timer(t, node.attempt_timer);
  cancel_timer(t, node.total_timer);
  cancel_timer(t, node.deadline_timer);
}

void follow_failure(Turn& t, Node& node) {
  Scope& scope = scope_at(t.s, node.scope);
  if (t.s.workflow().fail_fast && !scope.stopping) {
    stop_scope(t, scope, Stop::fail_fast);
    scope.stopping = false;  // steps with always() and failed() still run
    return;
  }
  // Running steps finish, and none start: neither those in the queue nor the next attempt of one that failed.
  for (const NodeId id : std::vector<NodeId>(scope.nodes)) {
    Node& other = node_at(t.s, id);
    if (!other.active || other.id == node.id || overrides_skipping(*other.step)) continue;
    if (other.activity == Activity::queued) leave_queue(t, other);
    if (other.activity == Activity::backoff) {
      cancel_timer(t, other.wait_timer);
      set_activity(t.s, other, Activity::idle);
      fail_step(t, other, other.record.error, true);
    }
  }
}

/// Saves a checkpoint for a completed stage or layer. One with a failed step is not completed.
void note_phases(Turn& t, const Node& node) {
  if (node.scope != t.s.top) return;
  const std::string name = phase_of(t.s, *node.step);
  const auto found = t.s.phase_steps.find(name);
  if (name.empty() || found == t.s.phase_steps.end() || found->second.unsettled == 0) return;
  const bool last = --found->second.unsettled == 0;
  if (!last || scope_at(t.s, t.s.top).failed || t.s.phases.contains(name)) return;
  announce_phase(t, *node.step);
  const std::string& stage = node.step->stage;
  if (stage.empty() && found->second.steps < 2) return;
  const auto& stages = t.s.workflow().stages;
  const auto known = std::ranges::find(stages, stage, &Stage::id);
  const bool barrier = known != stages.end() && known->type == Stage::Type::barrier;
  record(t, recorded::PhaseCompleted{.stage = stage, .layer = stage.empty() ? node.step->layer : 0});
  label(t, barrier ? Kind::barrier : Kind::stage_complete, barrier ? Reason::barrier : Reason::stage_completed, &node);
  if (!stage.empty()) t.s.saving.hold_until = t.s.records;
}

void label_end(Turn& t, const Node& node) {
  const bool fails = node.record.status == StepStatus::failed;
  const bool breaks = node.step->breakpoint == Breakpoint::after;
  label(t, fails ? Kind::error : Kind::step_complete,
        fails    ? Reason::step_failed
        : breaks ? Reason::breakpoint
                 : Reason::after_step,
        &node);
}

}  // namespace

void settle(Turn& t, Node& node, Settled how) {
  if (is_settled(node)) return;
  close_timers(t, node);
  release_permits(t, node);
  if (node.activity == Activity::asking) t.out.push_back(command::ClosePrompt{node.id, node.path});
  set_activity(t.s, node, Activity::idle);
  record(t, recorded::StepSettled{.path = node.path,
                                  .status = how.status,
                                  .reason = how.reason,
                                  .detail = std::move(how.detail),
                                  .error = std::move(how.error),
                                  .retryable = how.retryable,
                                  .output = std::move(how.output),
                                  .output_of = how.output_of,
                                  .no_output = how.no_output,
                                  .definition = definition_of(*node.step),
                                  .start = how.start,
                                  .usage = how.report.usage,
                                  .confidence = how.report.confidence,
                                  .ms = how.ms,
                                  .cached_from = how.cached_from});
  node.cached_from = how.cached_from;
  announce_settled_step(t, node);
  node.stop = Stop::none;
  const Scope& scope = scope_at(t.s, node.scope);
  if (scope.kind != ScopeKind::item) label_end(t, node);
  if (how.status == StepStatus::completed && !node.cache_key.empty() && node.looked_up)
    when_durable(t,
                 command::StoreCache{node.cache_key, cache_hash(*node.step, node.cache_key), node.path, t.s.records});
  if (std::exchange(node.active, false)) --scope_at(t.s, node.scope).active;
  note_phases(t, node);
  if (fails_scope(node)) follow_failure(t, node);
  const bool breaks = node.step->breakpoint == Breakpoint::after && scope.kind != ScopeKind::item;
  if (breaks && how.status == StepStatus::completed) {
    t.s.breakpoint_after = node.path;
    record(t, recorded::BreakpointReached{.path = node.path, .after = true});
    announce_breakpoint(t, node, "after");
  }
  t.tasks.push_back({Task::What::release, node.id, node.scope});
  t.tasks.push_back({Task::What::check_scope, NodeId::none, node.scope});
}

void complete(Turn& t, Node& node, Json output, std::uint64_t output_of) {
  settle(t, node, {.status = StepStatus::completed, .output = std::move(output), .output_of = output_of});
}

void fail_step(Turn& t, Node& node, std::string error, bool retryable, StepReason reason, Json output) {
  node.record.error = error;
  const bool aside = node.step->on_failure != nullptr && node.record.aside == Aside::none && t.s.hold == Hold::none;
  if (aside && node.stop == Stop::none) {
    node.record.retryable = retryable;
    node.record.set_reason(reason);
    node.record.output = std::move(output);
    return begin_aside(t, node, Aside::on_failure);
  }
  settle(t, node,
         {.status = StepStatus::failed,
          .reason = reason,
          .error = std::move(error),
          .retryable = retryable,
          .output = std::move(output)});
}

void begin_aside(Turn& t, Node& node, Aside aside) {
  if (node.record.aside != aside) {
    cancel_timer(t, node.total_timer);
    cancel_timer(t, node.deadline_timer);
    cancel_timer(t, node.wait_timer);
    if (node.activity == Activity::asking) t.out.push_back(command::ClosePrompt{node.id, node.path});
    record(t, recorded::AsideBegan{.path = node.path,
                                   .aside = aside,
                                   .error = node.record.error,
                                   .reason = node.record.reason,
                                   .retryable = node.record.retryable,
                                   .output = node.record.output});
  }
  set_activity(t.s, node, Activity::inner);
  const ScopeKind kind = aside == Aside::on_failure ? ScopeKind::on_failure : ScopeKind::low_confidence;
  enter(t, open_scope(t.s, &node, kind, 0));
}

void aside_ended(Turn& t, Node& node, Scope& scope) {
  const bool failed = scope.failed;
  const std::string error = node.record.error;
  if (node.record.aside == Aside::low_confidence) {
    if (!failed)
      return settle(t, node,
                    {.status = StepStatus::completed,
                     .output = node.record.output,
                     .start = node.record.starts,
                     .report = {.usage = node.record.counted}});
    return settle(t, node,
                  {.status = StepStatus::failed,
                   .error = "the steps under confidence.then failed: " + scope.error,
                   .retryable = false});
  }
  if (node.step->rescue && !failed) {
    announce_rescue(t, node);
    return settle(t, node, {.status = StepStatus::completed, .detail = error, .no_output = true});
  }
  settle(t, node,
         {.status = StepStatus::failed,
          .reason = node.record.reason,
          .error = error,
          .retryable = node.record.retryable,
          .output = node.record.output});
}

void stop_scope(Turn& t, Scope& scope, Stop why) {
  const bool ends = why == Stop::fail_fast || why == Stop::deadline;
  if (ends) scope.stopping = true;
  for (const NodeId id : std::vector<NodeId>(scope.nodes)) {
    if (Node* node = find_node(t.s, id); node != nullptr && node->active) stop_node(t, *node, why);
  }
}

void stopped(Turn& t, Node& node) {
  const Stop why = node.stop;
  if (why == Stop::deadline && std::exchange(node.deadline_passed, false)) {
    node.stop = Stop::none;
    set_activity(t.s, node, Activity::idle);
    if (node.step->on_deadline == OnTimeout::go_on)
      return settle(t, node, {.status = StepStatus::completed, .no_output = true});
    return fail_step(t, node, fmt::format("timed out after {}", duration_text(*node.step->deadline)), true,
                     StepReason::timed_out);
  }
  if (why == Stop::fail_fast || why == Stop::deadline)
    return settle(t, node, {.status = StepStatus::cancelled, .reason = StepReason::stopped, .retryable = true});
  set_activity(t.s, node, Activity::idle);
}

void stop_node(Turn& t, Node& node, Stop why) {
  if (is_settled(node)) return;
  if (node.stop == Stop::none || why == Stop::interrupt || why == Stop::cancel) node.stop = why;
  switch (node.activity) {
    case Activity::stopping:
    case Activity::merging:
    case Activity::child_stopping: return;
    case Activity::running:
      set_activity(t.s, node, Activity::stopping);
      t.out.push_back(command::StopAttempt{node.id, node.record.starts});
      return;
    case Activity::child_running:
    case Activity::child_waiting:
    case Activity::child_paused:
    case Activity::opening_child: {
      if (node.activity == Activity::opening_child && !node.child_sent) break;
      set_activity(t.s, node, Activity::child_stopping);
      const bool for_good =
          why == Stop::cancel || (why == Stop::deadline && node.step->on_deadline == OnTimeout::go_on);
      const auto how = for_good ? command::StopChildHow::cancel : command::StopChildHow::interrupt;
      t.out.push_back(command::StopChild{node.id, how});
      return;
    }
    case Activity::cooling_down:
    case Activity::inner: {
      cancel_timer(t, node.wait_timer);
      if (node.activity == Activity::cooling_down) set_activity(t.s, node, Activity::inner);
      if (node.map) node.map->stopped = true;
      std::vector<ScopeId> inner;
      for (const auto& [key, scope] : node.inner) inner.push_back(scope);
      for (const ScopeId id : inner) {
        if (scope_at(t.s, id).entered) stop_scope(t, scope_at(t.s, id), why);
      }
      for (const ScopeId id : inner) t.tasks.push_back({Task::What::check_scope, NodeId::none, id});
      t.tasks.push_back({Task::What::start_items, node.id, node.scope});
      return;
    }
    case Activity::asking: t.out.push_back(command::ClosePrompt{node.id, node.path}); break;
    case Activity::queued: std::erase(t.s.queue, node.id); break;
    case Activity::starting: t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none}); break;
    default: break;
  }
  close_timers(t, node);
  release_permits(t, node);
  t.s.loading.erase(node.id);
  set_activity(t.s, node, Activity::idle);
  stopped(t, node);
}

}  // namespace pawl::machine
