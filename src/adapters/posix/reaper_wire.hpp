// The messages between the program and its reaper process over a stream socket. Both sides are the same program on the
// same machine, so numbers are in native byte order. Every message starts with its size in bytes.
#pragma once

#include <cstdint>

namespace pawl {

/// The operation that failed when a command was started.
enum class StartStep : std::int32_t {
  none,
  text,     // a string contains a NUL byte, or the command is empty
  size,     // more than kRequestBytesMax
  count,    // more than kCommandsMax at once
  process,  // the process could not be created
  streams,  // the pipes for its output
  folder,   // the working directory
  program,  // execve
};

enum class RequestKind : std::uint32_t { start, signal };

inline constexpr std::uint32_t kRequestBytesMax = 64U << 20U;
inline constexpr std::uint32_t kCommandsMax = 65536;

inline constexpr std::uint32_t kStreamsMax = 2;

/// Which descriptors accompany a start.
enum class Streams : std::uint32_t {
  none,    // no descriptor: both are /dev/null
  both,    // one descriptor for both
  output,  // one
  errors,  // one
  two,     // output, errors
};

/// To the reaper. A start is followed by NUL-terminated strings: working directory, arguments, environment. Its
/// descriptors are sent as SCM_RIGHTS with its first byte.
struct ReaperRequest {
  std::uint32_t size = 0;
  RequestKind kind = RequestKind::start;
  std::uint64_t number = 0;
  std::int32_t signal = 0;
  StartStep refused = StartStep::none;  // if set: only report this failure
  std::uint32_t arguments = 0;
  std::uint32_t variables = 0;
  Streams streams = Streams::none;
  std::int32_t os_error = 0;  // of a refusal
};

/// From the reaper: the first message, sent once.
struct ReaperReady {
  enum class Outcome : std::int32_t { ready, lock_held, lock_failed, setup_failed };
  Outcome outcome = Outcome::ready;
  std::int32_t os_error = 0;
  std::int64_t holder = 0;  // lock_held: the process named in the lock file; 0: none
};

/// From the reaper: a command has finished. Followed by `size - sizeof(ReaperReport)` bytes: the path or the program
/// that `failed` refers to.
struct ReaperReport {
  std::uint32_t size = 0;
  StartStep failed = StartStep::none;
  std::uint64_t number = 0;
  std::int32_t os_error = 0;
  std::int32_t status = 0;  // as returned by waitpid
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t cpu_us = 0;
};

}  // namespace pawl
