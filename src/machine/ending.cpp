// The beginning and the end of an execution.
#include <algorithm>
#include <array>
#include <utility>

#include "machine/machine.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

/// Whether the execution ends when nothing but people and signals can continue it.
bool leaves_when_waiting(const State& s) {
  const bool somebody_answers = s.definition->asks_a_person && s.count(Activity::asking) > s.postponed_gates.size();
  return !s.definition->stays_while_waiting && !somebody_answers;
}

std::size_t under_way(const State& s) {
  return s.count(Activity::running) + s.count(Activity::stopping) + s.count(Activity::starting) +
         s.count(Activity::merging) + s.count(Activity::opening_child) + s.count(Activity::child_running) +
         s.count(Activity::child_stopping);
}

bool busy(const State& s) {
  constexpr std::array kOthers{Activity::loading,  Activity::looking_up,      Activity::acquiring,   Activity::backoff,
                               Activity::sleeping, Activity::machine_backoff, Activity::cooling_down};
  if (under_way(s) > 0 || !s.loading.empty()) return true;
  if (s.saving.failures > 0 && !s.saving.memory_only) return true;
  if (std::ranges::any_of(kOthers, [&](Activity activity) { return s.count(activity) > 0; })) return true;
  const bool blocked = !s.breakpoint_after.empty() || s.pause_requested || over_budget(s);
  return s.count(Activity::queued) > 0 && !blocked;
}

/// Returns whether the deadline of a gate or a signal has passed, so that its timer comes next.
bool is_deadline_due(const State& s, Timestamp now) {
  return std::ranges::any_of(s.timers, [&](const auto& entry) {
    return entry.second.kind == TimerKind::wait_deadline && entry.second.due <= now;
  });
}

/// A budget includes what children use.
void pause_children(Turn& t) {
  if (t.s.count(Activity::child_running) == 0 || !(over_budget(t.s) || t.s.pause_requested)) return;
  for (auto& [id, node] : t.s.nodes) {
    if (node.activity != Activity::child_running || std::exchange(node.pause_sent, true)) continue;
    t.out.push_back(command::PauseChild{id});
  }
}

Kind kind_of(RunStatus status) {
  switch (status) {
    case RunStatus::completed: return Kind::workflow_complete;
    case RunStatus::failed: return Kind::error;
    case RunStatus::waiting: return Kind::waiting;
    default: return Kind::interrupted;
  }
}

Reason reason_of(RunStatus status) {
  switch (status) {
    case RunStatus::completed: return Reason::workflow_completed;
    case RunStatus::failed: return Reason::step_failed;
    case RunStatus::waiting: return Reason::before_step;
    default: return Reason::signal;
  }
}

void end_run(Turn& t, Ending ending, RunStatus status, std::string error, Json outputs = {}) {
  if (std::exchange(t.s.finishing, true)) return;
  if (status == RunStatus::completed || status == RunStatus::cancelled) {
    for (const auto& [signal, payload, sent] : t.s.signals) {
      const std::string why = fmt::format("no step waited for the signal '{}'", signal);
      announce_unused_signal(t, signal, why);
      record(t, recorded::MessageTaken{.answer = recorded::Answer::refused, .why = why});
    }
  }
  record(t, recorded::RunEnded{.status = status, .error = error, .outputs = std::move(outputs)});
  announce_ended_run(t);
  label(t, kind_of(status), reason_of(status), nullptr);
  const bool told = ending != Ending::interrupted && ending != Ending::machine_trouble;
  if (t.s.workflow().notify && told) when_durable(t, command::Notify{ending});
  const bool saved = !t.s.saving.given_up && !t.s.saving.memory_only;
  const command::Finish finish{ending, status, std::move(error), saved, t.s.refusal};
  if (all_durable(t.s) || t.s.saving.given_up) {
    t.s.finished = true;
    t.out.push_back(finish);
  } else {
    when_durable(t, finish);
  }
}

void begin_finally(Turn& t) {
  State& s = t.s;
  if (s.finally_number == 0 || s.worked_since_finally)
    record(t, recorded::FinallyBegan{.number = s.finally_number + 1});
  Scope& scope = open_scope(s, nullptr, ScopeKind::finally, s.finally_number);
  s.finally = scope.id;
  enter(t, scope);
}

Result<Json> outputs_of(const State& s) {
  Json outputs = Json::object();
  for (const auto& [name, value] : s.workflow().outputs) {
    Result<Json> evaluated = value.evaluate(StateNames(s, scope_at(s, s.top), nullptr));
    if (!evaluated)
      return fail(Code::step_failed, "output '{}' can't be evaluated: {}", name, evaluated.error().message);
    outputs[name] = std::move(*evaluated);
  }
  return outputs;
}

/// Returns whether all acknowledged messages were delivered since the last fact. If not, requests them.
bool inbox_is(Turn& t, State::Inbox wanted) {
  const bool seal = wanted == State::Inbox::sealed;
  if (t.s.inbox == wanted) return true;
  const State::Inbox under_way = seal ? State::Inbox::sealing : State::Inbox::reading;
  if (std::exchange(t.s.inbox, under_way) != under_way) t.out.push_back(command::ReadInbox{seal});
  return false;
}

/// Everything that runs has run. Ends the run when the inbox is sealed.
void conclude(Turn& t) {
  State& s = t.s;
  const Scope& top = scope_at(s, s.top);
  const bool finally_failed = s.finally != ScopeId::none && scope_at(s, s.finally).failed;
  const bool cancelled = s.hold == Hold::cancel;
  if (s.hold == Hold::none && !top.failed && !finally_failed) {
    for (const auto& [name, value] : s.workflow().outputs) {
      if (!outputs_ready(t, top, value.references(), nullptr)) return;
    }
  }
  if (!inbox_is(t, State::Inbox::sealed)) return;
  if (cancelled) return end_run(t, Ending::cancelled, RunStatus::cancelled, s.hold_why);
  if (s.hold == Hold::timeout) return end_run(t, Ending::failed, RunStatus::failed, s.hold_why);
  if (top.failed) return end_run(t, Ending::failed, RunStatus::failed, top.error);
  if (finally_failed) return end_run(t, Ending::failed, RunStatus::failed, scope_at(s, s.finally).error);
  Result<Json> outputs = outputs_of(s);
  if (!outputs) return end_run(t, Ending::failed, RunStatus::failed, outputs.error().message);
  end_run(t, Ending::completed, RunStatus::completed, "", std::move(*outputs));
}

void next_phase(Turn& t) {
  State& s = t.s;
  const bool failed = (scope_at(s, s.top).failed && s.hold == Hold::none) || s.hold == Hold::timeout;
  if (failed && s.workflow().on_failure != nullptr && !s.run_failure_ended) {
    if (s.run_failure != ScopeId::none) return;
    Scope& scope = open_scope(s, nullptr, ScopeKind::run_failure, 0);
    s.run_failure = scope.id;
    return enter(t, scope);
  }
  if (s.workflow().finally != nullptr && !s.finally_ended) {
    if (s.finally == ScopeId::none) begin_finally(t);
    return;
  }
  conclude(t);
}

}  // namespace

void run_scope_ended(Turn& t, Scope& scope) {
  switch (scope.kind) {
    case ScopeKind::top: t.s.top_ended = true; break;
    case ScopeKind::run_failure: t.s.run_failure_ended = true; break;
    default: t.s.finally_ended = true; break;
  }
  if (t.s.hold == Hold::none || is_ending(t.s.hold)) next_phase(t);
}

void start_run(Turn& t) {
  State& s = t.s;
  s.began = true;
  if (s.workflow().timeout)
    static_cast<void>(set_timer(t, TimerKind::workflow_timeout, NodeId::none, after(t, *s.workflow().timeout)));
  if (s.cancel_requested) {
    s.hold = Hold::cancel;
    s.hold_why = s.cancel_why;
    announce_hold(t);
  }
  enter(t, scope_at(s, s.top));
}

void handle(Turn& t, const fact::RunBegan&) {
  if (t.s.began) return;
  record(t, recorded::RunBegan{.workflow_hash = t.s.workflow().hash});
  label(t, Kind::workflow_start, Reason::workflow_started, nullptr);
  start_run(t);
}

void handle(Turn& t, const fact::RunResumed& f) {
  if (t.s.began) return;
  const bool retries = t.s.status == RunStatus::failed && !f.automatic;
  record(t, recorded::RunResumed{.automatic = f.automatic,
                                 .changes_accepted = f.changes_accepted,
                                 .workflow_hash = t.s.workflow().hash,
                                 .budget = f.budget});
  label(t, Kind::step_start, Reason::before_step, nullptr);
  // What ran after the failure is open again. Nothing of it starts before that is durable: otherwise, the costs of
  // another execution that is lost would belong to steps that were over.
  if (retries) t.s.saving.hold_until = t.s.records;
  start_run(t);
}

void handle(Turn& t, const fact::Interrupted& f) { hold_run(t, Hold::interrupt, f.why); }

void handle(Turn& t, const fact::CancelWanted& f) {
  if (t.s.finishing || t.s.cancel_requested) return;
  record(t, recorded::CancelRequested{.why = f.why});
  hold_run(t, Hold::cancel, f.why);
}

void handle(Turn& t, const fact::RunRefused& f) {
  if (t.s.began) return;
  t.s.began = true;
  end_run(t, Ending::failed, RunStatus::failed, f.error);
}

void handle(Turn& t, const fact::CheckpointWanted& f) {
  if (t.s.finishing) return;
  label(t, Kind::manual, f.reason, nullptr);
  t.s.saving.wanted = true;
}

void handle(Turn& t, const fact::AnswerPostponed& f) {
  if (const Node* node = find_node(t.s, f.path); node != nullptr && node->activity == Activity::asking)
    t.s.postponed_gates.insert(node->id);
}

void handle(Turn& t, const fact::InboxRead& f) {
  const State::Inbox expected = f.sealed ? State::Inbox::sealing : State::Inbox::reading;
  if (t.s.inbox == expected) t.s.inbox = f.sealed ? State::Inbox::sealed : State::Inbox::read;
}

void handle(Turn& t, const fact::PauseRequested&) { t.s.pause_requested = true; }

void hold_run(Turn& t, Hold hold, std::string why) {
  State& s = t.s;
  if (s.finishing) {
    if (hold == Hold::machine && s.saving.given_up && !std::exchange(s.finished, true))
      t.out.push_back(command::Finish{Ending::machine_trouble, s.status, std::move(why), false});
    return;
  }
  const bool stronger = s.hold == Hold::none || (is_ending(s.hold) && !is_ending(hold)) ||
                        (s.hold == Hold::timeout && hold == Hold::cancel);
  if (!stronger) return;
  s.hold = hold;
  s.hold_why = std::move(why);
  announce_hold(t);
  const Stop stop = hold == Hold::cancel ? Stop::cancel : Stop::interrupt;
  stop_scope(t, scope_at(s, s.top), stop);
  if (s.run_failure != ScopeId::none && hold != Hold::timeout) stop_scope(t, scope_at(s, s.run_failure), stop);
  if (s.finally != ScopeId::none && !is_ending(hold)) stop_scope(t, scope_at(s, s.finally), stop);
  if (!is_ending(hold)) s.loading.clear();
}

void refuse_run(Turn& t, Refusal refusal, std::string why) {
  t.s.refusal = refusal;
  hold_run(t, Hold::refused, std::move(why));
}

bool is_paused(const State& s) {
  return over_budget(s) || s.pause_requested || !s.breakpoint_after.empty() ||
         s.count(Activity::at_breakpoint) + s.count(Activity::child_paused) > 0;
}

void check_run(Turn& t) {
  State& s = t.s;
  if (!s.began || s.finishing || (is_held_up(s) && s.hold == Hold::none)) return;
  if (s.hold == Hold::interrupt || s.hold == Hold::machine || s.hold == Hold::refused) {
    if (under_way(s) > 0) return;
    if (s.hold == Hold::machine) return end_run(t, Ending::machine_trouble, RunStatus::interrupted, s.hold_why);
    if (s.hold == Hold::refused) return end_run(t, Ending::refused, RunStatus::interrupted, s.hold_why);
    return end_run(t, Ending::interrupted, RunStatus::interrupted, s.hold_why);
  }
  pause_children(t);
  const bool finally_runs = s.finally != ScopeId::none && !s.finally_ended;
  const bool failure_runs = s.hold == Hold::timeout && s.run_failure != ScopeId::none && !s.run_failure_ended;
  if (is_ending(s.hold) && !finally_runs && !failure_runs) {
    if (under_way(s) == 0) next_phase(t);
    return;
  }
  const bool all_ended = s.top_ended && !finally_runs && (s.run_failure == ScopeId::none || s.run_failure_ended);
  if (all_ended) return next_phase(t);
  if (s.inbox == State::Inbox::sealed || s.inbox == State::Inbox::sealing) {
    s.inbox = State::Inbox::open;
    t.out.push_back(command::UnsealInbox{});
  }
  if (busy(s)) return;
  const bool pauses = is_paused(s);
  const bool waits = s.count(Activity::asking) + s.count(Activity::listening) + s.count(Activity::child_waiting) > 0;
  if (!pauses && is_deadline_due(s, t.now)) return;
  if (!(pauses || waits) || !(pauses || leaves_when_waiting(s)) || !inbox_is(t, State::Inbox::read)) return;
  end_run(t, Ending::waiting, RunStatus::waiting, "");
}

}  // namespace pawl::machine
