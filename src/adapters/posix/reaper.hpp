// The reaper: a small process that is the parent of all commands and adopts all processes they leave behind.
//
// It is forked from a program that may have threads, and does not exec. It therefore uses only system calls, its own
// stack and memory from the kernel: no allocation, no locks, no exceptions.
//
// It holds the lock as long as it has descendants. When the program dies or closes the socket, the reaper kills all its
// descendants and exits, which releases the lock.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace pawl {

struct ReaperSetup {
  int socket = -1;             // of a stream socketpair; the program has the other end
  const char* lock_path = "";  // created if missing; "": no lock
  std::uint64_t lock_wait_ms = 0;
  pid_t program = 0;  // the process that forked it
};

/// Runs in the forked process, which has all signals blocked. Sends a ReaperReady first.
[[noreturn]] void reaper_main(const ReaperSetup& setup) noexcept;

}  // namespace pawl
