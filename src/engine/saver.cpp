#include "engine/saver.hpp"

#include "engine/save.hpp"

namespace pawl {

Saver::Saver(RunWriter& writer, std::uint64_t state_bytes_max, Done done)
    : writer_(writer), state_bytes_max_(state_bytes_max), done_(std::move(done)) {}

Saver::~Saver() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Saver::begin(SaveDraft draft) {
  {
    const Lock lock(mutex_);
    next_ = std::move(draft);
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
}

Result<Saved> Saver::save(const SaveDraft& draft) {
  if (!draft.is_change) {
    SaveRequest request = draft.request;
    request.body = draft.state;
    return checked_save(writer_, request, state_bytes_max_);
  }
  std::vector<Splice> splices;
  for (const TextChange& change : draft.changes) splices.push_back({change.offset, change.removed, change.inserted});
  return checked_change(writer_, draft.request, splices);
}

void Saver::run() {
  Lock lock(mutex_);
  while (true) {
    while (!next_ && !stopping_) wake_.wait(lock);
    if (!next_) return;
    const SaveDraft draft = std::move(*next_);
    next_.reset();
    lock.unlock();
    done_(save(draft));
    lock.lock();
  }
}

}  // namespace pawl
