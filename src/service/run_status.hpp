// How runs of workflows stand, as people mean it.
#pragma once

#include <optional>
#include <vector>

#include "domain/run_state.hpp"
#include "ports/store.hpp"

namespace pawl {

struct StandingRun {
  RunState state;
  std::uint64_t events = 0;  // that its newest checkpoint knows of
  /// The state's, but `interrupted` where it says `running` and nobody owns the run: it crashed.
  RunStatus status = RunStatus::running;
  std::optional<std::string> owner;
};

/// Fails with not_a_workflow_run where the run was made otherwise.
[[nodiscard]] Result<StandingRun> standing_run(Store& store, const RunId& id);

/// The word for a list: of a workflow's run as above, of others the status of their newest checkpoint.
[[nodiscard]] std::string status_word(Store& store, const RunInfo& run);

/// Of the newest thousand runs those that a resume would take up: not ended, nobody has them, no children.
[[nodiscard]] Result<std::vector<RunInfo>> resumable_runs(Store& store);

/// Of the same runs those that have not ended as far as is known, and whose state is damaged: a resume refuses them, or
/// falls back.
[[nodiscard]] Result<std::vector<std::pair<RunId, Error>>> damaged_runs(Store& store);

}  // namespace pawl
