// Threads that call handlers, shared by all runs of a program.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace pawl {

/// Thread-safe. Threads start when they are needed.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads_max) : threads_max_(threads_max) {}
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  /// Waits for running tasks and drops the others.
  ~WorkerPool();

  /// Calls each task once on one of the threads.
  void add(std::vector<std::function<void()>> tasks);
  /// Returns whether tasks wait for a thread.
  [[nodiscard]] bool is_behind();

 private:
  void work();

  const std::size_t threads_max_;
  Mutex mutex_;
  Condition more_;
  std::deque<std::function<void()>> tasks_ PAWL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ PAWL_GUARDED_BY(mutex_);
  std::size_t idle_ PAWL_GUARDED_BY(mutex_) = 0;
  bool stopping_ PAWL_GUARDED_BY(mutex_) = false;
};

}  // namespace pawl
