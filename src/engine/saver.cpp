#include "engine/saver.hpp"

#include "engine/save.hpp"

namespace pawl {

Saver::Saver(RunWriter& writer, std::uint64_t state_bytes_max, Done done)
    : writer_(writer), state_bytes_max_(state_bytes_max), done_(std::move(done)), thread_([this] { run(); }) {}

Saver::~Saver() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Saver::begin(SaveDraft draft) {
  {
    const Lock lock(mutex_);
    next_ = std::move(draft);
  }
  wake_.notify_one();
}

void Saver::run() {
  Lock lock(mutex_);
  while (true) {
    while (!next_ && !stopping_) wake_.wait(lock);
    if (!next_) return;
    SaveDraft draft = std::move(*next_);
    next_.reset();
    lock.unlock();
    draft.request.body = draft.state;
    done_(checked_save(writer_, draft.request, state_bytes_max_));
    lock.lock();
  }
}

}  // namespace pawl
