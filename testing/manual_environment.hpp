// Time, randomness and identity under the test's control.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "ports/environment.hpp"

namespace pawl::testing {

/// A clock that only advances when the test advances it or something sleeps. Thread-safe.
class ManualClock final : public Clock {
 public:
  /// Starts at 2026-01-11T14:30:00Z by default.
  explicit ManualClock(Timestamp start = Timestamp{1'768'141'800'000'000}) : wall_us_(start.us) {}

  [[nodiscard]] Timestamp now() override { return Timestamp{wall_us_.load()}; }
  [[nodiscard]] std::int64_t monotonic_us() override { return monotonic_us_.load(); }
  void sleep_us(std::int64_t duration_us) override {
    if (really_sleeps_) std::this_thread::sleep_for(std::chrono::microseconds(duration_us));
    advance(duration_us);
  }
  /// Makes sleep_us really sleep, for stores with threads: a waiting thread must let others run.
  void sleep_really() { really_sleeps_ = true; }

  /// Advances both clocks. Ignores 0 and negative values.
  void advance(std::int64_t duration_us) {
    wall_us_ += std::max<std::int64_t>(duration_us, 0);
    monotonic_us_ += std::max<std::int64_t>(duration_us, 0);
  }
  /// Sets the wall clock, possibly backwards. Does not affect monotonic time.
  void set(Timestamp wall) { wall_us_ = wall.us; }
  void jump(std::int64_t delta_us) { wall_us_ += delta_us; }

 private:
  std::atomic<std::int64_t> wall_us_;
  std::atomic<std::int64_t> monotonic_us_{0};
  std::atomic<bool> really_sleeps_ = false;
};

/// splitmix64: the same seed gives the same numbers on every machine. Thread-safe.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t next() override {
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = state_.fetch_add(kGolden, std::memory_order_relaxed) + kGolden;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31U);
  }
  /// Returns a number less than `bound`, which must not be 0. Uniform enough for tests.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  [[nodiscard]] bool coin() { return (next() & 1U) != 0; }
  /// Another generator with this state returns the same numbers as this one from now on.
  [[nodiscard]] std::uint64_t state() const { return state_.load(); }
  void reseed(std::uint64_t seed) { state_ = seed; }

 private:
  std::atomic<std::uint64_t> state_;
};

/// A process of a simulated machine.
[[nodiscard]] inline Owner sim_owner(std::string boot_id, std::uint64_t pid) {
  return Owner{std::move(boot_id), pid, pid * 100, "sim", "test"};
}

}  // namespace pawl::testing
