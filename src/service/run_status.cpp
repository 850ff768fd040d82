#include "service/run_status.hpp"

#include <algorithm>

#include "engine/open_run.hpp"
#include "service/step_call.hpp"

namespace pawl {
namespace {

constexpr std::size_t kRunsLookedAt = 1'000;

Result<StandingRun> look(Store& store, const RunId& id) {
  // The owner is read first: an owner that exits in between has saved its final state by then.
  PAWL_TRY_ASSIGN(std::optional<std::string> owner, store.owner(id));
  PAWL_TRY_ASSIGN(const Restored restored, store.restore(id, {}));
  const Json value = Json::parse(restored.state, nullptr, false);
  Result<RunState> state = RunState::from_json(value);
  if (!state) return fail(at(state.error(), id.text()));
  StandingRun run{.state = std::move(*state),
                  .events = value.value("events", std::uint64_t{0}),
                  .status = {},
                  .owner = std::move(owner)};
  const bool crashed = run.state.status == RunStatus::running && !run.owner;
  run.status = crashed ? RunStatus::interrupted : run.state.status;
  return run;
}

/// Returns the status in the catalogue, unless that can't be trusted: it does not follow a workflow or a script.
std::string word_without_state(const RunInfo& run, const Error& error) {
  const bool no_key = error.code == Code::key_missing || error.code == Code::key_wrong;
  return no_key ? std::string(kUnknownStatus) : std::string(to_text(run.status));
}

bool may_be_resumed(RunStatus status) { return status != RunStatus::completed && status != RunStatus::cancelled; }

}  // namespace

bool was_rejected(const RunState& state) {
  return state.status == RunStatus::failed && std::ranges::any_of(state.steps, [](const auto& step) {
           return step.second.status == StepStatus::failed && step.second.reason == StepReason::rejected;
         });
}

bool was_exhausted(const RunState& state) {
  return state.status == RunStatus::failed && std::ranges::any_of(state.steps, [](const auto& step) {
           return step.second.status == StepStatus::failed && step.second.reason == StepReason::exhausted;
         });
}

Result<StandingRun> standing_run(Store& store, const RunId& id) {
  PAWL_TRY_ASSIGN(StandingRun run, look(store, id));
  // The run may have been resumed between the two reads, so a crash must be seen twice.
  if (run.state.status == RunStatus::running && !run.owner) return look(store, id);
  return run;
}

Error with_way_out(Error error, const RunId& run) {
  // An older checkpoint does not help against what stops the whole run; its error says what does.
  const bool older_may_work = error.code != Code::store_damaged && error.hint.empty();
  if (category(error.code) != Category::integrity || !older_may_work) return error;
  return with_other_advice(std::move(error), Advice::look_at_damage, {.run = run.text()});
}

std::string status_word(Store& store, const RunInfo& run) {
  const std::string recorded(to_text(run.status));
  if (run.status == Status::erased || run.status == Status::damaged) return recorded;
  if (run.workflow.empty()) {
    const Result<bool> by_steps = created_by_steps(store, run.id);
    if (!by_steps) return word_without_state(run, by_steps.error());
    if (!*by_steps) return recorded;
    const Result<StepsStatus> steps = steps_status(store, run.id);
    return steps ? std::string(to_text(steps->status)) : word_without_state(run, steps.error());
  }
  if (run.status == Status::completed) return recorded;
  const Result<RunState> state = load_state(store, run.id);
  if (!state) return word_without_state(run, state.error());
  if (state->status != RunStatus::running)
    return std::string(to_text(state->status));  // the owner does not matter
                                                 // then
  const Result<StandingRun> standing = standing_run(store, run.id);
  return standing ? std::string(to_text(standing->status)) : recorded;
}

Result<std::vector<RunInfo>> resumable_runs(Store& store) {
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, store.runs(kRunsLookedAt));
  std::vector<RunInfo> found;
  for (const RunInfo& run : runs) {
    if (run.workflow.empty() || run.status == Status::completed) continue;
    const Result<StandingRun> standing = standing_run(store, run.id);
    if (!standing || standing->owner || !may_be_resumed(standing->status) || was_rejected(standing->state) ||
        !standing->state.parent_run.empty())
      continue;
    found.push_back(run);
  }
  return found;
}

Result<std::vector<RunInfo>> runs_waiting_for_approval(Store& store) {
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, store.runs(kRunsLookedAt));
  std::vector<RunInfo> found;
  for (const RunInfo& run : runs) {
    if (run.workflow.empty() || run.status == Status::completed) continue;
    const Result<StandingRun> standing = standing_run(store, run.id);
    if (!standing || standing->status == RunStatus::cancelled) continue;
    const bool waits = std::ranges::any_of(standing->state.steps, [](const auto& step) {
      return step.second.status == StepStatus::waiting && step.second.reason == StepReason::approval;
    });
    if (waits) found.push_back(run);
  }
  return found;
}

Result<std::vector<std::pair<RunId, Error>>> damaged_runs(Store& store) {
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, store.runs(kRunsLookedAt));
  std::vector<std::pair<RunId, Error>> found;
  for (const RunInfo& run : runs) {
    if (run.workflow.empty() || run.status == Status::completed) continue;
    const Result<StandingRun> standing = standing_run(store, run.id);
    const bool damaged =
        !standing && standing.error().code != Code::not_a_workflow_run && is_refusal(standing.error().code);
    if (damaged) found.emplace_back(run.id, standing.error());
  }
  return found;
}

}  // namespace pawl
