// A run of another program as one of Pawl's: the state that `pawl resume` goes on with.
#pragma once

#include "base/result.hpp"
#include "domain/workflow.hpp"
#include "importers/imported.hpp"

namespace pawl {

struct Adopted {
  RunState state;
  std::vector<NewEvent> events = {};  // outputs that are too large for the state
  std::vector<std::string> notes = {};
};

/// Completed steps of the run are completed steps of the workflow: found by id, by their place, or by their stage.
/// `events_before`: how many events the run will have before those given back. Fails with workflow_mismatch where a
/// completed step is none of the workflow's, and with invalid_variable where a variable must be given and is not. A
/// gate is never taken as passed.
[[nodiscard]] Result<Adopted> adopt_run(const ImportedRun& run, const Workflow& workflow,
                                        const std::function<Result<std::string>(const Json& vars)>& working_dir,
                                        std::uint64_t events_before);

}  // namespace pawl
