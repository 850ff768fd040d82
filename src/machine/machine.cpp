#include "machine/machine.hpp"

#include <algorithm>
#include <utility>

#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

void run_task(Turn& t, const Task& task) {
  switch (task.what) {
    case Task::What::pump: return pump(t);
    case Task::What::check_scope:
      if (t.s.scopes.contains(task.scope)) check_scope(t, scope_at(t.s, task.scope));
      return;
    default: break;
  }
  Node* node = find_node(t.s, task.node);
  if (node == nullptr) return;
  if (task.what == Task::What::consider) return consider(t, *node);
  if (task.what == Task::What::release) return release(t, *node);
  if (node->map) start_items(t, *node);
}

void run_tasks(Turn& t) {
  while (!t.tasks.empty()) {
    const Task task = t.tasks.front();
    t.tasks.pop_front();
    run_task(t, task);
  }
}

void time_out(Turn& t, Node& node, Stop why) {
  switch (node.activity) {
    case Activity::running:
    case Activity::stopping: return stop_node(t, node, why);
    case Activity::acquiring:
    case Activity::starting:
    case Activity::queued:
    case Activity::looking_up:
    case Activity::backoff:
    case Activity::machine_backoff:
      cancel_timer(t, node.wait_timer);
      release_permits(t, node);
      std::erase(t.s.queue, node.id);
      set_activity(t.s, node, Activity::idle);
      return fail_step(t, node, timeout_text(node, why == Stop::total_timeout), false, StepReason::timed_out);
    default: return;
  }
}

void timer_of_node(Turn& t, Node& node, TimerKind kind) {
  switch (kind) {
    case TimerKind::backoff:
    case TimerKind::machine_backoff: {
      node.wait_timer = TimerId::none;
      if (node.activity != Activity::backoff && node.activity != Activity::machine_backoff) return;
      set_activity(t.s, node, Activity::idle);
      if (node.map) {
        set_activity(t.s, node, Activity::inner);
        return start_items(t, node);
      }
      if (has_attempts(*node.step)) return want_attempt(t, node);
      if (std::holds_alternative<CallWorkflow>(node.step->work)) return begin_child(t, node);
      return begin_gate(t, node);
    }
    case TimerKind::sleep:
    case TimerKind::wait_deadline: node.wait_timer = TimerId::none; return wait_over(t, node);
    case TimerKind::attempt_timeout: node.attempt_timer = TimerId::none; return time_out(t, node, Stop::timeout);
    case TimerKind::total_timeout: node.total_timer = TimerId::none; return time_out(t, node, Stop::total_timeout);
    case TimerKind::deadline:
      node.deadline_timer = TimerId::none;
      node.deadline_passed = true;
      return stop_node(t, node, Stop::deadline);
    case TimerKind::cool_down:
      node.wait_timer = TimerId::none;
      if (node.activity != Activity::cooling_down) return;
      set_activity(t.s, node, Activity::inner);
      node.map->open = false;
      node.map->probing = true;
      node.map->failures_in_a_row = 0;
      return start_items(t, node);
    default: return;
  }
}

/// What was asked for and is loaded only when the end of the run is recorded: nothing may be recorded after it.
bool is_late_answer(const Fact& fact) {
  return std::holds_alternative<fact::OutputLoaded>(fact) || std::holds_alternative<fact::ItemLoaded>(fact) ||
         std::holds_alternative<fact::ItemsLoaded>(fact) || std::holds_alternative<fact::FinishedLoaded>(fact) ||
         std::holds_alternative<fact::CacheAnswered>(fact) || std::holds_alternative<fact::ItemsMerged>(fact);
}

}  // namespace

void handle(Turn& t, const fact::TimerDue& f) {
  const auto found = t.s.timers.find(f.timer);
  if (found == t.s.timers.end()) return;
  const TimerUse use = found->second;
  t.s.timers.erase(found);
  switch (use.kind) {
    case TimerKind::save_retry: return retry_save(t);
    case TimerKind::save_soon: t.s.saving.soon = TimerId::none; return;
    case TimerKind::workflow_timeout:
      if (t.s.hold != Hold::none || t.s.finishing || t.s.top_ended) return;
      return hold_run(t, Hold::timeout,
                      fmt::format("the workflow timed out after {}", duration_text(*t.s.workflow().timeout)));
    default: break;
  }
  if (t.s.finishing) return;
  Node* node = find_node(t.s, use.node);
  if (node != nullptr && node->active) timer_of_node(t, *node, use.kind);
}

std::vector<Command> step(State& s, const Fact& fact, Timestamp now) {
  Turn t{.s = s, .now = std::max(now, s.last_at)};
  if (s.finished || (s.finishing && is_late_answer(fact))) return {};
  const bool linger_over = std::holds_alternative<fact::TimerDue>(fact) && s.saving.soon != TimerId::none &&
                           std::get<fact::TimerDue>(fact).timer == s.saving.soon;
  const bool message = std::holds_alternative<fact::MessageArrived>(fact);
  if (s.inbox == State::Inbox::read && !message) s.inbox = State::Inbox::open;
  std::visit([&t](const auto& f) { handle(t, f); }, fact);
  do {
    run_tasks(t);
    check_run(t);
  } while (!t.tasks.empty());
  if (!s.early_decisions.empty()) refuse_lost_decisions(t);
  save_if_needed(t, linger_over);
  return std::move(t.out);
}

std::vector<std::string> waiting_for(const State& s) {
  std::vector<std::string> out;
  if (over_budget(s)) out.push_back("a larger budget");
  if (!s.breakpoint_after.empty())
    out.push_back(fmt::format("a resume at the breakpoint after {}", s.breakpoint_after));
  std::vector<const Node*> nodes;
  for (const auto& [id, node] : s.nodes) nodes.push_back(&node);
  std::ranges::sort(nodes, {}, &Node::id);
  for (const Node* node : nodes) {
    const bool child = node->activity == Activity::child_waiting || node->activity == Activity::child_paused;
    if (node->record.status != StepStatus::waiting && !child) continue;
    if (child) out.push_back(fmt::format("run {}", node->record.child_run));
    switch (node->record.reason) {
      case StepReason::approval: out.push_back(fmt::format("approval of {}", node->path)); break;
      case StepReason::signal: out.push_back(fmt::format("signal '{}' for {}", node->record.detail, node->path)); break;
      case StepReason::breakpoint:
        out.push_back(fmt::format("a resume at the breakpoint before {}", node->path));
        break;
      default: break;
    }
  }
  return out;
}

}  // namespace pawl::machine
