#include "service/run_details.hpp"

namespace pawl {
namespace {

/// Returns the newest `limit` checkpoints, oldest first. Pruned checkpoints leave gaps.
Result<std::vector<CheckpointInfo>> newest_checkpoints(Store& store, const RunId& run, std::size_t limit) {
  PAWL_TRY_ASSIGN(const RunInfo info, store.run(run));
  for (std::uint64_t span = limit;; span *= 2) {
    const std::uint64_t after = info.latest.value > span ? info.latest.value - span : 0;
    PAWL_TRY_ASSIGN(std::vector<CheckpointInfo> found, store.checkpoints(run, Sequence{after}, span));
    if (found.size() > limit) found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(limit));
    if (found.size() == limit || after == 0) return found;
  }
}

Result<WorkflowRunDetails> workflow_run_details(Store& store, const RunId& run, const DetailOptions& options) {
  PAWL_TRY_ASSIGN(RunReport report, report_run(store, run, options.detail));
  WorkflowRunDetails details{.report = std::move(report), .progress = {}, .lineage = {}, .outputs = {}, .events = {}};
  const std::optional<Workflow>& workflow = details.report.workflow;
  details.progress = progress_of(details.report.standing.state, workflow ? workflow->steps.size() : 0);
  details.lineage = lineage_of(store, details.report.info);
  if (options.outputs == DetailOptions::Outputs::read) {
    for (const ReportedStep& step : details.report.steps) {
      PAWL_TRY_ASSIGN(Json output, step_output(store, run, step.record));
      details.outputs.push_back(std::move(output));
    }
  }
  if (options.events.limit > 0) {
    PAWL_TRY_ASSIGN(details.events, some_events(store, details.report, options.events));
  }
  return details;
}

Result<StepsRunDetails> steps_run_details(Store& store, RunInfo info) {
  PAWL_TRY_ASSIGN(StepsStatus steps, steps_status(store, info.id));
  PAWL_TRY_ASSIGN(CheckpointInfo latest, store.checkpoint(info.id, {}));
  Lineage lineage = lineage_of(store, info);
  return StepsRunDetails{std::move(info), std::move(latest), std::move(lineage), std::move(steps)};
}

Result<PlainRunDetails> plain_run_details(Store& store, RunInfo info, std::size_t checkpoints_max) {
  Result<CheckpointInfo> latest = store.checkpoint(info.id, {});
  if (!latest) return fail(with_way_out(latest.error(), info.id));
  Lineage lineage = lineage_of(store, info);
  PlainRunDetails details{std::move(info), std::move(*latest), std::move(lineage), {}};
  if (checkpoints_max > 0) {
    const std::uint64_t last = details.latest.sequence.value;
    const Sequence after{last > checkpoints_max ? last - checkpoints_max : 0};
    PAWL_TRY_ASSIGN(details.newest, store.checkpoints(details.info.id, after, checkpoints_max));
  }
  return details;
}

}  // namespace

Result<CheckpointDetails> checkpoint_details(Store& store, const Address& address) {
  PAWL_TRY_ASSIGN(CheckpointInfo info, store.checkpoint(address.run, address.which));
  PAWL_TRY_ASSIGN(CheckpointDependents dependents, find_dependents(store, address.run, info));
  return CheckpointDetails{std::move(info), std::move(dependents)};
}

Result<CheckpointPage> list_checkpoints(Store& store, const RunId& run, const CheckpointsRequest& request) {
  CheckpointPage page;
  PAWL_TRY_ASSIGN(page.checkpoints, request.after ? store.checkpoints(run, *request.after, request.limit + 1)
                                                  : newest_checkpoints(store, run, request.limit + 1));
  const bool more = page.checkpoints.size() > request.limit;
  page.more_after = more && request.after;
  page.more_before = more && !request.after;
  if (page.more_after) page.checkpoints.resize(request.limit);
  if (page.more_before) page.checkpoints.erase(page.checkpoints.begin());
  return page;
}

Result<RunDetails> run_details(Store& store, const RunId& run, const DetailOptions& options) {
  PAWL_TRY_ASSIGN(RunInfo info, store.run(run));
  if (!info.workflow.empty()) {  // otherwise the state, which may be large, need not be read
    Result<WorkflowRunDetails> details = workflow_run_details(store, run, options);
    if (details) return RunDetails(std::move(*details));
    if (details.error().code != Code::not_a_workflow_run) return fail(details.error());
  }
  const Result<bool> by_steps = created_by_steps(store, run);
  const bool no_key =
      !by_steps && (by_steps.error().code == Code::key_missing || by_steps.error().code == Code::key_wrong);
  if (no_key) return fail(by_steps.error());  // what is known without the key would be misleading
  if (by_steps.value_or(false)) {
    Result<StepsRunDetails> details = steps_run_details(store, info);
    if (details) return RunDetails(std::move(*details));
    if (details.error().code != Code::not_a_steps_run) return fail(details.error());
  }
  PAWL_TRY_ASSIGN(PlainRunDetails details, plain_run_details(store, std::move(info), options.checkpoints_max));
  return RunDetails(std::move(details));
}

}  // namespace pawl
