#include "service/run_summary.hpp"

#include "engine/open_run.hpp"
#include "service/run_report.hpp"
#include "service/run_status.hpp"

namespace pawl {

RunProgress progress_of(const RunState& state, std::size_t steps_of_workflow) {
  RunProgress progress{.done = 0, .total = steps_of_workflow};
  for (const AddedSteps& added : state.added) progress.total += added.steps.is_array() ? added.steps.size() : 0;
  for (const auto& [path, record] : state.steps) {
    const bool is_inner = path.find_first_of(".[") != std::string::npos;
    if (!is_inner && (record.status == StepStatus::completed || record.status == StepStatus::skipped)) ++progress.done;
  }
  return progress;
}

RunSummary RunSummaries::of(const RunInfo& run) {
  RunSummary summary{.workflow_name = {}, .status = status_word(store_, run), .progress = {}, .usage = {}, .error = {}};
  if (run.workflow.empty()) return summary;
  const Result<RunState> state = load_state(store_, run.id);
  if (!state) return summary;
  auto steps = steps_.find(state->workflow_hash);
  if (steps == steps_.end()) {
    const std::optional<Workflow> workflow = recorded_workflow(store_, run.id, *state);
    steps = steps_.emplace(state->workflow_hash, workflow ? workflow->steps.size() : 0).first;
  }
  summary.progress = progress_of(*state, steps->second);
  summary.workflow_name = state->workflow_name;
  summary.usage = state->usage;
  summary.error = state->error;
  return summary;
}

}  // namespace pawl
