#include "engine/run_or_resume.hpp"

#include "engine/resume_facts.hpp"

namespace pawl {
namespace {

/// Older versions recorded every value of --var as text.
bool is_same(const Json& recorded, const Json& value) {
  return recorded == value || (recorded.is_string() && recorded == text_of(value));
}

/// Compares without the values of masked keys, which are not recorded, and notes those values in `masked`.
Result<void> check_same_vars(const NewRun& run, const RunState& state, KeyValues& masked) {
  const Workflow& workflow = *run.workflow;
  PAWL_TRY_ASSIGN(Json vars, resolve_vars(workflow, run.vars));
  mask_keys(vars, state.masked_keys, masked);
  std::vector<std::string> different;
  for (const auto& [name, value] : vars.items()) {
    // With a changed workflow the defaults may differ, and that is refused as a changed workflow.
    if (!run.vars.contains(name) && workflow.hash != state.workflow_hash) continue;
    if (!state.vars.contains(name) || !is_same(state.vars[name], value)) different.push_back(name);
  }
  if (different.empty()) return {};
  return fail(
      Error{Code::invalid_variable,
            fmt::format("run '{}' was started with a different value of {}", run.id.text(), joined_list(different)),
            {},
            "pass the same --var values as before, or choose another --run-id",
            0,
            Advice::show_run,
            {.run = run.id.text()}});
}

/// Returns whether no automatic resume can continue the run.
bool is_finished(const RunState& state, const Workflow& workflow) {
  if (state.status == RunStatus::completed || state.status == RunStatus::cancelled) return true;
  return state.status == RunStatus::failed && workflow.hash == state.workflow_hash &&
         plan_resume(state, {}, workflow, ResumedBy::automatic).verdict == ResumePlan::Verdict::stopped;
}

Result<RunOrResumption> continue_run(ExecutionServices& services, const NewRun& run, const RunState& state,
                                     std::uint32_t automatic_max) {
  KeyValues masked;
  PAWL_TRY(check_same_vars(run, state, masked));
  if (is_finished(state, *run.workflow)) {
    PAWL_TRY_ASSIGN(const RunInfo info, services.store.run(run.id));
    return FinishedRun{.state = state, .at = info.updated, .items = count_items(services.store, state.steps)};
  }
  for (const auto& [key, value] : masked) services.given[key] = value;
  ResumeRequest request{.id = run.id};
  request.workflow_file = run.workflow->file;
  request.by = ResumedBy::automatic;
  request.automatic_max = automatic_max;
  PAWL_TRY_ASSIGN(Resumption resumed, open_resume(services, request));
  return resumed;
}

}  // namespace

Result<RunOrResumption> open_or_resume(ExecutionServices& services, const NewRun& run, std::uint32_t automatic_max) {
  constexpr int kTriesMax = 3;
  for (int tries = 1;; ++tries) {
    Result<RunState> state = load_whole_state(services.store, run.id);
    if (!state && state.error().code != Code::run_not_found && state.error().code != Code::store_not_found)
      return fail(state.error());
    if (!state) {
      Result<OpenedRun> opened = open_new(services, run);
      if (opened) return std::move(*opened);
      if (opened.error().code != Code::run_exists || tries == kTriesMax) return fail(opened.error());
      continue;  // another process was faster
    }
    Result<RunOrResumption> continued = continue_run(services, run, *state, automatic_max);
    if (continued || continued.error().code != Code::run_ended || tries == kTriesMax) return continued;
    // It finished between the two checks.
  }
}

Result<void> how_it_finished(const RunId& id, const RunState& state) {
  switch (state.status) {
    case RunStatus::completed: return {};
    case RunStatus::cancelled:
      return fail(Error{Code::run_cancelled,
                        fmt::format("run {} was cancelled: {}", id.text(), state.error),
                        {},
                        "start a new run with another --run-id",
                        0});
    default:
      return fail(Error{Code::run_failed,
                        fmt::format("run {} failed: {}", id.text(), state.error),
                        {},
                        {},
                        0,
                        Advice::try_again,
                        {.run = id.text()}});
  }
}

}  // namespace pawl
