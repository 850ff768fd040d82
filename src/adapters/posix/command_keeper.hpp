// The keeper of `pawl step`: a process between the program and the command that kills everything left if the program
// dies.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include <optional>

#include "adapters/posix/posix_fd.hpp"
#include "ports/foreground.hpp"

namespace pawl {

/// Returns whether the signal asks this program to stop: SIGINT, SIGTERM, SIGHUP or SIGQUIT.
[[nodiscard]] bool requests_stop(int signal);

/// Returns whether a caught signal must be passed on to the command. The command already has those that a terminal
/// sends to the whole process group.
[[nodiscard]] bool is_for_command(const signalfd_siginfo& info);

/// While this object exists, signals that stop this program, and those that are meant for the command, are delivered as
/// data. None is lost before a command exists. A signal that was ignored when this program started, as by nohup, stays
/// ignored, also by the command.
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

/// The final report of the keeper.
struct KeeperReport {
  int exec_error = 0;   // errno if the command could not be started
  int wait_status = 0;  // as returned by waitpid
  int interrupted = 0;  // the last terminating signal
  bool timed_out = false;
};

struct KeeperSetup {
  const ForegroundSpec& spec;
  const sigset_t& mask;  // signal mask for the command
  int output = -1;       // for the command's standard output
  int errors = -1;
  int report = -1;    // where the KeeperReport is written
  pid_t program = 0;  // the process that forked the keeper
};

/// Runs in the forked process: starts the command, waits for it, and reports.
[[noreturn]] void keep_command(const KeeperSetup& setup);

}  // namespace pawl
