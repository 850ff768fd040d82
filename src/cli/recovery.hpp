// Resuming runs that crashed, without anyone's help, where the store's settings say so.
#pragma once

#include "cli/command.hpp"

namespace pawl::cli {

/// Resumes runs whose process died while they were running, newest first, within the bounds of `recovery:` in
/// the store's config.yaml. What can't be resumed is told and left. Fails only where the settings can't be read.
[[nodiscard]] Result<void> recover_crashed_runs(const Invocation& invocation);

}  // namespace pawl::cli
