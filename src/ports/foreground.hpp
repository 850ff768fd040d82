// One command in the foreground, as a port: it has this program's standard input and standard error, what it
// prints passes through at once and is kept, and it ends with this program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pawl {

struct ForegroundSpec {
  std::vector<std::string> argv;         // argv[0] is looked up in the environment's PATH
  std::vector<std::string> environment;  // NAME=value, all of it
  std::string output_path = {};          // where an output above `output_bytes_max` is kept; absolute, replaced
  std::uint64_t output_bytes_max = 0;    // in memory
};

struct ForegroundEnd {
  int status = 0;          // as a shell would say: the exit status, 128 + signal, 126 or 127 where it can't be started
  std::string error = {};  // why it could not be started
  int interrupted = 0;     // a signal that asked this program to end while the command was running
  bool output_closed = false;  // nobody read this program's standard output any more
  std::string output = {};     // all of it, where it is at most output_bytes_max
  bool in_file = false;        // else it is in output_path, durable
  std::uint64_t output_bytes = 0;
  std::string output_sha256 = {};  // hexadecimal; where it is in the file
};

/// Held until it is destroyed or the process dies.
class StepLock {
 public:
  virtual ~StepLock() = default;
  /// Its last holder died with it.
  [[nodiscard]] virtual bool was_left() const = 0;
};

class Foreground {
 public:
  virtual ~Foreground() = default;
  /// Returns when the command has ended. SIGINT, SIGTERM, SIGHUP and SIGQUIT of this program go to it.
  /// Fails where the output can't be kept. For a program's main thread.
  [[nodiscard]] virtual Result<ForegroundEnd> run(const ForegroundSpec& spec) = 0;
  /// Takes the lock on the file `path` (made if missing): step_busy, naming the process, where another has it.
  [[nodiscard]] virtual Result<std::unique_ptr<StepLock>> lock(const std::string& path) = 0;
  /// Ends what was started with this entry (NAME=value) in its environment and is left: processes_left where
  /// that can't be done.
  [[nodiscard]] virtual Result<void> end_left(const std::string& entry) = 0;
};

}  // namespace pawl
