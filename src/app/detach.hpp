// Continuing in the background, for `pawl run --detach`.
#pragma once

#include "service/workflow_world.hpp"

namespace pawl {

/// Forks. In the background process: a session of its own, no standard input, and standard output thrown away until
/// it lets go of the foreground. In the foreground: waits until that happens or the other process has ended.
/// Only for a program without threads. process_failed where no process can be made.
[[nodiscard]] Result<Detached> detach();

}  // namespace pawl
