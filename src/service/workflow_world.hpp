// What workflows and steps need from the outside world.
#pragma once

#include <pawl/handlers.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ports/environment.hpp"
#include "ports/foreground.hpp"
#include "ports/local_files.hpp"
#include "ports/process_runner.hpp"
#include "ports/terminal.hpp"

namespace pawl {

/// Passes signals to a function during its lifetime.
class SignalWatch {
 public:
  virtual ~SignalWatch() = default;
};

/// Starts the reaper of a run and kills what an earlier execution left behind. Fails with processes_left if it can't.
using StartProcesses = std::function<Result<std::unique_ptr<ProcessRunner>>(const std::string& lock_path)>;

/// This process, if it is the one that continues in the background.
class BackgroundProcess {
 public:
  virtual ~BackgroundProcess() = default;
  /// Tells the foreground process that it may exit. From then on, all output is appended to the file `log_path`.
  virtual Result<void> let_go(const std::string& log_path) = 0;
};

/// One of the two processes after a fork.
struct Detached {
  std::unique_ptr<BackgroundProcess> background = {};  // null in the foreground
  std::string log_path = {};                           // in the foreground, once released; empty: the other process has
                                                       // exited
  int status = 0;                                      // the exit status of the other process, if it has exited
};

struct WorkflowWorld {
  Random& random;
  LocalFiles& files;
  const HandlerRegistry& handlers;
  std::vector<std::string> environment = {};  // NAME=value, the whole environment of this process
  StartProcesses start_processes = {};
  /// Called from another thread with the number of the signal: SIGINT, SIGTERM, SIGHUP, SIGUSR1.
  std::function<std::unique_ptr<SignalWatch>(std::function<void(int)> on_signal)> watch_signals = {};
  std::function<Result<Detached>()> detach = {};
  std::function<void()> leave = {};                               // exits the program immediately, as interrupted
  std::function<std::unique_ptr<Terminal>()> open_terminal = {};  // for questions; may be empty
  std::function<std::size_t()> columns = {};                      // of the terminal
  std::function<std::size_t()> rows = {};
  std::function<std::uint64_t()> resident_bytes = {};
  Foreground* foreground = nullptr;  // never null for `pawl step`
};

}  // namespace pawl
