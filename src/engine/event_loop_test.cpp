#include "engine/event_loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace pawl {
namespace {

/// Real time: threads wait for each other here.
class RealClock final : public Clock {
 public:
  Timestamp now() override {
    return {std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
                .count()};
  }
  std::int64_t monotonic_us() override {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void sleep_us(std::int64_t duration_us) override {
    std::this_thread::sleep_for(std::chrono::microseconds(duration_us));
  }
};

TEST(EventLoop, EveryPieceOfWorkIsDoneOnceAndItsTaskRunsInTheLoop) {
  RealClock clock;
  EventLoop loop(clock, nullptr);
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<int> worked = 0;
  int ended = 0;
  int elsewhere = 0;
  const std::function<void()> start = [&] {
    loop.start_work([&]() -> EventLoop::Task {
      ++worked;
      return [&] {
        if (std::this_thread::get_id() != here) ++elsewhere;
        if (++ended <= 1'000 - 50) start();
      };
    });
  };
  for (int i = 0; i < 50; ++i) start();
  loop.run([&] { return ended == 1'000; }, [] {});
  EXPECT_EQ(worked, 1'000);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(loop.running(), 0U);
}

TEST(EventLoop, WorkRunsOnAsManyThreadsAsAreAllowed) {
  RealClock clock;
  EventLoop loop(clock, nullptr);
  WorkerPool workers(3);
  loop.use_workers(workers);
  std::atomic<int> inside = 0;
  int ended = 0;
  for (int i = 0; i < 3; ++i) {
    loop.start_work([&]() -> EventLoop::Task {
      ++inside;
      while (inside < 3) std::this_thread::yield();  // none finishes before all three have started
      return [&] { ++ended; };
    });
  }
  loop.run([&] { return ended == 3; }, [] {});
  EXPECT_EQ(inside, 3);
}

TEST(EventLoop, AQuickResultDoesNotWaitForASlowOneOfTheSameThread) {
  RealClock clock;
  EventLoop loop(clock, nullptr);
  WorkerPool workers(1);
  loop.use_workers(workers);
  std::atomic<bool> quick_seen = false;
  int ended = 0;
  loop.start_work([&]() -> EventLoop::Task {
    return [&] {
      quick_seen = true;
      ++ended;
    };
  });
  loop.start_work([&]() -> EventLoop::Task {
    while (!quick_seen) std::this_thread::yield();
    return [&] { ++ended; };
  });
  loop.run([&] { return ended == 2; }, [] {});
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace pawl
