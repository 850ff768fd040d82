// The event loop of an execution: one thread owns all state; timers, processes and tasks wake it up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "engine/worker_pool.hpp"
#include "ports/environment.hpp"
#include "ports/process_runner.hpp"

namespace pawl {

class EventLoop {
 public:
  using Task = std::function<void()>;
  using TimerId = std::uint64_t;

  /// `processes` may be null: then start_process calls what provide_processes() was given.
  EventLoop(Clock& clock, ProcessRunner* processes);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  /// Waits for handlers that are still running.
  ~EventLoop();

  /// Runs the task on the loop's thread. May be called from any thread.
  void post(Task task);

  /// Everything below must be called on the loop's thread.
  TimerId after(std::int64_t delay_us, Task task);
  /// Runs the task at a wall time: late if the machine slept, never early. Notices clock changes within a second.
  TimerId at(Timestamp due, Task task);
  void cancel(TimerId timer);

  using Ended = std::function<void(const ProcessEnd&)>;
  /// Starts the runner of processes before the first command. If it returns null, no command can be started.
  void provide_processes(std::function<ProcessRunner*()> provide) { provide_ = std::move(provide); }
  ProcessRunner::Number start_process(const ProcessSpec& spec, Ended ended);
  void signal_process(ProcessRunner::Number number, int signal);
  /// Runs `work` on a thread of the pool after this round, and the task that it returns on the loop's thread.
  void start_work(std::function<Task()> work);

  /// Runs tasks until `done` returns true, which is checked after each round. Calls `idle` at the end of each round.
  void run(const std::function<bool()>& done, const std::function<void()>& idle);

  /// Uses these threads for start_work. Without, the loop has its own. Must be called before the first start_work.
  void use_workers(WorkerPool& pool) { pool_ = &pool; }
  [[nodiscard]] std::size_t running() const { return running_; }  // processes and handlers
  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] ProcessRunner* processes() { return processes_; }

 private:
  struct Timer {
    std::int64_t monotonic_us = 0;  // or
    Timestamp wall;
    Task task;
  };
  void wake_up() PAWL_REQUIRES(mutex_);
  std::vector<Task> wait(std::int64_t wait_us);
  void run_due();
  [[nodiscard]] std::int64_t next_wait_us();
  void hand_out();
  void use(ProcessRunner& processes);
  void take_result(std::int64_t took_us, Task then);

  Clock& clock_;
  std::function<ProcessRunner*()> provide_;

  Mutex mutex_;
  Condition wake_;
  ProcessRunner* waker_ PAWL_GUARDED_BY(mutex_) = nullptr;  // the loop waits in it, if there is one
  std::vector<Task> tasks_ PAWL_GUARDED_BY(mutex_);
  bool sleeps_ PAWL_GUARDED_BY(mutex_) = false;      // the loop must be woken
  std::size_t working_ PAWL_GUARDED_BY(mutex_) = 0;  // handed out and not finished
  Condition finished_;

  // The loop's thread.
  ProcessRunner* processes_ = nullptr;
  std::vector<Task> ended_;                      // commands that ended while it waited
  std::vector<std::function<Task()>> new_work_;  // of this round
  WorkerPool* pool_ = nullptr;
  std::unique_ptr<WorkerPool> own_pool_;
  std::size_t running_ = 0;
  std::uint64_t next_timer_ = 1;
  std::map<TimerId, Timer> timers_;
  std::multimap<std::int64_t, TimerId> by_monotonic_;
  std::multimap<Timestamp, TimerId> by_wall_;
  std::uint64_t next_process_ = 1;
  std::unordered_map<ProcessRunner::Number, Ended> processes_running_;
};

}  // namespace pawl
