// Group commit: the saves of many threads share batches, and so syncs.
//
// A single saver writes its batch itself: no hand-over, no context switch. Savers who come while a batch is
// being written queue up; a batching thread (Background::thread) takes all of them at once, so that 64
// threads cost about two syncs for 64 saves. Without the thread the next saver in line writes for all.
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

/// Lets one thread sleep until another one rings, once. Not std::atomic::wait, which calls sched_yield before it
/// sleeps: with 64 savers that was more than two involuntary context switches per save (docs/benchmarks.md).
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
  /// The sleeper may be gone, and this object with it, before the call returns: POSIX allows that.
  void ring() { ::sem_post(&semaphore_); }

 private:
  sem_t semaphore_;
};

/// The records of one save, on their way.
struct Commit {
  std::string body;
  std::uint32_t record_count = 0;
  std::uint64_t epoch = 0;  // Committer::epoch() when the state that this save builds on was read

  // The committer's, under its mutex.
  Result<void> result;
  bool awaited = true;  // false: nobody waits, it is deleted when it is finished
  bool finished = false;
  Wakeup* parked = nullptr;  // where its saver sleeps; whoever finishes it rings there
};

class Committer {
 public:
  using Append = std::function<Result<void>(std::string_view body, std::uint32_t record_count)>;

  /// `append` makes a batch durable; it is called by one thread at a time.
  Committer(Append append, const FilesystemOptions& options, Clock& clock);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;
  /// What is still queued is not committed: flush() first.
  ~Committer();

  /// Changes when a commit fails: what builds on a failed save must not be committed after it.
  [[nodiscard]] std::uint64_t epoch();
  /// Puts the commit into the queue; `wait` must follow, and the commit must live until it returns.
  void submit(Commit& commit);
  /// Returns when the commit is durable, or could not be made so.
  Result<void> wait(Commit& commit);
  /// Takes the commit and returns; it will be durable within `window_us` (0: at the next flush or commit),
  /// or when the queue has grown to a batch. Fails where an earlier one failed.
  Result<void> enqueue(std::unique_ptr<Commit> commit, std::int64_t window_us);
  /// Returns when everything taken before is durable.
  Result<void> flush();
  /// Runs `work` while nothing is appended. False: something is being appended just now, and it was not run.
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
  std::size_t awaited_ PAWL_GUARDED_BY(mutex_) = 0;       // how many of the queue someone waits for
  std::int64_t deadline_us_ PAWL_GUARDED_BY(mutex_) = 0;  // of the oldest entry nobody waits for; 0: none
  std::size_t crowd_ PAWL_GUARDED_BY(mutex_) = 0;         // how many waiters were served last
  std::uint64_t epoch_ PAWL_GUARDED_BY(mutex_) = 0;
  bool writing_ PAWL_GUARDED_BY(mutex_) = false;
  bool resting_ PAWL_GUARDED_BY(mutex_) = false;  // the batching thread sleeps until it is called
  bool stopping_ PAWL_GUARDED_BY(mutex_) = false;
  Result<void> unawaited_failure_ PAWL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace pawl
