// The reaper: a small process that is the parent of all commands, and of everything that they leave behind.
//
// It is forked from a program that may have threads, and does not exec. So it uses only system calls, its
// own stack and memory that it gets from the kernel: no allocation, no locks, no exceptions.
//
// It holds the lock as long as anything below it lives. When the program is gone, or has closed the socket,
// it kills everything below itself and ends, which lets go of the lock.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace pawl {

struct ReaperSetup {
  int socket = -1;             // of a stream socketpair; the program has the other end
  const char* lock_path = "";  // made if missing; "": no lock
  std::uint64_t lock_wait_ms = 0;
  pid_t program = 0;  // the process that forked it
};

/// Runs in the forked process, which has all signals blocked. Sends a ReaperReady first.
[[noreturn]] void reaper_main(const ReaperSetup& setup) noexcept;

}  // namespace pawl
