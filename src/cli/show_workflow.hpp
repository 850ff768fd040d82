// `show` for runs of workflows: a timeline for people, one JSON document for programs.
#pragma once

#include "cli/command.hpp"

namespace pawl::cli {

struct ShowWorkflow {
  bool all = false;     // inner steps of finished iterations and items as well
  bool events = false;  // the newest events as well
};

/// Fails with not_a_workflow_run, having printed nothing, if the run has no workflow.
[[nodiscard]] Result<void> show_workflow_run(const Invocation& invocation, Store& store, const RunId& run,
                                             const ShowWorkflow& options);

}  // namespace pawl::cli
