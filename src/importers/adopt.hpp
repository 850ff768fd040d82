// Turns a run of another program into the state from which a workflow run continues.
#pragma once

#include "base/result.hpp"
#include "domain/workflow.hpp"
#include "importers/imported.hpp"

namespace pawl {

struct Adopted {
  RunState state;
  std::vector<NewEvent> events = {};  // for outputs that are too large for the state
  std::vector<std::string> notes = {};
};

/// Marks the run's completed steps as completed in the workflow. Matches them by id, position or stage. An approval
/// step is never completed by an import. `events_before` is the number of events that the run has before those
/// returned. Fails with workflow_mismatch if the workflow lacks a completed step, and with invalid_variable if the
/// import lacks a required variable.
[[nodiscard]] Result<Adopted> adopt_run(const ImportedRun& run, const Workflow& workflow,
                                        const std::function<Result<std::string>(const Json& vars)>& working_dir,
                                        std::uint64_t events_before);

}  // namespace pawl
