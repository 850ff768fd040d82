// Everything that `show` tells about a run that a workflow made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/workflow.hpp"
#include "service/run_status.hpp"

namespace pawl {

struct ReportedStep {
  std::string path;
  StepRecord record;  // `pending` where it has not begun
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

struct RunReport {
  RunInfo info;
  CheckpointInfo latest;
  StandingRun standing;
  std::optional<Workflow> workflow;  // as recorded, where it can still be read
  std::vector<ReportedStep> steps;   // in the order of the workflow, inner ones after their outer one
  std::vector<WaitingFor> waiting_for;
};

enum class Detail : std::uint8_t {
  state,   // what stands in the newest state
  events,  // and inner steps of finished iterations and items, which stand in events only
};

/// Fails with not_a_workflow_run where the run was made otherwise.
[[nodiscard]] Result<RunReport> report_run(Store& store, const RunId& id, Detail detail);

/// The workflow that the run goes by: as recorded in its events. Nothing where it can't be had or read.
[[nodiscard]] std::optional<Workflow> recorded_workflow(Store& store, const RunId& id, const RunState& state);

/// The output of a step, wherever it stands; null where it has none.
[[nodiscard]] Result<Json> step_output(Store& store, const RunId& id, const StepRecord& record);

/// How long a step took, or has taken until `now`, in milliseconds.
[[nodiscard]] std::int64_t step_ms(const StepRecord& record, Timestamp now);

/// Something that a person can do next; the caller puts it into words.
struct NextAction {
  Advice advice = Advice::none;
  Subject subject = {};
};
/// The most urgent first.
[[nodiscard]] std::vector<NextAction> next_actions(const RunReport& report);

/// The newest events, oldest of them first.
[[nodiscard]] Result<std::vector<Event>> newest_events(Store& store, const RunReport& report, std::size_t limit);

}  // namespace pawl
