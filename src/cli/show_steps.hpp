// `pawl show` for a run of `pawl step`.
#pragma once

#include "cli/command.hpp"
#include "ports/store.hpp"

namespace pawl::cli {

/// Shows the status of the run, and its steps with their marks. Fails with not_a_steps_run for any other run.
[[nodiscard]] Result<void> show_steps_run(const Invocation& invocation, Store& store, const RunInfo& info);

}  // namespace pawl::cli
