// Starting a run, or continuing it if it exists: for schedulers that repeat one command until it succeeds.
#pragma once

#include <variant>

#include "engine/dead_letters.hpp"
#include "engine/open_run.hpp"

namespace pawl {

/// A run that has already finished and needs no further work.
struct FinishedRun {
  RunState state;
  Timestamp at;  // when it finished
  ItemCounts items = {};
};

using RunOrResumption = std::variant<OpenedRun, Resumption, FinishedRun>;

/// Starts the run, or resumes it as an automatic resume: attempts that were spent stay spent. A run that completed, was
/// cancelled, or failed with no attempts left is returned unchanged. Fails with invalid_variable if the run was started
/// with other values, and with all errors of open_new and open_resume except run_exists. `run.workflow` is the workflow
/// that both use.
[[nodiscard]] Result<RunOrResumption> open_or_resume(ExecutionServices& services, const NewRun& run,
                                                     std::uint32_t automatic_max);

/// Returns the error that the execution of a run with this state returned, or nothing if it completed.
[[nodiscard]] Result<void> how_it_finished(const RunId& id, const RunState& state);

}  // namespace pawl
