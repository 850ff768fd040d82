// What the program and its reaper process say to each other over a stream socket. Both sides are the same
// program on the same machine, so numbers are native. Every message begins with its size in bytes.
#pragma once

#include <cstdint>

namespace pawl {

/// Where a start failed.
enum class StartStep : std::int32_t {
  none,
  text,     // a string has a NUL byte, or there is no program
  size,     // more than kRequestBytesMax
  count,    // more than kCommandsMax at once
  process,  // the process could not be made
  streams,  // the pipes of its output
  folder,   // the working folder
  program,  // execve
};

enum class RequestKind : std::uint32_t { start, signal };

inline constexpr std::uint32_t kRequestBytesMax = 64U << 20U;
inline constexpr std::uint32_t kCommandsMax = 65536;

inline constexpr std::uint32_t kStreamsMax = 2;

/// Which of the descriptors that come with a start is which.
enum class Streams : std::uint32_t {
  none,    // nothing comes: both are /dev/null
  both,    // one for both
  output,  // one
  errors,  // one
  two,     // output, errors
};

/// To the reaper. A start is followed by NUL-terminated strings: working folder, arguments, environment. Its
/// descriptors come as SCM_RIGHTS with its first byte.
struct ReaperRequest {
  std::uint32_t size = 0;
  RequestKind kind = RequestKind::start;
  std::uint64_t number = 0;
  std::int32_t signal = 0;
  StartStep refused = StartStep::none;  // otherwise: only report this as the end
  std::uint32_t arguments = 0;
  std::uint32_t variables = 0;
  Streams streams = Streams::none;
  std::int32_t os_error = 0;  // of a refusal
};

/// From the reaper, first of all and once.
struct ReaperReady {
  enum class Outcome : std::int32_t { ready, lock_held, lock_failed, setup_failed };
  Outcome outcome = Outcome::ready;
  std::int32_t os_error = 0;
  std::int64_t holder = 0;  // lock_held: the process that the lock file names; 0: none
};

/// From the reaper: an end. Followed by `size - sizeof(ReaperReport)` bytes: the path or the program that
/// `failed` is about.
struct ReaperReport {
  std::uint32_t size = 0;
  StartStep failed = StartStep::none;
  std::uint64_t number = 0;
  std::int32_t os_error = 0;
  std::int32_t status = 0;  // as waitpid gives it
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t cpu_us = 0;
};

}  // namespace pawl
