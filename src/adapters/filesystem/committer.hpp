// Group commit: saves of many threads share batches, and therefore syncs.
//
// A single saver writes its own batch, without a context switch. Savers that arrive while a batch is being written are
// queued. A batching thread (Background::thread) takes all of them at once, so that 64 threads need about two syncs for
// 64 saves. Without that thread, the next saver in the queue writes for all of them.
//
// A save takes the mutex once, and one system call wakes all savers of a batch (docs/benchmarks.md).
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "adapters/filesystem/options.hpp"
#include "base/mutex.hpp"
#include "base/process_bound.hpp"
#include "base/result.hpp"
#include "ports/environment.hpp"

namespace pawl {

/// The records of one save that is being committed.
struct Commit {
  std::string body;
  std::uint32_t record_count = 0;
  std::uint64_t epoch = 0;  // Committer::epoch() when the state that this save is based on was read

  // The committer's.
  Result<void> result;
  std::uint32_t batch = 0;  // the batch that it was queued for; a full one leaves it to a later batch
  bool awaited = true;      // false: nobody waits, and it is deleted when it is done
  bool leads = false;       // its saver writes the batch
  std::atomic<bool> finished = false;
};

class Committer {
 public:
  using Bodies = std::span<const std::string_view>;
  using Append = std::function<Result<void>(Bodies bodies, std::uint32_t record_count)>;

  /// `append` makes a batch durable. Only one thread at a time calls it.
  Committer(Append append, const FilesystemOptions& options, Clock& clock);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;
  /// Does not commit what is still queued: call flush() first. In a forked child, it touches nothing.
  ~Committer();

  /// Changes when a commit fails: a save that depends on a failed one must not be committed.
  [[nodiscard]] std::uint64_t epoch();
  /// Queues the commit. The caller must then call `wait`, and the commit must exist until that returns. A thread that
  /// submits several commits waits for them in the same order.
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

  /// Says what the caller has to do after it has released the mutex.
  enum class Then : std::uint8_t { nothing, notify };

  void push(Commit& commit) PAWL_REQUIRES(mutex_);
  [[nodiscard]] Then choose_writer(Commit& commit) PAWL_REQUIRES(mutex_);
  /// Writes a batch. The caller has set `writing_`. Returns with the mutex held.
  void write_some(Lock& lock) PAWL_REQUIRES(mutex_) PAWL_LETS_GO;
  Queue take_some() PAWL_REQUIRES(mutex_);
  Queue drop_dependent(const Queue& failed, const Result<void>& result) PAWL_REQUIRES(mutex_);
  void finish(const Queue& taken, const Result<void>& result);
  void wake_savers(std::uint32_t batch);
  Result<void> wait_for_turn(Commit& commit);
  Result<void> wait_for_batch(Commit& commit);
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
  std::uint32_t open_batch_ PAWL_GUARDED_BY(mutex_) = 1;  // the number of the batch that is being collected
  bool writing_ PAWL_GUARDED_BY(mutex_) = false;
  bool resting_ PAWL_GUARDED_BY(mutex_) = false;  // the batching thread sleeps until it is notified
  bool stopping_ PAWL_GUARDED_BY(mutex_) = false;
  Result<void> unawaited_failure_ PAWL_GUARDED_BY(mutex_);
  // The last finished batch with an even and with an odd number. Savers sleep on the word of their batch, so that those
  // of the next batch are not woken.
  std::array<std::atomic<std::uint32_t>, 2> finished_batch_ = {};
  std::thread thread_;
  const ProcessBound process_;
};

}  // namespace pawl
