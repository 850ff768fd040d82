// What a workflow run has done, what it waits for, and what a person can do next.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "domain/workflow.hpp"
#include "service/run_status.hpp"

namespace pawl {

struct ReportedStep {
  std::string path;
  StepRecord record;  // `pending` if it has not started
};

/// What a waiting run waits for.
struct WaitingFor {
  enum class What : std::uint8_t { approval, signal, timer, run, budget, breakpoint };
  What what = What::approval;
  std::string step;
  std::string detail;  // the prompt, the signal, the child
  Timestamp due = {};
};
[[nodiscard]] std::string_view to_text(WaitingFor::What what);
/// Returns what a run in this state waits for, in the order in which its steps started.
[[nodiscard]] std::vector<WaitingFor> waits_of(const RunState& state, const std::optional<Workflow>& workflow);

/// Returns the limits in force.
[[nodiscard]] Budget limits_of(const RunState& state, const std::optional<Workflow>& workflow);

/// A branch with the changes of an isolated item or step that were not merged.
struct KeptBranch {
  std::string name;
  std::string step;  // the map or step
};
/// Collects the branches that events name, each once.
class KeptBranches {
 public:
  /// Ignores other events.
  void take(const Event& event);
  [[nodiscard]] const std::vector<KeptBranch>& all() const { return branches_; }

 private:
  std::vector<KeptBranch> branches_;
  std::unordered_set<std::string> names_;
};

struct RunReport {
  RunInfo info;
  CheckpointInfo latest;
  StandingRun standing;
  std::optional<Workflow> workflow;  // as recorded, if it can still be read
  std::vector<ReportedStep> steps;   // in the order of the workflow; inner steps follow their outer one
  std::int64_t paused_ms = 0;        // time before resumes, in which no process executed the run
  std::vector<WaitingFor> waiting_for;
  std::vector<KeptBranch> branches = {};  // with Detail::events, oldest first
};

enum class Detail : std::uint8_t {
  state,   // what the newest state contains
  events,  // also inner steps of finished iterations and items and kept branches, which only events contain
};

/// Fails with not_a_workflow_run for any other run.
[[nodiscard]] Result<RunReport> report_run(Store& store, const RunId& id, Detail detail);

/// Returns the current workflow of the run, as recorded in its events. Returns nothing if it can't be read or parsed.
[[nodiscard]] std::optional<Workflow> recorded_workflow(Store& store, const RunId& id, const RunState& state);

/// Returns the output of a step, wherever it is stored, or null if it has none.
[[nodiscard]] Result<Json> step_output(Store& store, const RunId& id, const StepRecord& record);

/// Returns how long a step took, or has taken until `now`, in milliseconds.
[[nodiscard]] std::int64_t step_ms(const StepRecord& record, Timestamp now);

/// Returns how long the run took, or has taken until `now` if a process executes it, in milliseconds.
[[nodiscard]] std::int64_t elapsed_ms(const RunReport& report, Timestamp now);

/// Something that a person can do next; the caller turns it into words.
struct NextAction {
  Advice advice = Advice::none;
  Subject subject = {};
};
/// Most urgent first.
[[nodiscard]] std::vector<NextAction> next_actions(const RunReport& report);

struct EventsWanted {
  std::optional<std::uint64_t> after = {};  // those after this number; none: the newest ones
  std::size_t limit = 0;
};
/// Returns the wanted events, oldest first.
[[nodiscard]] Result<std::vector<Event>> some_events(Store& store, const RunReport& report, const EventsWanted& wanted);

}  // namespace pawl
