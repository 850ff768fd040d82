// Kills processes that are known only by an entry of their environment.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ports/process_runner.hpp"

namespace pawl {

/// Identifies a file on this machine, whatever its name: "DEVICE:INODE". Empty if there is no such file.
[[nodiscard]] std::string place_of(const std::string& path);

/// Kills every process of this user whose environment contains exactly `entry` (NAME=value), including those that
/// appear meanwhile. Waits at most `wait_ms` until they are gone and returns those that are left. Never kills the
/// calling process, `spared` or process 1. Uses the environment that a process was started with, and ignores processes
/// whose environment can't be read.
[[nodiscard]] std::vector<LeftProcess> end_processes_with(const std::string& entry, std::uint64_t wait_ms,
                                                          pid_t spared = 0);

}  // namespace pawl
