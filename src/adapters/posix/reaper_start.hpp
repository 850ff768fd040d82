// Starts one command from the reaper process.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "adapters/posix/reaper_wire.hpp"

namespace pawl {

/// All other signals have their default action in the reaper.
inline constexpr int kReaperIgnores[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};

/// Shared with the child until it runs the program.
struct StartFailure {
  StartStep step = StartStep::none;
  int os_error = 0;
};

struct StartedCommand {
  const char* folder = nullptr;
  int output = -1;  // -1: the reaper's own, /dev/null
  int errors = -1;
  char** arguments = nullptr;    // ends with a null pointer
  char** environment = nullptr;  // the same
};

/// Memory for starts, allocated once.
struct StartMemory {
  StartFailure* failure = nullptr;
  char* stack_end = nullptr;
  [[nodiscard]] bool make() noexcept;
};

/// Starts `command` as a child in its own process group and waits until its program runs. Returns its process id, or 0
/// and the reason in `memory.failure`. Uses only system calls.
[[nodiscard]] pid_t start_command(const StartedCommand& command, const StartMemory& memory) noexcept;

}  // namespace pawl
