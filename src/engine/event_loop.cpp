#include "engine/event_loop.hpp"

#include <algorithm>
#include <iterator>

namespace pawl {
namespace {

constexpr std::int64_t kWallCheck_us = 1'000'000;  // how soon a change of the wall clock is noticed
constexpr std::int64_t kWaitMax_us = 1'000'000;
constexpr std::int64_t kQuick_us = 50;
constexpr std::int64_t kLook_us = 2'000;
constexpr std::size_t kOwnWorkersMax = 8;

}  // namespace

EventLoop::EventLoop(Clock& clock, ProcessRunner* processes) : clock_(clock) {
  if (processes != nullptr) use(*processes);
}

void EventLoop::use(ProcessRunner& processes) {
  processes_ = &processes;
  {
    const Lock lock(mutex_);
    waker_ = &processes;
  }
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
  Lock lock(mutex_);
  while (working_ > 0) finished_.wait(lock);
}

void EventLoop::post(Task task) {
  const Lock lock(mutex_);
  tasks_.push_back(std::move(task));
  wake_up();
}

void EventLoop::wake_up() {
  if (!std::exchange(sleeps_, false)) return;
  if (waker_ != nullptr) {
    waker_->wake();
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
  if (processes_ == nullptr && provide_) {
    if (ProcessRunner* provided = provide_()) use(*provided);
  }
  if (processes_ != nullptr) {
    processes_->start(number, spec);
    return number;
  }
  post([this, number] {
    const auto found = processes_running_.extract(number);
    --running_;
    ProcessEnd end;
    end.how = ProcessEnd::How::not_started;
    end.fault = Fault::machine;
    end.error = "the process that starts commands can't be started";
    found.mapped()(end);
  });
  return number;
}

void EventLoop::signal_process(ProcessRunner::Number number, int signal) {
  if (processes_ != nullptr) processes_->signal(number, signal);
}

void EventLoop::start_work(std::function<Task()> work) {
  ++running_;
  new_work_.push_back(std::move(work));
}

void EventLoop::hand_out() {
  if (new_work_.empty()) return;
  if (pool_ == nullptr) {
    own_pool_ = std::make_unique<WorkerPool>(kOwnWorkersMax);
    pool_ = own_pool_.get();
  }
  {
    const Lock lock(mutex_);
    working_ += new_work_.size();
  }
  std::vector<std::function<void()>> tasks;
  for (std::function<Task()>& work : new_work_) {
    tasks.emplace_back([this, work = std::move(work)] {
      const std::int64_t began_us = clock_.monotonic_us();
      Task then = work();
      take_result(clock_.monotonic_us() - began_us, std::move(then));
    });
  }
  new_work_.clear();
  pool_->add(std::move(tasks));
}

/// Waking the loop costs more than a quick handler. While there is more work, results of quick handlers wait until the
/// loop checks by itself, which it does within kLook_us.
void EventLoop::take_result(std::int64_t took_us, Task then) {
  const bool more = took_us < kQuick_us && pool_->is_behind();
  const Lock lock(mutex_);
  tasks_.emplace_back([this, then = std::move(then)] {
    --running_;
    then();
  });
  if (!more) wake_up();
  if (--working_ == 0) finished_.notify_all();
}

std::vector<EventLoop::Task> EventLoop::wait(std::int64_t wait_us) {
  Lock lock(mutex_);
  if (working_ > 1) wait_us = std::min(wait_us, kLook_us);
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
