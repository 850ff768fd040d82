#include "engine/worker_pool.hpp"

#include <algorithm>

namespace pawl {

WorkerPool::~WorkerPool() {
  std::vector<std::thread> threads;
  {
    const Lock lock(mutex_);
    stopping_ = true;
    tasks_.clear();
    threads = std::move(threads_);
  }
  more_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

/// Starts everything at once, because waking a thread often costs more than the handler itself.
void WorkerPool::add(std::vector<std::function<void()>> tasks) {
  std::size_t woken = 0;
  {
    const Lock lock(mutex_);
    for (std::function<void()>& task : tasks) tasks_.push_back(std::move(task));
    woken = std::min(tasks_.size(), idle_);
    const std::size_t wanted = std::min(tasks_.size() - woken, threads_max_ - std::min(threads_max_, threads_.size()));
    for (std::size_t i = 0; i < wanted; ++i) threads_.emplace_back([this] { work(); });
  }
  for (std::size_t i = 0; i < woken; ++i) more_.notify_one();
}

bool WorkerPool::is_behind() {
  const Lock lock(mutex_);
  return !tasks_.empty();
}

void WorkerPool::work() {
  Lock lock(mutex_);
  while (true) {
    ++idle_;
    while (tasks_.empty() && !stopping_) more_.wait(lock);
    --idle_;
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace pawl
