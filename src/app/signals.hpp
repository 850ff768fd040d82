// Passes signals of this process to a function, on a separate thread.
#pragma once

#include <functional>
#include <memory>

#include "service/workflow_world.hpp"

namespace pawl {

/// Blocks SIGINT, SIGTERM, SIGHUP and SIGUSR1 in the calling thread and all threads that it starts, and passes them to
/// `on_signal` until the watch is destroyed. Only one watch per process.
[[nodiscard]] std::unique_ptr<SignalWatch> watch_signals(std::function<void(int)> on_signal);

/// Returns the resident memory of this process in bytes, or 0 if unknown.
[[nodiscard]] std::uint64_t resident_bytes();

}  // namespace pawl
