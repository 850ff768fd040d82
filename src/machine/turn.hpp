// What the parts of the machine share. Private to this folder.
//
// A turn handles one fact. Deciding about one node often leads to another: such follow-ups are queued as tasks, so that
// the depth of the calls does not depend on the size of the run.
#pragma once

#include <deque>

#include "machine/facts.hpp"
#include "machine/names.hpp"
#include "machine/state.hpp"

namespace pawl::machine {

struct Task {
  enum class What : std::uint8_t { consider, release, check_scope, start_items, pump };
  What what = What::pump;
  NodeId node = NodeId::none;
  ScopeId scope = ScopeId::none;
};

struct Turn {
  State& s;
  Timestamp now;
  std::vector<Command> out = {};
  std::deque<Task> tasks = {};
};

// turn.cpp: records, timers, activities.
/// Applies the fact and puts it into the next save.
void record(Turn& t, RecordedFact fact);
void label(Turn& t, Kind kind, Reason reason, const Node* node);
/// Emits the command when everything recorded until now is durable.
void when_durable(Turn& t, Command command);
void set_activity(State& s, Node& node, Activity activity);
[[nodiscard]] TimerId set_timer(Turn& t, TimerKind kind, NodeId node, Timestamp due);
void cancel_timer(Turn& t, TimerId& timer);
[[nodiscard]] Timestamp after(const Turn& t, Milliseconds delay);
/// Returns the time that processes have driven the run, including this one until now.
[[nodiscard]] std::int64_t driven_us(const Turn& t);
void tell(Turn& t, std::string type, const Node* node, Json data);
/// The same for something that belongs to the history of the run.
void tell_lasting(Turn& t, std::string type, const Node* node, Json data);
void release_permits(Turn& t, Node& node);

// announce.cpp: what observers are told. Each is called where the machine decides it.
void announce_begun_step(Turn& t, const Node& node);
void announce_settled_step(Turn& t, const Node& node);
void announce_breakpoint(Turn& t, const Node& node, const char* where);
/// Once per execution, if the budget keeps the step from starting.
void announce_budget(Turn& t, const Node& node);
void announce_phase(Turn& t, const Step& last);
void announce_attempt(Turn& t, const Node& node);
void announce_failed_attempt(Turn& t, const Node& node, std::optional<Milliseconds> again_in);
void announce_interrupted_attempt(Turn& t, const Node& node, Stop why, const std::string& error);
/// Precedes the record of the report. What an earlier report of the same attempt contained is not announced again.
void announce_confidence(Turn& t, const Node& node, std::uint32_t start, const Report& report);
void announce_low_confidence(Turn& t, const Node& node);
[[nodiscard]] bool crosses(const Node& node, double confidence);
void announce_rescue(Turn& t, const Node& node);
void announce_added_steps(Turn& t, const Node& node, const Json& steps);
void announce_refused_steps(Turn& t, const Node& node, const std::string& error);
void announce_iteration(Turn& t, const Node& node);
void announce_ended_iteration(Turn& t, const Node& node, const recorded::IterationEnded& ended);
void announce_child(Turn& t, const Node& node);
void announce_map(Turn& t, const Node& node);
void announce_map_progress(Turn& t, const Node& node);
void announce_item(Turn& t, const Node& node, std::uint64_t index);
/// `item` may be null if its steps are gone.
void announce_ended_item(Turn& t, const Node& node, const Scope* item, const recorded::ItemEnded& ended);
void announce_open_circuit(Turn& t, const Node& node);
void announce_ended_items(Turn& t, const Node& node);
/// A running map retries items; `dependents` are the paths of completed steps that run again.
void announce_retried_items(Turn& t, const Node& node, const fact::MessageArrived& message,
                            const std::vector<std::uint64_t>& indices, const std::vector<std::string>& dependents);
void announce_gate(Turn& t, const Node& node);
void announce_decision(Turn& t, const Node& node, const fact::MessageArrived& message, const std::string& prompt);
void announce_timed_out_gate(Turn& t, const Node& node, OnTimeout effect);
void announce_timer(Turn& t, const Node& node);
void announce_listening(Turn& t, const Node& node);
void announce_signal(Turn& t, const fact::MessageArrived& message);
void announce_consumed_signal(Turn& t, const Node& node, const std::string& signal);
void announce_unused_signal(Turn& t, const std::string& signal, const std::string& why);
void announce_refused_message(Turn& t, const std::string& id, const std::string& why);
void announce_entry(Turn& t, const recorded::EntryAdded& entry);
void announce_cancel_request(Turn& t, const fact::MessageArrived& message);
/// The run is being cancelled or interrupted.
void announce_hold(Turn& t);
void announce_ended_run(Turn& t);

// scopes.cpp: which step runs next.
void enter(Turn& t, Scope& scope);
void consider(Turn& t, Node& node);
void release(Turn& t, Node& node);
void check_scope(Turn& t, Scope& scope);
void kick(Turn& t);
/// Returns whether steps of this scope may start now.
[[nodiscard]] bool may_start(const Turn& t, const Scope& scope);
[[nodiscard]] bool over_budget(const State& s);
/// Returns whether an attempt of this step may start now.
[[nodiscard]] bool may_launch(const Turn& t, const Node& node);
/// Requests outputs that these references need. Returns whether all are in memory.
[[nodiscard]] bool outputs_ready(Turn& t, const Scope& scope, std::span<const Expression::Reference> references,
                                 Node* waiter);
[[nodiscard]] bool nodes_ready(Turn& t, const std::vector<NodeId>& missing, NodeId waiter);
/// Returns the nodes of a scope whose outputs are not in memory.
[[nodiscard]] std::vector<NodeId> unloaded(const State& s, const Scope& scope);

// settling.cpp: how a step ends.
struct Settled {
  StepStatus status = StepStatus::completed;
  StepReason reason = StepReason::none;
  std::string detail = {};
  std::string error = {};
  bool retryable = true;
  Json output = {};
  std::uint64_t output_of = 0;
  bool no_output = false;
  std::uint32_t start = 0;
  Report report = {};
  std::uint64_t ms = 0;
  std::string cached_from = {};
};
void settle(Turn& t, Node& node, Settled how);
void complete(Turn& t, Node& node, Json output, std::uint64_t output_of = 0);
/// The last attempt failed: runs `on_failure`, then settles.
void fail_step(Turn& t, Node& node, std::string error, bool retryable, StepReason reason = StepReason::none,
               Json output = {});
void begin_aside(Turn& t, Node& node, Aside aside);
void aside_ended(Turn& t, Node& node, Scope& scope);
/// Ends everything under way in the node. With fail_fast and deadline it settles; otherwise it can go on at a resume.
void stop_node(Turn& t, Node& node, Stop why);
void stop_scope(Turn& t, Scope& scope, Stop why);
/// The node's own work has stopped because of `node.stop`.
void stopped(Turn& t, Node& node);

// attempts.cpp
void begin_attempts(Turn& t, Node& node);
void want_attempt(Turn& t, Node& node);
/// Takes back a start that was not emitted yet.
void postpone(Turn& t, Node& node);
void pump(Turn& t);
void leave_queue(Turn& t, Node& node);
[[nodiscard]] RetrySettings retry_of(const Node& node);
/// Says which limit of time has passed: that of one attempt, or of all together.
[[nodiscard]] std::string timeout_text(const Node& node, bool total);
/// Returns the time until the next attempt; nothing if there is none.
[[nodiscard]] std::optional<Milliseconds> next_attempt_in(const Turn& t, const Node& node, const std::string& error,
                                                          int exit_code, std::optional<Milliseconds> retry_after);
void pause_for_machine(Turn& t, Node& node, const std::string& error);
void arm_total_timeout(Turn& t, Node& node);

// loops.cpp, maps.cpp, children.cpp, waits.cpp, ending.cpp, saving.cpp
void begin_loop(Turn& t, Node& node);
/// An output of the iteration before is in memory.
void previous_loaded(Turn& t, Node& node, const Json& output);
void iteration_ended(Turn& t, Node& node, Scope& scope);
void begin_map(Turn& t, Node& node);
void start_items(Turn& t, Node& node);
void item_ended(Turn& t, Node& node, Scope& scope);
void reduce_ended(Turn& t, Node& node, Scope& scope);
void begin_child(Turn& t, Node& node);
void begin_gate(Turn& t, Node& node);
void decide(Turn& t, const fact::MessageArrived& m);
void refuse_lost_decisions(Turn& t);
void begin_sleep(Turn& t, Node& node);
/// Returns whether the step waits, and its deadline had passed at this time.
[[nodiscard]] bool is_late(const Node& node, Timestamp sent);
void begin_listening(Turn& t, Node& node);
/// The time of a sleep, gate or signal is over.
void wait_over(Turn& t, Node& node);
void arm_deadline(Turn& t, Node& node);
[[nodiscard]] Result<std::string> gate_binding(const State& s, const Node& node, std::string& prompt);
void run_scope_ended(Turn& t, Scope& scope);
void check_run(Turn& t);
void hold_run(Turn& t, Hold hold, std::string why);
void refuse_run(Turn& t, Refusal refusal, std::string why);
void start_run(Turn& t);
/// Sends a batch unless one is in flight. With `at_once` it does not wait for other results.
void save_if_needed(Turn& t, bool at_once);
void retry_save(Turn& t);
void flush_deferred(Turn& t);
/// Returns whether the end of a stage must be durable before anything else happens.
[[nodiscard]] bool is_held_up(const State& s);
/// Returns whether everything recorded is durable, or will never be.
[[nodiscard]] bool all_durable(const State& s);

// One function per fact.
void handle(Turn& t, const fact::RunBegan& f);
void handle(Turn& t, const fact::RunResumed& f);
void handle(Turn& t, const fact::AttemptLeft& f);
void handle(Turn& t, const fact::AttemptStarted& f);
void handle(Turn& t, const fact::AttemptReported& f);
void handle(Turn& t, const fact::AttemptEnded& f);
void handle(Turn& t, const fact::AttemptNotStarted& f);
void handle(Turn& t, const fact::AttemptLost& f);
void handle(Turn& t, const fact::TimerDue& f);
void handle(Turn& t, const fact::MessageArrived& f);
void handle(Turn& t, const fact::Interrupted& f);
void handle(Turn& t, const fact::CancelWanted& f);
void handle(Turn& t, const fact::RunRefused& f);
void handle(Turn& t, const fact::CheckpointWanted& f);
void handle(Turn& t, const fact::SaveDurable& f);
void handle(Turn& t, const fact::SaveFailed& f);
void handle(Turn& t, const fact::ChildOpened& f);
void handle(Turn& t, const fact::ChildNotOpened& f);
void handle(Turn& t, const fact::ChildReported& f);
void handle(Turn& t, const fact::ChildWoken& f);
void handle(Turn& t, const fact::ChildEnded& f);
void handle(Turn& t, const fact::ItemsLoaded& f);
void handle(Turn& t, const fact::ItemLoaded& f);
void handle(Turn& t, const fact::FinishedLoaded& f);
void handle(Turn& t, const fact::OutputLoaded& f);
void handle(Turn& t, const fact::PermitsGranted& f);
void handle(Turn& t, const fact::CacheAnswered& f);
void handle(Turn& t, const fact::InboxRead& f);
void handle(Turn& t, const fact::ItemsMerged& f);
void handle(Turn& t, const fact::AnswerPostponed& f);
void handle(Turn& t, const fact::PauseRequested& f);

}  // namespace pawl::machine
