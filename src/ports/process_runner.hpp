// Running commands, as a port. Everything that a command starts is killed when this program exits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fault.hpp"
#include "base/result.hpp"
#include "ports/output_sink.hpp"

namespace pawl {

struct ProcessSpec {
  std::vector<std::string> argv;            // argv[0] is looked up in the environment's PATH
  std::vector<std::string> environment;     // the whole environment as NAME=value
  std::string working_dir;                  // absolute
  std::shared_ptr<OutputSink> output = {};  // for standard output; may be null
  std::shared_ptr<OutputSink> errors =
      {};  // for standard error; the same object for both means that they share one pipe
};

struct ProcessEnd {
  enum class How : std::uint8_t {
    exited,       // with `exit_code`
    killed,       // by `signal`
    not_started,  // `error` is the reason (missing folder, environment too large, unknown program), `fault` whose it is
    lost,         // the reaper died while the command ran: the command is gone, and nothing is known of its result
  };
  How how = How::exited;
  Fault fault = Fault::work;  // of not_started, by the system call that failed
  int exit_code = 0;
  int signal = 0;
  std::string error;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t cpu_us = 0;
};

/// A process that an earlier execution left behind.
struct LeftProcess {
  std::uint64_t pid = 0;
  std::string command;
};

/// Thread-safe.
///
/// Commands are children of a small reaper process, which also adopts everything that they leave behind. When this
/// program exits for any reason, the reaper kills all of them and exits.
class ProcessRunner {
 public:
  using Number = std::uint64_t;
  /// Called by wait(), once for every started number, in the order in which commands exit.
  using Ended = std::function<void(Number number, const ProcessEnd& end)>;

  ProcessRunner() = default;
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;
  virtual ~ProcessRunner() = default;

  /// Must be called before the first start.
  virtual void on_ended(Ended ended) = 0;
  /// Starts a command in its own process group, with empty standard input. Does not wait. `number` identifies it from
  /// then on and must not be used twice. All errors are reported as its end.
  virtual void start(Number number, const ProcessSpec& spec) = 0;
  /// Waits until a command has exited or printed something, wake() is called, or `wait_us` have passed. Must not be
  /// called by two threads at once. It writes to the sinks; before it reports that a command has exited, they have
  /// received all of its output. It releases them when no process can write to them any more.
  virtual void wait(std::int64_t wait_us) = 0;
  /// Ends the current wait(), or the next one.
  virtual void wake() = 0;
  /// Sends a signal to the whole process group of the command. Does nothing if it has exited.
  virtual void signal(Number number, int signal) = 0;
  /// Kills every process whose environment contains `entry` (NAME=value), also in other sessions and groups. Waits
  /// until they are gone or `wait_ms` have passed. Returns those that are left.
  virtual std::vector<LeftProcess> end_all(const std::string& entry, std::uint64_t wait_ms) = 0;
  /// Identifies the lock file of this runner on this machine. A copy of a store has the UUIDs of the original, but
  /// other files: entries for `end_all` must contain this, or resuming a copy would kill processes of the original.
  [[nodiscard]] virtual const std::string& place() const = 0;
};

}  // namespace pawl
