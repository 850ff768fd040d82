// The keeper of `pawl step`: a process between the program and the command that ends what is left if the program dies.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include <optional>

#include "adapters/posix/posix_fd.hpp"
#include "ports/foreground.hpp"

namespace pawl {

/// The signals that end things come as data while this lives, and are not lost before a command is there.
class CaughtSignals {
 public:
  CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;
  ~CaughtSignals();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const sigset_t& before() const { return before_; }
  [[nodiscard]] std::optional<signalfd_siginfo> next() const;

 private:
  sigset_t before_{};
  PosixFd fd_;
};

/// What the keeper says at the end.
struct KeeperReport {
  int exec_error = 0;   // the errno of a command that could not be started
  int wait_status = 0;  // as waitpid gives it
  int interrupted = 0;  // the last signal that asked for the end
  bool timed_out = false;
};

struct KeeperSetup {
  const ForegroundSpec& spec;
  const sigset_t& mask;  // of signals, for the command
  int output = -1;       // for the command's standard output
  int errors = -1;
  int report = -1;    // where the KeeperReport goes
  pid_t program = 0;  // the process that forked the keeper
};

/// Runs in the forked process: starts the command, waits for it, and reports.
[[noreturn]] void keep_command(const KeeperSetup& setup);

}  // namespace pawl
