// Group commit: saves of many threads share batches, and therefore syncs.
//
// A single saver writes its own batch, without a context switch. Savers that arrive while a batch is being written are
// queued. A batching thread (Background::thread) takes all of them at once, so that 64 threads need about two syncs for
// 64 saves. Without that thread, the next saver in the queue writes for all of them.
#pragma once

#include <semaphore.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "adapters/filesystem/options.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "ports/environment.hpp"

namespace pawl {

/// Lets one thread sleep until another thread wakes it, once. Does not use std::atomic::wait, which calls sched_yield
/// before it sleeps: with 64 savers that caused more than two involuntary context switches per save
/// (docs/benchmarks.md).
class Wakeup {
 public:
  Wakeup() { ::sem_init(&semaphore_, 0, 0); }
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;
  ~Wakeup() { ::sem_destroy(&semaphore_); }
  void sleep() {
    while (::sem_wait(&semaphore_) != 0) {
    }  // a signal came first
  }
  /// The sleeper, and this object with it, may be destroyed before the call returns. POSIX allows that.
  void ring() { ::sem_post(&semaphore_); }

 private:
  sem_t semaphore_;
};

/// The records of one save that is being committed.
struct Commit {
  std::string body;
  std::uint32_t record_count = 0;
  std::uint64_t epoch = 0;  // Committer::epoch() when the state that this save is based on was read

  // The committer's, under its mutex.
  Result<void> result;
  bool awaited = true;  // false: nobody waits, and it is deleted when it is done
  bool finished = false;
  Wakeup* parked = nullptr;  // where its saver sleeps until the commit is done
};

class Committer {
 public:
  using Append = std::function<Result<void>(std::string_view body, std::uint32_t record_count)>;

  /// `append` makes a batch durable. Only one thread at a time calls it.
  Committer(Append append, const FilesystemOptions& options, Clock& clock);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;
  /// Does not commit what is still queued: call flush() first.
  ~Committer();

  /// Changes when a commit fails: a save that depends on a failed one must not be committed.
  [[nodiscard]] std::uint64_t epoch();
  /// Queues the commit. The caller must then call `wait`, and the commit must exist until that returns.
  void submit(Commit& commit);
  /// Returns when the commit is durable or has failed.
  Result<void> wait(Commit& commit);
  /// Queues the commit and returns. It becomes durable within `window_us` (0: at the next flush or commit), or when the
  /// queue has reached the size of a batch. Fails if an earlier commit failed.
  Result<void> enqueue(std::unique_ptr<Commit> commit, std::int64_t window_us);
  /// Returns when everything queued before is durable.
  Result<void> flush();
  /// Runs `work` while nothing is being appended. Returns false, without running it, if something is being appended.
  Result<bool> try_alone(const std::function<Result<void>()>& work);

 private:
  using Queue = std::vector<Commit*>;

  void push(Commit& commit) PAWL_REQUIRES(mutex_);
  void write_some(Lock& lock) PAWL_REQUIRES(mutex_) PAWL_LETS_GO;
  Queue take_some() PAWL_REQUIRES(mutex_);
  void finish(const Queue& taken, const Result<void>& result) PAWL_REQUIRES(mutex_);
  Result<void> append_all(const Queue& taken);
  [[nodiscard]] bool unawaited_due() const PAWL_REQUIRES(mutex_);
  void run_thread();

  const Append append_;
  const FilesystemOptions options_;
  Clock& clock_;

  Mutex mutex_;
  Condition work_;  // the batching thread waits here
  Condition idle_;  // without the thread, savers wait here for their turn to write
  Queue queue_ PAWL_GUARDED_BY(mutex_);
  std::uint64_t queued_bytes_ PAWL_GUARDED_BY(mutex_) = 0;
  std::size_t awaited_ PAWL_GUARDED_BY(mutex_) = 0;       // number of queued commits that someone waits for
  std::int64_t deadline_us_ PAWL_GUARDED_BY(mutex_) = 0;  // of the oldest commit that nobody waits for; 0: none
  std::size_t crowd_ PAWL_GUARDED_BY(mutex_) = 0;         // number of waiters in the last batch
  std::uint64_t epoch_ PAWL_GUARDED_BY(mutex_) = 0;
  bool writing_ PAWL_GUARDED_BY(mutex_) = false;
  bool resting_ PAWL_GUARDED_BY(mutex_) = false;  // the batching thread sleeps until it is notified
  bool stopping_ PAWL_GUARDED_BY(mutex_) = false;
  Result<void> unawaited_failure_ PAWL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace pawl
