#include "service/run_summary.hpp"

#include "engine/open_run.hpp"
#include "service/run_status.hpp"

namespace pawl {

RunProgress progress_of(const RunState& state, std::size_t steps_of_workflow) {
  RunProgress progress{.done = 0, .total = steps_of_workflow};
  for (const AddedSteps& added : state.added) progress.total += added.steps.is_array() ? added.steps.size() : 0;
  for (const auto& [path, record] : state.steps) {
    const bool is_inner = path.find_first_of(".[") != std::string::npos;
    const bool tolerated = record.status == StepStatus::failed && state.status == RunStatus::completed;
    const bool done = record.status == StepStatus::completed || record.status == StepStatus::skipped || tolerated;
    if (!is_inner && done) ++progress.done;
  }
  return progress;
}

RunProgress progress_of(const StepsStatus& steps) {
  RunProgress progress{.done = 0, .total = steps.ledger.steps.size()};
  for (const auto& [name, record] : steps.ledger.steps) {
    if (record.status == StepStatus::completed) ++progress.done;
  }
  return progress;
}

std::string error_of(const StepsStatus& steps) {
  std::string error;
  for (const auto& [name, record] : steps.ledger.steps) {
    const bool stopped = record.status == StepStatus::failed || record.status == StepStatus::interrupted;
    if (stopped && to_text(record.status) == to_text(steps.status)) error = fmt::format("{}: {}", name, record.error);
  }
  return error;
}

RunSummary RunSummaries::of(const RunInfo& run) {
  RunSummary summary;
  summary.status = status_word(store_, run);
  if (run.workflow.empty()) {
    add_steps(run, summary);
  } else {
    add_workflow(run, summary);
  }
  return summary;
}

void RunSummaries::add_steps(const RunInfo& run, RunSummary& summary) {
  if (!is_steps_run(store_, run.id)) return;
  const Result<StepsStatus> steps = steps_status(store_, run.id);
  if (!steps) return;
  summary.progress = progress_of(*steps);
  summary.usage = summary.own_usage = steps->usage;
  summary.error = error_of(*steps);
}

void RunSummaries::add_workflow(const RunInfo& run, RunSummary& summary) {
  const Result<RunState> state = load_state(store_, run.id);
  if (!state) return;
  auto workflow = workflows_.find(state->workflow_hash);
  if (workflow == workflows_.end())
    workflow = workflows_.emplace(state->workflow_hash, recorded_workflow(store_, run.id, *state)).first;
  summary.progress = progress_of(*state, workflow->second ? workflow->second->steps.size() : 0);
  summary.workflow_name = state->workflow_name;
  summary.usage = state->usage;
  if (state->parent_run.empty()) summary.own_usage = state->inherited.until(state->usage);
  summary.error = state->error;
  summary.waiting_for = waits_of(*state, workflow->second);
  for (const auto& [path, record] : state->steps) {
    if (record.map) summary.failed_items += record.map->failed_count();
  }
}

}  // namespace pawl
