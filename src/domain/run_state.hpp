// The progress of a workflow run. As JSON, this is the state of each of its checkpoints.
//
// It contains only steps that have started. Outputs above kOutputInline and the results of map items are stored in
// events that the state refers to, so that it stays small.
#pragma once

#include <map>
#include <optional>
#include <pawl/types.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/usage.hpp"
#include "text/index_ranges.hpp"

namespace pawl {

inline constexpr std::size_t kOutputInline = 4096;  // bytes of JSON

enum class StepStatus : std::uint8_t {
  pending,
  running,
  waiting,  // for a person, a signal, a timer or a budget
  completed,
  failed,
  skipped,
  interrupted,
  cancelled,
};
[[nodiscard]] std::string_view to_text(StepStatus status);
[[nodiscard]] std::optional<StepStatus> parse_step_status(std::string_view text);
/// Returns whether nothing more will happen to the step in this execution.
[[nodiscard]] constexpr bool is_settled(StepStatus status) {
  return status == StepStatus::completed || status == StepStatus::failed || status == StepStatus::skipped ||
         status == StepStatus::cancelled;
}

enum class RunStatus : std::uint8_t { running, waiting, completed, failed, interrupted, cancelled };
[[nodiscard]] std::string_view to_text(RunStatus status);
[[nodiscard]] std::optional<RunStatus> parse_run_status(std::string_view text);
/// Returns the type of the event that an execution ends with in this status; `running` has none.
[[nodiscard]] const char* event_type_of(RunStatus status);
/// The reverse; returns nothing for any other type of event.
[[nodiscard]] std::optional<RunStatus> status_of_event(std::string_view type);

/// The progress of a map.
struct MapProgress {
  std::uint64_t total = 0;
  std::string items_hash;    // of all items, in order
  IndexRanges done;          // items with a final result, failed ones included
  IndexRanges failed;        // those of `done` that failed: the dead-letter queue
  std::uint32_t trips = 0;   // of the circuit breaker
  IndexRanges dropped = {};  // those of `done` that failed and were removed from the dead-letter queue

  [[nodiscard]] std::uint64_t failed_count() const { return failed.count() + dropped.count(); }
  [[nodiscard]] std::uint64_t succeeded_count() const { return done.count() - std::min(done.count(), failed_count()); }
  bool operator==(const MapProgress&) const = default;
};

/// Why a step has its status, if the status alone does not say it.
enum class StepReason : std::uint8_t {
  none,
  approval,    // waits for a person; the detail is the gate's prompt
  signal,      // waits for the signal that the detail names
  timer,       // sleeps until `due`
  child_run,   // waits for `child_run`
  breakpoint,  // waits before the step for a resume
  rejected,    // failed: a person rejected it; the detail is the gate's prompt
  skipped,     // the detail says why
  timed_out,   // failed: a deadline passed
  exhausted,   // failed: a loop reached its maximum
  stopped,     // cancelled: another step failed (fail_fast), or a deadline of an outer step passed
};
[[nodiscard]] std::string_view to_text(StepReason reason);
[[nodiscard]] std::optional<StepReason> parse_step_reason(std::string_view text);

/// Steps that run beside the work of a step.
enum class Aside : std::uint8_t { none, on_failure, low_confidence };

struct StepRecord {
  StepStatus status = StepStatus::pending;
  std::uint32_t attempts = 0;      // finished attempts; interrupted ones don't count
  std::uint32_t starts = 0;        // all attempts, including interrupted ones
  std::uint32_t spent = 0;         // those of `attempts` that count against the current budget of attempts
  Json output;                     // null, or the value if it is small
  std::uint64_t output_event = 0;  // otherwise the event that contains it
  std::string error;
  int exit_code = 0;
  bool retryable = true;
  Timestamp started;
  Timestamp ended;
  std::uint64_t duration_ms = 0;  // of its attempts, without backoff
  std::optional<double> confidence;
  StepReason reason = StepReason::none;
  std::string detail;           // of the reason, see StepReason: text of the workflow, never used in comparisons
  std::string definition;       // the step's definition_hash when it settled
  Timestamp due;                // when a sleep or wait ends
  std::string binding;          // of a gate: the hash that a decision must contain
  Json partial;                 // what an unfinished attempt reported for the next attempt
  std::uint32_t decisions = 0;  // of an attempt whose end is not recorded yet: those that were saved separately
  std::uint32_t iteration = 0;  // of a loop, from 1
  std::optional<MapProgress> map;
  std::string child_run;
  Usage usage;
  // Needed only to continue:
  Aside aside = Aside::none;
  Json previous = {};                // of a loop, by ID: {"output": value, "status": text}, or "output_event" instead
  bool passed_breakpoint = false;    // a resume went past the breakpoint before it
  bool no_output = false;            // of a completed map: it was rescued, or its deadline passed
  std::int64_t driven_from_us = -1;  // when it started, in time that a process drove the run; -1: it has not
  std::uint32_t counted_start = 0;   // the attempt whose usage is in `counted`; those before it are counted completely
  Usage counted = {};
  std::uint64_t child_number = 0;     // distinguishes the children of one step
  std::uint32_t child_rollbacks = 0;  // of the run, when the child began
  std::string child_with = {};        // hash of its variables
  Usage child_usage = {};             // reported by the child until now

  void set_reason(StepReason why, std::string about = {});
  void clear_reason() { set_reason(StepReason::none); }
  /// Returns the reason for people; empty for none. Code must not interpret it.
  [[nodiscard]] std::string reason_text() const;
  [[nodiscard]] Json to_json() const;
  [[nodiscard]] static Result<StepRecord> from_json(const Json& value);
  bool operator==(const StepRecord&) const = default;
};

struct AddedSteps {
  std::string after;  // path of the step that added them
  Json steps;
};

struct RunState {
  std::string workflow_name;
  std::string workflow_file;
  std::string workflow_hash;
  std::string working_dir;
  Json folder;  // facts that were recorded about the working directory
  Json vars = Json::object();
  RunStatus status = RunStatus::running;
  std::string error;        // of a failed run
  std::string origin;       // of a run that was not executed since a fork or a rollback: which one, for people
  std::string parent_run;   // of a child workflow
  std::uint64_t depth = 0;  // number of runs around it
  std::string parent_step;
  std::string parent_key;  // identifies it among the children of the step; empty in older ones
  std::vector<std::pair<std::string, StepRecord>> steps;  // by path, in the order in which they started
  Usage usage;
  Usage inherited;                    // the part of `usage` that the run took over from the run it was forked from
  std::uint64_t spent_ms = 0;         // in attempts of steps, over all executions
  std::uint64_t completed_steps = 0;  // number of steps and items completed, over all executions
  std::optional<double> confidence;
  std::uint32_t resumes = 0;
  std::uint32_t automatic_resumes = 0;  // since a step completed or a person resumed the run
  std::uint32_t rollbacks = 0;          // a decision made before the last rollback no longer counts
  std::vector<std::string> consumed;    // messages of the inbox whose effect is already in this state
  std::vector<std::string> signals;     // early ones, kept until a step waits for them: compact JSON
  std::vector<AddedSteps> added;
  Json outputs;                                 // of a completed run: its result for the parent
  Json budget;                                  // raised at a resume; null: the workflow's
  Budget limits;                                // those in force; none of older states
  std::map<std::string, std::uint64_t> masked;  // how many secrets were masked, by kind
  std::set<std::string> masked_keys;            // keys whose values are not saved
  // Needed only to continue:
  std::uint64_t events = 0;                     // number of events that the state includes
  std::uint64_t records = 0;                    // number of records of the machine, over all executions
  IndexRanges lost = {};                        // numbers of events that rollbacks took back
  std::map<std::string, std::uint32_t> starts;  // attempts of steps that no longer have a record, by path
  std::set<std::string> phases;                 // stages and layers that are completed
  std::optional<std::string> cancelled;         // why the run must end as cancelled
  std::uint32_t finally_number = 0;             // of the last `finally`
  std::vector<std::string> reached_gates = {};  // that a changed workflow must ask again
  bool worked_since_finally = false;
  std::int64_t driven_us = 0;  // how long processes drove the run
  Timestamp last_at;           // of the newest record

  [[nodiscard]] const StepRecord* find(std::string_view path) const;
  [[nodiscard]] Json to_json() const;
  /// Fails with not_a_workflow_run for other JSON, and with state_reconstruction_failed if a part is invalid.
  [[nodiscard]] static Result<RunState> from_json(const Json& value);
};

/// Returns the position of the run as checkpoints name it: before_step, completed, failed, interrupted or waiting.
[[nodiscard]] std::string_view position_text(const RunState& state);

}  // namespace pawl
