// The status of workflow runs, as people understand it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "domain/run_state.hpp"
#include "ports/store.hpp"

namespace pawl {

struct StandingRun {
  RunState state;
  std::uint64_t events = 0;  // number of events that its newest checkpoint covers
  /// That of the state, but `interrupted` if the state says `running` and nobody owns the run: it crashed.
  RunStatus status = RunStatus::running;
  std::optional<std::string> owner;
};

/// Fails with not_a_workflow_run for any other run.
[[nodiscard]] Result<StandingRun> standing_run(Store& store, const RunId& id);

/// If the error means damage, replaces its advice: inspect what can still be read.
[[nodiscard]] Error with_way_out(Error error, const RunId& run);

/// The word for a run whose status can't be read without the key of its store.
inline constexpr std::string_view kUnknownStatus = "unknown";

/// Returns the word for a list: as above for a workflow run, as steps_status() for a run of `pawl step`, otherwise the
/// status of the newest checkpoint. Returns kUnknownStatus if the key of the store is missing or wrong.
[[nodiscard]] std::string status_word(Store& store, const RunInfo& run);

/// Returns whether the run failed because a person rejected a step. That is final: a resume fails at once.
[[nodiscard]] bool was_rejected(const RunState& state);

/// Returns whether the run failed because a loop has used up its iterations: a resume fails at once unless its `max` is
/// raised.
[[nodiscard]] bool was_exhausted(const RunState& state);

/// Returns those of the newest thousand runs that can be resumed: unfinished, without an owner, and not child runs.
[[nodiscard]] Result<std::vector<RunInfo>> resumable_runs(Store& store);

/// Returns those of the same runs that wait for a decision of a person, child runs included.
[[nodiscard]] Result<std::vector<RunInfo>> runs_waiting_for_approval(Store& store);

/// Returns those of the same runs that are unfinished, as far as known, and whose state is damaged. A resume refuses
/// them, or falls back.
[[nodiscard]] Result<std::vector<std::pair<RunId, Error>>> damaged_runs(Store& store);

}  // namespace pawl
