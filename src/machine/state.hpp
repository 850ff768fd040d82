// The state of a run: a tree of nodes and scopes, as values.
//
// A node is one step within one scope. A scope is a list of steps that run together: the workflow's own, an iteration
// of a loop, an item of a map, the steps of `on_failure`. Nodes and scopes refer to each other by number, so a state
// can be copied. An item that has not started has neither; a finished one keeps them only if it failed.
//
// What is under `progress` changes only by applying records, and is part of each snapshot (see snapshot.hpp). The rest
// belongs to this execution and is empty after a resume.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/run_state.hpp"
#include "domain/workflow.hpp"
#include "machine/commands.hpp"
#include "machine/facts.hpp"
#include "machine/records.hpp"

namespace pawl::machine {

/// What the machine knows about a run from outside. Everything here is constant and free of side effects.
struct Definition {
  std::shared_ptr<const Workflow> workflow = {};
  std::string run_id = {};
  std::string run_uuid = {};
  Json vars = Json::object();
  std::map<std::string, std::string, std::less<>> environment = {};
  /// Parses steps that a step adds. May be empty: no step can add any.
  std::function<Result<Steps>(const Json& steps, const Steps& siblings, std::size_t after)> parse_added = {};
  std::uint32_t parallel_max = 1024;  // parallel attempts
  bool stays_while_waiting = false;   // the process keeps waiting for people and signals
  bool asks_a_person = false;         // somebody is there to answer gates, and says so where they will not
};

/// What is under way in a node in this execution.
enum class Activity : std::uint8_t {
  idle,
  loading,          // an output or the items are being loaded
  looking_up,       // in the cache
  queued,           // its attempt waits for a free place
  acquiring,        // waits for its share of a limit
  starting,         // its attempt starts when the records before it are durable
  running,          // an attempt is running
  stopping,         // the attempt was told to stop
  backoff,          // waits for its next attempt
  machine_backoff,  // the same, because the machine could not start it
  sleeping,
  asking,     // for approval
  listening,  // for a signal
  at_breakpoint,
  opening_child,
  child_running,
  child_waiting,  // for a person or a signal
  child_paused,   // only a resume lets it continue
  child_stopping,
  cooling_down,  // the circuit breaker of a map is open
  merging,       // the worktrees of its items are being merged
  inner,         // its inner steps are running
};
inline constexpr std::size_t kActivities = static_cast<std::size_t>(Activity::inner) + 1;

enum class ScopeKind : std::uint8_t { top, iteration, item, reduce, on_failure, low_confidence, run_failure, finally };

/// Why a node was told to stop.
enum class Stop : std::uint8_t { none, interrupt, cancel, timeout, total_timeout, fail_fast, deadline };

/// A map in this execution. Its progress is in its record.
struct MapState {
  std::shared_ptr<const Json> items = {};  // an array; or null if they are loaded one by one
  std::shared_ptr<const std::vector<std::uint64_t>> item_hashes = {};
  std::string items_hash = {};
  std::uint64_t total = 0;
  std::uint64_t next = 0;
  std::set<std::uint64_t> running = {};
  std::set<std::uint64_t> loading = {};
  std::uint32_t failures_in_a_row = 0;
  bool stopped = false;          // no item starts any more
  bool too_many_failed = false;  // the reason for that
  bool open = false;             // the circuit breaker
  bool probing = false;
  bool merged = false;  // the worktrees of its items
  bool reducing = false;
  std::string error = {};
};

struct Node {
  NodeId id = NodeId::none;
  ScopeId scope = ScopeId::none;
  const Step* step = nullptr;
  std::size_t index = 0;
  std::string path = {};

  // Progress.
  StepRecord record = {};
  std::map<std::pair<ScopeKind, std::uint64_t>, ScopeId> inner = {};

  // This execution.
  std::shared_ptr<const Step> own = {};  // `step`, if it is not the one of the list: with its computed settings
  std::shared_ptr<MapState> map = {};
  Activity activity = Activity::idle;
  bool active = false;  // begun and not settled
  std::size_t blockers = 0;
  std::vector<std::size_t> dependents = {};
  bool seen_on_failure = false;
  Stop stop = Stop::none;
  std::shared_ptr<const Json> output = {};  // cache of an output that is in a record
  bool output_requested = false;
  std::string cached_from = {};   // RUN@SEQ that the output comes from, if it was cached
  std::string output_error = {};  // why it can't be used
  std::map<std::string, std::shared_ptr<const Json>, std::less<>> previous = {};  // cache of outputs in records, by ID
  TimerId wait_timer = TimerId::none;
  TimerId attempt_timer = TimerId::none;
  TimerId total_timer = TimerId::none;
  TimerId deadline_timer = TimerId::none;
  std::uint32_t machine_failures = 0;
  bool holds_permits = false;
  bool looked_up = false;   // in the cache, without a result
  bool child_sent = false;  // StartChild was emitted
  bool deadline_passed = false;
  bool pause_sent = false;
  std::string cache_key = {};
  bool touched = false;  // its record changed, see take_changes()
  bool taken = false;    // take_changes() has returned it
};

struct Scope {
  ScopeId id = ScopeId::none;
  ScopeId outer = ScopeId::none;
  NodeId owner = NodeId::none;  // none: the run
  ScopeKind kind = ScopeKind::top;
  std::uint64_t index = 0;  // of an item, or the number of an iteration
  std::string prefix = {};
  std::shared_ptr<const Steps> steps = {};
  std::vector<NodeId> nodes = {};
  std::shared_ptr<const Json> item = {};
  std::uint64_t item_hash = 0;

  // Progress, counted from the nodes.
  std::size_t unsettled = 0;
  bool failed = false;
  bool rejected = false;
  std::string error = {};

  // This execution.
  bool entered = false;
  bool ended = false;
  bool stopping = false;  // nothing starts in it
  std::size_t active = 0;
};

enum class Hold : std::uint8_t {
  none,
  interrupt,
  cancel,
  timeout,  // of the workflow: a failure
  machine,  // trouble of the machine or of the storage lasts too long
  refused,  // it must not continue
};

/// Returns whether only what runs at the end of every run still runs.
[[nodiscard]] constexpr bool is_ending(Hold hold) { return hold == Hold::cancel || hold == Hold::timeout; }

struct TimerUse {
  TimerKind kind = TimerKind::backoff;
  NodeId node = NodeId::none;
  Timestamp due = {};
};

struct Deferred {
  std::uint64_t after = 0;  // number of the record that must be durable
  Command command;
};

struct Saving {
  std::vector<Record> unsaved = {};
  bool urgent = false;  // not all of them are of map items
  std::vector<Label> labels = {};
  std::shared_ptr<const SaveBatch> in_flight = {};
  std::uint64_t durable = 0;  // number of records
  std::uint64_t batches = 0;
  std::uint32_t failures = 0;
  bool waits = false;            // the batch in flight failed and waits for its next attempt
  bool memory_only = false;      // the workflow continues without storage
  bool given_up = false;         // no other save is tried
  bool wanted = false;           // a checkpoint was asked for
  std::uint64_t hold_until = 0;  // nothing starts before this record is durable: the end of a stage is saved apart
  TimerId soon = TimerId::none;
  std::deque<Deferred> deferred = {};
};

/// A signal that no step waited for yet.
struct EarlySignal {
  std::string name = {};
  Json payload = {};
  Timestamp sent = {};
};

struct State {
  std::shared_ptr<const Definition> definition = {};

  // Progress.
  RunStatus status = RunStatus::running;
  std::string error = {};
  std::uint64_t records = 0;
  Usage usage = {};
  std::uint64_t completed_steps = 0;
  std::uint64_t spent_ms = 0;
  std::optional<double> confidence = {};
  std::uint32_t resumes = 0;
  std::uint32_t automatic_resumes = 0;
  std::uint32_t rollbacks = 0;
  std::set<std::string> taken = {};                                 // messages whose effect is in this state
  std::unordered_map<std::string, std::uint32_t> starts_used = {};  // by path, of attempts before a rollback
  std::deque<EarlySignal> signals = {};
  std::vector<AddedSteps> added = {};
  Json outputs = {};
  Json budget = {};
  bool changes_accepted = false;
  bool cancel_requested = false;
  std::string cancel_why = {};
  std::uint32_t finally_number = 0;
  std::set<std::string> reached_gates = {};  // paths of gates that a changed workflow must ask again
  bool worked_since_finally = false;
  std::set<std::string> phases = {};  // stages and layers that are completed
  std::int64_t driven_us = 0;
  Timestamp last_at = {};
  std::unordered_map<NodeId, Node> nodes = {};
  std::unordered_map<ScopeId, Scope> scopes = {};
  std::unordered_map<std::string, NodeId> by_path = {};
  std::unordered_map<std::string, ScopeId> by_prefix = {};
  ScopeId top = ScopeId::none;
  std::uint32_t next_node = 1;
  std::uint32_t next_scope = 1;

  // This execution.
  std::uint64_t base = 0;  // numbers of outputs up to this one are those of events, see restore()
  std::vector<NodeId> touched = {};
  std::vector<std::string> dropped = {};  // paths of nodes that take_changes() had returned
  bool began = false;
  Hold hold = Hold::none;
  std::string hold_why = {};
  Refusal refusal = Refusal::items;
  std::string machine_error = {};
  std::set<NodeId> postponed_gates = {};  // that are asked for, but get no answer in this execution
  bool pause_requested = false;
  std::string breakpoint_after = {};
  bool budget_told = false;
  ScopeId run_failure = ScopeId::none;
  ScopeId finally = ScopeId::none;
  struct Phase {
    std::size_t steps = 0;
    std::size_t unsettled = 0;
  };
  std::map<std::string, Phase, std::less<>> phase_steps = {};  // of stages and layers
  bool top_ended = false;
  bool run_failure_ended = false;
  bool finally_ended = false;
  enum class Inbox : std::uint8_t { open, reading, read, sealing, sealed };
  Inbox inbox = Inbox::open;
  bool finishing = false;
  bool finished = false;
  std::array<std::size_t, kActivities> counts = {};
  std::deque<NodeId> queue = {};
  std::unordered_map<TimerId, TimerUse> timers = {};
  std::uint64_t next_timer = 1;
  Saving saving = {};
  std::map<NodeId, std::vector<fact::MessageArrived>> early_decisions = {};  // for gates that do not ask again yet
  std::set<NodeId> loading = {};  // steps and owners of iterations that wait for an output

  [[nodiscard]] const Workflow& workflow() const { return *definition->workflow; }
  [[nodiscard]] std::size_t count(Activity activity) const { return counts[static_cast<std::size_t>(activity)]; }
  /// Returns the number of attempts that run or are about to start.
  [[nodiscard]] std::size_t busy_attempts() const {
    return count(Activity::acquiring) + count(Activity::starting) + count(Activity::running) +
           count(Activity::stopping);
  }
};

[[nodiscard]] Node* find_node(State& s, NodeId id);
[[nodiscard]] const Node* find_node(const State& s, NodeId id);
[[nodiscard]] Node* find_node(State& s, std::string_view path);
[[nodiscard]] const Node* find_node(const State& s, std::string_view path);
[[nodiscard]] Node& node_at(State& s, NodeId id);
[[nodiscard]] const Node& node_at(const State& s, NodeId id);
[[nodiscard]] Scope& scope_at(State& s, ScopeId id);
[[nodiscard]] const Scope& scope_at(const State& s, ScopeId id);

/// Returns the inner scope, which is created if it is missing. `owner` may be null for scopes of the run.
[[nodiscard]] Scope& open_scope(State& s, Node* owner, ScopeKind kind, std::uint64_t index);
[[nodiscard]] Scope* find_scope(State& s, const Node& owner, ScopeKind kind, std::uint64_t index);
/// Notes that the record of the node changes.
void touch(State& s, Node& node);
/// Counts a settled step in its scope.
void settle_in_scope(State& s, Node& node);
void recount(State& s, Scope& scope);
/// Drops a scope whose steps will run again. Their attempts keep different numbers.
void forget_scope(State& s, ScopeId id);
/// Makes the step one that has not started. Its cost remains counted.
void reset(State& s, Node& node);
/// Removes the scope and everything inside it.
void drop_scope(State& s, ScopeId id);
void drop_inner(State& s, Node& node);
/// Returns the node at a path; creates the scopes around it if they are missing. Null if the workflow has no such step.
[[nodiscard]] Node* resolve(State& s, std::string_view path);
/// Returns the node if it can still run, now or after a resume: nothing around it is completed.
[[nodiscard]] Node* resolve_open(State& s, std::string_view path);
/// Inserts steps into the workflow's own list. Steps after `index` wait for them as well.
[[nodiscard]] Result<void> grow(State& s, std::size_t index, const Json& steps);
/// Fails as grow() would.
[[nodiscard]] Result<void> can_grow(const State& s, std::size_t index, const Json& steps);

[[nodiscard]] bool is_settled(const Node& node);
/// Returns whether the step's failure fails its scope.
[[nodiscard]] bool fails_scope(const Node& node);
/// Returns the name of the stage or layer that the step belongs to, as in State::phases.
[[nodiscard]] std::string phase_of(const State& s, const Step& step);
[[nodiscard]] bool overrides_skipping(const Step& step);
/// Returns whether the scope is, or is inside, a scope of this kind.
[[nodiscard]] bool is_within(const State& s, const Scope& scope, ScopeKind kind);
/// Returns whether the work consists of other steps.
[[nodiscard]] bool contains_steps(const Step& step);
/// Returns whether the step has attempts of its own.
[[nodiscard]] bool has_attempts(const Step& step);
[[nodiscard]] std::uint64_t hash_of_item(const Json& item);
[[nodiscard]] std::uint64_t hash_of_item_text(std::string_view compact_json);

template <class Visit>
void for_each_node(State& s, ScopeId id, const Visit& visit) {
  const auto found = s.scopes.find(id);
  if (found == s.scopes.end()) return;
  for (const NodeId node : found->second.nodes) {
    Node& at = node_at(s, node);
    visit(at);
    for (const auto& [key, inner] : at.inner) for_each_node(s, inner, visit);
  }
}

}  // namespace pawl::machine
