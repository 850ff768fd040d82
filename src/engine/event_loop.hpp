// The event loop of an execution: one thread owns all state; timers, processes and tasks wake it up.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "ports/environment.hpp"
#include "ports/process_runner.hpp"

namespace pawl {

class EventLoop {
 public:
  using Task = std::function<void()>;
  using TimerId = std::uint64_t;

  /// `processes` may be null if no command is ever started.
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
  ProcessRunner::Number start_process(const ProcessSpec& spec, Ended ended);
  void signal_process(ProcessRunner::Number number, int signal);
  /// Runs `work` on a thread of the pool after this round, and the task that it returns on the loop's thread.
  void start_work(std::function<Task()> work);

  /// Runs tasks until `done` returns true, which is checked after each round. Calls `idle` at the end of each round.
  void run(const std::function<bool()>& done, const std::function<void()>& idle);

  /// Sets the maximum number of handler threads. Must be called before the first start_work.
  void set_workers(std::size_t count) { workers_max_ = count; }
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
  void work();

  Clock& clock_;
  ProcessRunner* const processes_;

  Mutex mutex_;
  Condition wake_;
  std::vector<Task> tasks_ PAWL_GUARDED_BY(mutex_);
  bool sleeps_ PAWL_GUARDED_BY(mutex_) = false;  // the loop must be woken
  Condition more_work_;
  std::deque<std::function<Task()>> work_ PAWL_GUARDED_BY(mutex_);
  bool stopping_ PAWL_GUARDED_BY(mutex_) = false;
  std::size_t idle_workers_ PAWL_GUARDED_BY(mutex_) = 0;

  // The loop's thread.
  std::vector<Task> ended_;                      // commands that ended while it waited
  std::vector<std::function<Task()>> new_work_;  // of this round
  std::vector<std::thread> workers_;
  std::size_t workers_max_ = 4;
  std::size_t running_ = 0;
  std::uint64_t next_timer_ = 1;
  std::map<TimerId, Timer> timers_;
  std::multimap<std::int64_t, TimerId> by_monotonic_;
  std::multimap<Timestamp, TimerId> by_wall_;
  std::uint64_t next_process_ = 1;
  std::unordered_map<ProcessRunner::Number, Ended> processes_running_;
};

}  // namespace pawl
