// A workflow whose file changed since its run was started.
#pragma once

#include "engine/open_run.hpp"

namespace pawl {

/// Takes over the changes, if there are any and the request accepts them. Decisions were about the old workflow: they
/// no longer count, and what the run has reached is asked again. Fails with workflow_changed, with gate_in_the_way if a
/// gate would be bypassed, and with invalid_variable if a new variable has no value.
[[nodiscard]] Result<void> check_workflow(const ExecutionServices& services, const ResumeRequest& request,
                                          const Workflow& workflow, RunState& state, Resumption& resumption);

}  // namespace pawl
