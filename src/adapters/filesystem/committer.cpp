#include "adapters/filesystem/committer.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/futex.hpp"
#include "base/thread_name.hpp"

namespace pawl {
namespace {

/// How long the batching thread waits for the savers of the last batch to return before it writes again.
constexpr std::int64_t kGatherUs = 40;

std::unexpected<Error> earlier_failure() {
  return fail(Error{Code::handle_failed,
                    "this save depends on an earlier one through this handle, which failed",
                    {},
                    "reopen the run; saves with an id can be repeated safely",
                    0});
}

}  // namespace

Committer::Committer(Append append, const FilesystemOptions& options, Clock& clock)
    : append_(std::move(append)), options_(options), clock_(clock) {
  if (options_.background == Background::thread) thread_ = std::thread([this] { run_thread(); });
}

Committer::~Committer() {
  if (process_.is_copy()) {
    if (thread_.joinable()) thread_.detach();
    work_.forget_waiters();
    idle_.forget_waiters();
    return;
  }
  {
    const Lock lock(mutex_);
    stopping_ = true;
    work_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const Lock lock(mutex_);
  for (Commit* commit : queue_) {
    PAWL_ASSERT(!commit->awaited);
    delete commit;
  }
}

std::uint64_t Committer::epoch() {
  const Lock lock(mutex_);
  return epoch_;
}

void Committer::push(Commit& commit) {
  commit.batch = open_batch_;
  queue_.push_back(&commit);
  queued_bytes_ += commit.body.size();
  if (commit.awaited) ++awaited_;
}

/// A lone saver writes itself. With several, the batching thread is faster, because it takes all of them at once.
Committer::Then Committer::choose_writer(Commit& commit) {
  if (writing_) return Then::nothing;
  if (awaited_ == 1 && crowd_ <= 1) {
    writing_ = commit.leads = true;
    return Then::nothing;
  }
  return resting_ || awaited_ >= crowd_ ? Then::notify : Then::nothing;
}

void Committer::submit(Commit& commit) {
  Lock lock(mutex_);
  if (commit.epoch != epoch_) {
    commit.result = earlier_failure();
    commit.finished = true;
    return;
  }
  push(commit);
  if (!thread_.joinable()) return;
  const Then then = choose_writer(commit);
  lock.unlock();
  if (then == Then::notify) work_.notify_one();
}

Result<void> Committer::wait(Commit& commit) {
  return thread_.joinable() ? wait_for_batch(commit) : wait_for_turn(commit);
}

/// Without a thread: the saver whose turn it is writes for all.
Result<void> Committer::wait_for_turn(Commit& commit) {
  Lock lock(mutex_);
  while (!commit.finished) {
    if (writing_) {
      idle_.wait(lock);
    } else {
      writing_ = true;
      write_some(lock);
    }
  }
  return commit.result;
}

Result<void> Committer::wait_for_batch(Commit& commit) {
  if (commit.leads) {
    Lock lock(mutex_);
    // The first batch may be full without this commit, if others were queued before it.
    while (!commit.finished) {
      writing_ = true;
      write_some(lock);
    }
    return commit.result;
  }
  for (std::uint32_t batch = commit.batch; !commit.finished.load(std::memory_order_acquire); ++batch) {
    std::atomic<std::uint32_t>& word = finished_batch_[batch % 2];
    for (std::uint32_t seen = word.load(std::memory_order_acquire); static_cast<std::int32_t>(seen - batch) < 0;
         seen = word.load(std::memory_order_acquire)) {
      futex_wait(word, seen);
    }
  }
  return commit.result;
}

Result<void> Committer::flush() {
  Commit nothing;
  nothing.epoch = epoch();
  submit(nothing);
  PAWL_TRY(wait(nothing));
  const Lock lock(mutex_);
  return unawaited_failure_;
}

Result<bool> Committer::try_alone(const std::function<Result<void>()>& work) {
  Lock lock(mutex_);
  if (writing_) return false;
  writing_ = true;
  lock.unlock();
  const Result<void> done = work();
  lock.lock();
  writing_ = false;
  idle_.notify_all();
  if (thread_.joinable() && !queue_.empty()) work_.notify_one();
  PAWL_TRY(done);
  return true;
}

Result<void> Committer::enqueue(std::unique_ptr<Commit> commit, std::int64_t window_us) {
  Lock lock(mutex_);
  if (commit->epoch != epoch_) return earlier_failure();
  commit->awaited = false;
  push(*commit.release());
  if (window_us > 0 && deadline_us_ == 0) {
    deadline_us_ = clock_.monotonic_us() + window_us;
    work_.notify_one();
  }
  if (!unawaited_due()) return {};
  if (thread_.joinable()) {
    work_.notify_one();
  } else if (!writing_) {
    writing_ = true;
    write_some(lock);
  }
  return unawaited_failure_;
}

bool Committer::unawaited_due() const {
  if (queued_bytes_ >= options_.batch_bytes_max) return true;
  return deadline_us_ != 0 && clock_.monotonic_us() >= deadline_us_;
}

Committer::Queue Committer::take_some() {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (count < queue_.size() && (count == 0 || bytes + queue_[count]->body.size() <= options_.batch_bytes_max)) {
    bytes += queue_[count++]->body.size();
  }
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
  Queue taken(queue_.begin(), end);
  queue_.erase(queue_.begin(), end);
  queued_bytes_ -= bytes;
  if (queue_.empty()) deadline_us_ = 0;
  return taken;
}

void Committer::write_some(Lock& lock) {
  const Queue taken = take_some();
  const auto served =
      static_cast<std::size_t>(std::ranges::count_if(taken, [](const Commit* c) { return c->awaited; }));
  const std::uint32_t batch = open_batch_++;
  awaited_ -= served;
  crowd_ = served;
  lock.unlock();
  const Result<void> result = append_all(taken);
  Queue rest;
  if (!result) {
    lock.lock();
    rest = drop_dependent(taken, result);
    lock.unlock();
  }
  // Batches are reported in their order, so the next one must not be written before.
  finish(taken, result);
  wake_savers(batch);
  if (!result) {
    finish(rest, earlier_failure());
    wake_savers(batch + 1);
  }
  lock.lock();
  writing_ = false;
  if (!thread_.joinable()) {
    idle_.notify_all();
  } else if (!queue_.empty()) {
    work_.notify_one();
  }
}

/// Takes the commits that were queued while `failed` was written: they may depend on it.
Committer::Queue Committer::drop_dependent(const Queue& failed, const Result<void>& result) {
  ++epoch_;
  ++open_batch_;
  Queue rest = std::exchange(queue_, {});
  queued_bytes_ = 0;
  awaited_ = 0;
  deadline_us_ = 0;
  const auto unawaited = [](const Commit* commit) { return !commit->awaited; };
  if (std::ranges::any_of(failed, unawaited) || std::ranges::any_of(rest, unawaited)) unawaited_failure_ = result;
  return rest;
}

/// A commit may be destroyed as soon as its saver sees that it is finished.
void Committer::finish(const Queue& taken, const Result<void>& result) {
  for (Commit* commit : taken) {
    if (!commit->awaited) {
      delete commit;
      continue;
    }
    commit->result = result;
    commit->finished.store(true, std::memory_order_release);
  }
}

void Committer::wake_savers(std::uint32_t batch) {
  std::atomic<std::uint32_t>& word = finished_batch_[batch % 2];
  word.store(batch, std::memory_order_release);
  if (thread_.joinable()) futex_wake_all(word);
}

Result<void> Committer::append_all(const Queue& taken) {
  std::vector<std::string_view> bodies;
  bodies.reserve(taken.size());
  std::uint32_t record_count = 0;
  for (const Commit* commit : taken) {
    if (commit->record_count == 0) continue;
    bodies.emplace_back(commit->body);
    record_count += commit->record_count;
  }
  return record_count == 0 ? Result<void>() : append_(bodies, record_count);
}

void Committer::run_thread() {
  name_this_thread("pawl-batch");
  Lock lock(mutex_);
  while (!stopping_) {
    if (writing_ || (awaited_ == 0 && !unawaited_due())) {
      resting_ = true;
      if (deadline_us_ != 0 && !writing_) {
        work_.wait_us(lock, std::max<std::int64_t>(1, deadline_us_ - clock_.monotonic_us()));
      } else {
        work_.wait(lock);
      }
      resting_ = false;
      continue;
    }
    if (awaited_ < crowd_) {
      work_.wait_us(lock, kGatherUs);
      if (writing_) continue;
    }
    writing_ = true;
    write_some(lock);
  }
}

}  // namespace pawl
