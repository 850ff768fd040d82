// Continues in the background, for `pawl run --detach`.
#pragma once

#include "service/workflow_world.hpp"

namespace pawl {

/// Forks. The background process gets its own session and no standard input; its standard output is discarded until it
/// releases the foreground. The foreground process waits until that happens or the other process has exited. Only for a
/// program without threads. Fails with process_failed if no process can be created.
[[nodiscard]] Result<Detached> detach();

}  // namespace pawl
