// `show` for runs of workflows: a timeline for people, one JSON document for programs.
#pragma once

#include "cli/command.hpp"
#include "service/run_details.hpp"

namespace pawl::cli {

struct ShowWorkflow {
  bool all = false;     // inner steps of finished iterations and items as well
  bool events = false;  // the newest events as well
};

void show_workflow_run(const Invocation& invocation, const WorkflowRunDetails& details, const ShowWorkflow& options);

}  // namespace pawl::cli
