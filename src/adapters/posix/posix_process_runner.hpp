// The process runner port on Linux, with a separate reaper process.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "adapters/posix/output_pipes.hpp"
#include "adapters/posix/posix_fd.hpp"
#include "adapters/posix/reaper_wire.hpp"
#include "base/mutex.hpp"
#include "ports/process_runner.hpp"

namespace pawl {

/// The callback may call the runner. If the reaper itself is killed, the commands die with it and are reported as
/// lost. Only end_all finds what they left behind, and nothing more is started: later commands are reported as not
/// started by the fault of the machine.
///
/// The reaper is a child of this program that wait() and waitpid(-1) do not see and that sends no SIGCHLD.
/// It starts as a copy-on-write copy of this program's memory. The reported memory peak of a command is therefore
/// never less than what this program used when it created the runner.
///
/// Commands print to pipes, two descriptors each. The soft limit of open files is therefore raised to the hard limit.
class PosixProcessRunner final : public ProcessRunner {
 public:
  static constexpr std::uint64_t kLockWaitMs = 15'000;

  /// Starts the reaper. It holds a lock on the first byte of the file `lock_path` (created if missing; empty: no lock)
  /// until all processes started here are gone, and writes its process id to the file. Fails with processes_left if an
  /// earlier reaper still holds the lock after `lock_wait_ms`, with process_failed, or with the error of opening the
  /// file.
  [[nodiscard]] static Result<std::unique_ptr<PosixProcessRunner>> start_reaper(
      std::string lock_path, std::uint64_t lock_wait_ms = kLockWaitMs);
  /// Kills everything that is still running and reports it before it returns. Gives up after a minute on a process that
  /// can't be killed because it waits for a disk.
  ~PosixProcessRunner() override;

  void on_ended(Ended ended) override;
  void start(Number number, const ProcessSpec& spec) override;
  void wait(std::int64_t wait_us) override;
  void wake() override;
  void signal(Number number, int signal) override;
  std::vector<LeftProcess> end_all(const std::string& entry, std::uint64_t wait_ms) override;
  [[nodiscard]] const std::string& place() const override { return place_; }

  [[nodiscard]] pid_t reaper_pid() const { return reaper_; }

 private:
  PosixProcessRunner(PosixFd socket, PosixFd waker, pid_t reaper, std::string place);
  [[nodiscard]] bool send(std::string_view message, const OutputPipes::WritingEnds& ends);
  void refuse(Number number) PAWL_REQUIRES(mutex_);

  [[nodiscard]] bool receive(int flags);
  void take_report(std::string_view message);
  void tell(Number number, const ProcessEnd& end);
  void tell_refused();
  void outlive_reaper();

  const PosixFd socket_;
  const PosixFd waker_;  // an eventfd
  const pid_t reaper_;
  const std::string place_;
  Mutex send_mutex_;  // held while a complete message is sent; never together with mutex_

  Mutex mutex_;
  std::shared_ptr<const Ended> ended_ PAWL_GUARDED_BY(mutex_);
  std::unordered_set<Number> running_ PAWL_GUARDED_BY(mutex_);
  std::vector<Number> refused_ PAWL_GUARDED_BY(mutex_);  // not started because the reaper died
  bool reaper_gone_ PAWL_GUARDED_BY(mutex_) = false;

  OutputPipes pipes_;

  // Used only by the waiting thread.
  std::string received_;  // an incomplete report
  bool stream_ended_ = false;
};

}  // namespace pawl
