// Automatic recovery, as `pawl run` does it first.
#pragma once

#include "cli/command.hpp"

namespace pawl::cli {

/// Resumes crashed runs, newest first, within the limits of `recovery:` in the settings. Runs that can't be resumed
/// are reported and left. Fails if the settings can't be read, or if a person interrupts.
[[nodiscard]] Result<void> recover_crashed_runs(const Invocation& invocation);

}  // namespace pawl::cli
