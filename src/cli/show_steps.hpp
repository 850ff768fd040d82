// `pawl show` for a run of `pawl step`.
#pragma once

#include "cli/command.hpp"
#include "service/run_details.hpp"

namespace pawl::cli {

/// Shows the status of the run, and its steps with their marks.
void show_steps_run(const Invocation& invocation, const StepsRunDetails& details);

}  // namespace pawl::cli
