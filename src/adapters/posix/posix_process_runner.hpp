// The process runner port on Linux, by a reaper process of its own.
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

/// Its callback may call it. Should the reaper itself be killed, the commands die with it and
/// are reported as killed; what they left behind is found by end_all only, and nothing is started any more.
///
/// The reaper is a child of this program that wait() and waitpid(-1) do not see and that sends no SIGCHLD.
/// It starts as a copy of this program's memory, which costs nothing but counts: no command's memory peak is
/// reported as less than what this program used when it made the runner.
///
/// Commands print into pipes, two descriptors each: this program's soft limit of open files is raised to its hard one.
class PosixProcessRunner final : public ProcessRunner {
 public:
  static constexpr std::uint64_t kLockWaitMs = 15'000;

  /// Starts the reaper. It holds a lock on the first byte of the file `lock_path` (made if missing; empty: no
  /// lock) until nothing that was started here is alive, and writes its process id into it. Where an
  /// earlier one still holds it after `lock_wait_ms`: processes_left. Otherwise process_failed, or what
  /// opening the file gives.
  [[nodiscard]] static Result<std::unique_ptr<PosixProcessRunner>> start_reaper(
      std::string lock_path, std::uint64_t lock_wait_ms = kLockWaitMs);
  /// Kills everything that is still running, and reports those ends, too, before it returns. A process that
  /// can't be killed (it waits for a disk) is left after a minute.
  ~PosixProcessRunner() override;

  void on_ended(Ended ended) override;
  void start(Number number, const ProcessSpec& spec) override;
  void wait(std::int64_t wait_us) override;
  void wake() override;
  void signal(Number number, int signal) override;
  std::vector<LeftProcess> end_all(const std::string& entry, std::uint64_t wait_ms) override;

  [[nodiscard]] pid_t reaper_pid() const { return reaper_; }

 private:
  PosixProcessRunner(PosixFd socket, PosixFd waker, pid_t reaper);
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
  Mutex send_mutex_;  // held while a message goes out whole; never together with mutex_

  Mutex mutex_;
  std::shared_ptr<const Ended> ended_ PAWL_GUARDED_BY(mutex_);
  std::unordered_set<Number> running_ PAWL_GUARDED_BY(mutex_);
  std::vector<Number> refused_ PAWL_GUARDED_BY(mutex_);  // the reaper is gone: not started
  bool reaper_gone_ PAWL_GUARDED_BY(mutex_) = false;

  OutputPipes pipes_;

  // Of the thread that waits.
  std::string received_;  // the beginning of a report
  bool stream_ended_ = false;
};

}  // namespace pawl
