// One command in the foreground, as a port. It shares the standard input of this program. Its output is passed through
// immediately and kept. It does not outlive this program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ports/output_sink.hpp"

namespace pawl {

struct ForegroundSpec {
  std::vector<std::string> argv;         // argv[0] is looked up in the environment's PATH
  std::vector<std::string> environment;  // NAME=value, all of it
  std::string output_path = {};          // file for an output above `output_bytes_max`; absolute, replaced
  std::uint64_t output_bytes_max = 0;    // in memory
  std::shared_ptr<OutputSink> log = {};  // gets everything that the command prints, to both streams; may be null
  std::int64_t timeout_us = 0;           // after which the command is stopped; 0: none
  std::int64_t grace_us = 5'000'000;     // between SIGTERM and SIGKILL in that case
};

struct ForegroundEnd {
  int status = 0;          // as in a shell: the exit status, 128 + signal, or 126 or 127 if it can't be started
  std::string error = {};  // why it could not be started
  int interrupted = 0;     // the signal that requested this program to stop while the command was running
  bool timed_out = false;
  int output_error = 0;     // errno if standard output could not be passed on: closed, broken or full; it is still kept
  std::string output = {};  // all of it, if it is at most output_bytes_max
  bool in_file = false;     // otherwise it is in output_path, durable
  std::uint64_t output_bytes = 0;
  std::string output_sha256 = {};  // hexadecimal; if the output is in the file
};

/// Held until it is destroyed or the process dies.
class StepLock {
 public:
  virtual ~StepLock() = default;
  /// Returns whether the last holder died while holding it.
  [[nodiscard]] virtual bool was_left() const = 0;
  /// Identifies the file on this machine: a copy of a store has another one.
  [[nodiscard]] virtual const std::string& place() const = 0;
};

class Foreground {
 public:
  virtual ~Foreground() = default;
  /// Returns when the command has exited and its output is passed on. Forwards SIGINT, SIGTERM, SIGHUP and SIGQUIT to
  /// it. After such a signal, after a timeout, and if this program is killed, no process that the command started is
  /// left, and nobody waits for a reader that has stopped. Otherwise processes that it leaves behind keep running.
  /// Also forwards SIGUSR1, SIGUSR2, SIGALRM and SIGWINCH. Fails if the output can't be kept. Must be called on the
  /// main thread.
  [[nodiscard]] virtual Result<ForegroundEnd> run(const ForegroundSpec& spec) = 0;
  /// Takes the lock on the file `path`, which is created if missing. Fails with step_busy, which names the process, if
  /// another one holds it.
  [[nodiscard]] virtual Result<std::unique_ptr<StepLock>> lock(const std::string& path) = 0;
  /// Kills processes that were started with this entry (NAME=value) in their environment and are still running. Fails
  /// with processes_left if that is not possible.
  [[nodiscard]] virtual Result<void> end_left(const std::string& entry) = 0;
};

}  // namespace pawl
