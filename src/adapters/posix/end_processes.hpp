// Ends processes that are known only by an entry of their environment.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ports/process_runner.hpp"

namespace pawl {

/// Kills every process of this user whose environment has exactly `entry` (NAME=value), also those that
/// appear meanwhile, and waits until they are gone or `wait_ms` are over. Gives those that are left. The
/// calling process, `spared` and process 1 are never touched. Environments are those that the processes were
/// started with; one that can't be read does not count.
[[nodiscard]] std::vector<LeftProcess> end_processes_with(const std::string& entry, std::uint64_t wait_ms,
                                                          pid_t spared = 0);

}  // namespace pawl
