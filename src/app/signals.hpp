// Signals of this process, handed to a function by a thread of their own.
#pragma once

#include <functional>
#include <memory>

#include "service/workflow_world.hpp"

namespace pawl {

/// SIGINT, SIGTERM, SIGHUP and SIGUSR1 are blocked in the calling thread and all that it starts, and go to
/// `on_signal` instead, until the watch is destroyed. One at a time in a process.
[[nodiscard]] std::unique_ptr<SignalWatch> watch_signals(std::function<void(int)> on_signal);

/// How much memory of this process is resident; 0 where that can't be known.
[[nodiscard]] std::uint64_t resident_bytes();

}  // namespace pawl
