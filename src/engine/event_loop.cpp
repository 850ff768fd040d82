#include "engine/event_loop.hpp"

#include <algorithm>
#include <iterator>

namespace pawl {
namespace {

constexpr std::int64_t kWallCheck_us = 1'000'000;  // how soon a change of the wall clock is noticed
constexpr std::int64_t kWaitMax_us = 1'000'000;
constexpr std::int64_t kQuick_us = 50;
constexpr std::int64_t kLook_us = 2'000;

}  // namespace

EventLoop::EventLoop(Clock& clock, ProcessRunner* processes) : clock_(clock), processes_(processes) {
  if (processes_ == nullptr) return;
  processes_->on_ended([this](ProcessRunner::Number number, const ProcessEnd& end) {
    ended_.emplace_back([this, number, end] {
      const auto found = processes_running_.find(number);
      if (found == processes_running_.end()) return;
      const Ended ended = std::move(found->second);
      processes_running_.erase(found);
      --running_;
      ended(end);
    });
  });
}

EventLoop::~EventLoop() {
  if (processes_ != nullptr) processes_->on_ended({});
  {
    const Lock lock(mutex_);
    stopping_ = true;
    work_.clear();
  }
  more_work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void EventLoop::post(Task task) {
  const Lock lock(mutex_);
  tasks_.push_back(std::move(task));
  wake_up();
}

void EventLoop::wake_up() {
  if (!std::exchange(sleeps_, false)) return;
  if (processes_ != nullptr) {
    processes_->wake();
  } else {
    wake_.notify_one();
  }
}

EventLoop::TimerId EventLoop::after(std::int64_t delay_us, Task task) {
  const TimerId id = next_timer_++;
  const std::int64_t due = clock_.monotonic_us() + std::max<std::int64_t>(delay_us, 0);
  timers_[id] = Timer{due, {}, std::move(task)};
  by_monotonic_.emplace(due, id);
  return id;
}

EventLoop::TimerId EventLoop::at(Timestamp due, Task task) {
  const TimerId id = next_timer_++;
  timers_[id] = Timer{0, due, std::move(task)};
  by_wall_.emplace(due, id);
  return id;
}

void EventLoop::cancel(TimerId timer) { timers_.erase(timer); }  // its key is removed when it is due

ProcessRunner::Number EventLoop::start_process(const ProcessSpec& spec, Ended ended) {
  const ProcessRunner::Number number = next_process_++;
  processes_running_[number] = std::move(ended);
  ++running_;
  processes_->start(number, spec);
  return number;
}

void EventLoop::signal_process(ProcessRunner::Number number, int signal) { processes_->signal(number, signal); }

void EventLoop::start_work(std::function<Task()> work) {
  ++running_;
  new_work_.push_back(std::move(work));
}

/// Starts all work of a round at once, because waking a thread often costs more than the handler itself.
void EventLoop::hand_out() {
  if (new_work_.empty()) return;
  std::size_t wanted = 0;
  std::size_t idle = 0;
  {
    const Lock lock(mutex_);
    for (std::function<Task()>& work : new_work_) work_.push_back(std::move(work));
    wanted = work_.size();
    idle = idle_workers_;
  }
  new_work_.clear();
  for (std::size_t i = 0; i < std::min(wanted, idle); ++i) more_work_.notify_one();
  while (idle++ < wanted && workers_.size() < workers_max_) workers_.emplace_back([this] { this->work(); });
}

/// Waking the loop costs more than a quick handler. While there is more work, results of quick handlers wait until the
/// loop checks by itself, which it does within kLook_us.
void EventLoop::work() {
  Lock lock(mutex_);
  while (true) {
    ++idle_workers_;
    while (work_.empty() && !stopping_) more_work_.wait(lock);
    --idle_workers_;
    if (work_.empty()) return;
    const std::function<Task()> next = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    const std::int64_t began_us = clock_.monotonic_us();
    Task then = next();
    const bool quick = clock_.monotonic_us() - began_us < kQuick_us;
    lock.lock();
    tasks_.emplace_back([this, then = std::move(then)] {
      --running_;
      then();
    });
    if (!quick || work_.empty()) wake_up();
  }
}

std::vector<EventLoop::Task> EventLoop::wait(std::int64_t wait_us) {
  Lock lock(mutex_);
  if (!work_.empty()) wait_us = std::min(wait_us, kLook_us);
  if (tasks_.empty() && wait_us > 0) {
    sleeps_ = true;
    if (processes_ != nullptr) {
      lock.unlock();
      processes_->wait(wait_us);
      lock.lock();
    } else {
      wake_.wait_us(lock, wait_us);
    }
    sleeps_ = false;
  }
  std::vector<Task> tasks = std::exchange(ended_, {});
  std::ranges::move(std::exchange(tasks_, {}), std::back_inserter(tasks));
  return tasks;
}

std::int64_t EventLoop::next_wait_us() {
  std::int64_t wait_us = kWaitMax_us;
  if (!by_monotonic_.empty()) wait_us = std::min(wait_us, by_monotonic_.begin()->first - clock_.monotonic_us());
  if (!by_wall_.empty()) {
    wait_us = std::min({wait_us, kWallCheck_us, by_wall_.begin()->first.us - clock_.now().us});
  }
  return wait_us;
}

void EventLoop::run_due() {
  const auto run_first = [this](auto& by) {
    const TimerId id = by.begin()->second;
    by.erase(by.begin());
    const auto found = timers_.find(id);
    if (found == timers_.end()) return;
    const Task task = std::move(found->second.task);
    timers_.erase(found);
    task();
  };
  const std::int64_t now_us = clock_.monotonic_us();
  while (!by_monotonic_.empty() && by_monotonic_.begin()->first <= now_us) run_first(by_monotonic_);
  const Timestamp now = clock_.now();
  while (!by_wall_.empty() && by_wall_.begin()->first <= now) run_first(by_wall_);
}

void EventLoop::run(const std::function<bool()>& done, const std::function<void()>& idle) {
  idle();
  hand_out();
  while (!done()) {
    for (const Task& task : wait(next_wait_us())) task();
    run_due();
    idle();
    hand_out();
  }
}

}  // namespace pawl
