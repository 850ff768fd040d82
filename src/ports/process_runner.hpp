// Running commands, as a port. Whatever a command starts ends with the program that started it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ports/output_sink.hpp"

namespace pawl {

struct ProcessSpec {
  std::vector<std::string> argv;            // argv[0] is looked up in the environment's PATH
  std::vector<std::string> environment;     // NAME=value, all of it
  std::string working_dir;                  // absolute
  std::shared_ptr<OutputSink> output = {};  // for standard output; null: nobody wants it
  std::shared_ptr<OutputSink> errors = {};  // for standard error; where it is the same, both share one pipe
};

struct ProcessEnd {
  enum class How : std::uint8_t {
    exited,       // with `exit_code`
    killed,       // by `signal`
    not_started,  // `error` says why (missing folder, too large an environment, no such program)
  };
  How how = How::exited;
  int exit_code = 0;
  int signal = 0;
  std::string error;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t cpu_us = 0;
};

/// Something that an earlier execution left behind.
struct LeftProcess {
  std::uint64_t pid = 0;
  std::string command;
};

/// Thread-safe.
///
/// Commands are children of a small reaper process, which is the parent of everything that they leave
/// behind, too. When this program ends, however it ends, the reaper kills all of them before it ends itself.
class ProcessRunner {
 public:
  using Number = std::uint64_t;
  /// Called by wait(), once for every started number, in the order of the ends.
  using Ended = std::function<void(Number number, const ProcessEnd& end)>;

  ProcessRunner() = default;
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;
  virtual ~ProcessRunner() = default;

  /// Must be set before the first start.
  virtual void on_ended(Ended ended) = 0;
  /// Starts a command in a process group of its own, with standard input empty. Does not wait; `number`
  /// (the caller's, never used twice) stands for it from then on. Whatever goes wrong comes as its end.
  virtual void start(Number number, const ProcessSpec& spec) = 0;
  /// Waits until a command has ended or printed something, wake() was called or `wait_us` are over. Not by two
  /// threads at once. Sinks are written to by it, and before a command's end is told they have all that the command
  /// has printed. They are let go when nothing that the command left behind can write to them any more.
  virtual void wait(std::int64_t wait_us) = 0;
  /// Ends the present wait(), or the next one.
  virtual void wake() = 0;
  /// Sends a signal to the command's whole process group. One that has ended is fine.
  virtual void signal(Number number, int signal) = 0;
  /// Kills every process whose environment has `entry` (NAME=value), wherever it has gone (own session,
  /// own group), and waits until they are gone or `wait_ms` are over. Gives those that are left.
  virtual std::vector<LeftProcess> end_all(const std::string& entry, std::uint64_t wait_ms) = 0;
};

}  // namespace pawl
