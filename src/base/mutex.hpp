// A mutex, its lock and its condition variable, annotated for the thread-safety analysis of clang.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

#if defined(__clang__)
#define PAWL_ATTRIBUTE(x) __attribute__((x))
#else
#define PAWL_ATTRIBUTE(x)
#endif
#define PAWL_GUARDED_BY(x) PAWL_ATTRIBUTE(guarded_by(x))
#define PAWL_REQUIRES(x) PAWL_ATTRIBUTE(requires_capability(x))
// For a function that temporarily releases the Lock of its caller: the analysis can't tell which mutex it is.
#define PAWL_LETS_GO PAWL_ATTRIBUTE(no_thread_safety_analysis)

namespace pawl {

class PAWL_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class Lock;
  std::mutex mutex_;
};

/// Holds a Mutex during its lifetime. Can release it in between.
class PAWL_ATTRIBUTE(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) PAWL_ATTRIBUTE(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() PAWL_ATTRIBUTE(release_capability()) {}

  void unlock() PAWL_ATTRIBUTE(release_capability()) { lock_.unlock(); }
  void lock() PAWL_ATTRIBUTE(acquire_capability()) { lock_.lock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

class Condition {
 public:
  void wait(Lock& lock) { condition_.wait(lock.lock_); }
  void wait_us(Lock& lock, std::int64_t duration_us) {
    condition_.wait_for(lock.lock_, std::chrono::microseconds(duration_us));
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }
  /// For a forked child, before the destructor: the waiting threads don't exist there, and it would wait for them.
  void forget_waiters() { ::new (&condition_) std::condition_variable; }

 private:
  std::condition_variable condition_;
};

}  // namespace pawl
