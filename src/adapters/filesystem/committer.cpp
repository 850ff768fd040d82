#include "adapters/filesystem/committer.hpp"

#include <algorithm>

#include "base/assert.hpp"

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
  queue_.push_back(&commit);
  queued_bytes_ += commit.body.size();
  if (commit.awaited) ++awaited_;
}

void Committer::submit(Commit& commit) {
  const Lock lock(mutex_);
  if (commit.epoch == epoch_) {
    push(commit);
    return;
  }
  commit.result = earlier_failure();
  commit.finished = true;
}

Result<void> Committer::wait(Commit& commit) {
  Lock lock(mutex_);
  if (!thread_.joinable()) {
    while (!commit.finished) {
      if (writing_) {
        idle_.wait(lock);
      } else {
        write_some(lock);
      }
    }
    return commit.result;
  }
  // A lone saver writes here. With several, the batching thread is faster, because it takes all of them at once.
  while (!commit.finished && !writing_ && awaited_ == 1 && crowd_ <= 1) write_some(lock);
  if (commit.finished) return commit.result;
  Wakeup wakeup;
  commit.parked = &wakeup;
  // Every saver may have to notify the thread, not only the first in the queue: several may submit before one waits.
  if (!writing_ && (resting_ || awaited_ >= crowd_)) work_.notify_one();
  lock.unlock();
  wakeup.sleep();
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
  writing_ = true;
  const Queue taken = take_some();
  const auto served =
      static_cast<std::size_t>(std::ranges::count_if(taken, [](const Commit* c) { return c->awaited; }));
  awaited_ -= served;
  crowd_ = served;
  lock.unlock();
  const Result<void> result = append_all(taken);
  lock.lock();
  writing_ = false;
  finish(taken, result);
  if (!result) {
    // Commits that were queued in the meantime may depend on the failed one.
    ++epoch_;
    const Queue rest = std::exchange(queue_, {});
    queued_bytes_ = 0;
    awaited_ = 0;
    deadline_us_ = 0;
    finish(rest, earlier_failure());
  }
  idle_.notify_all();
  if (thread_.joinable() && !queue_.empty()) work_.notify_one();
}

/// A commit may be destroyed as soon as its saver is woken, or sees under the mutex that it is finished.
void Committer::finish(const Queue& taken, const Result<void>& result) {
  for (Commit* commit : taken) {
    if (!commit->awaited) {
      if (!result) unawaited_failure_ = result;
      delete commit;
      continue;
    }
    commit->result = result;
    commit->finished = true;
    if (commit->parked != nullptr) commit->parked->ring();
  }
}

Result<void> Committer::append_all(const Queue& taken) {
  if (taken.size() == 1) {
    const Commit& only = *taken.front();
    return only.record_count == 0 ? Result<void>() : append_(only.body, only.record_count);
  }
  std::string body;
  std::uint32_t record_count = 0;
  std::size_t bytes = 0;
  for (const Commit* commit : taken) bytes += commit->body.size();
  body.reserve(bytes);
  for (const Commit* commit : taken) {
    body += commit->body;
    record_count += commit->record_count;
  }
  return record_count == 0 ? Result<void>() : append_(body, record_count);
}

void Committer::run_thread() {
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
    write_some(lock);
  }
}

}  // namespace pawl
