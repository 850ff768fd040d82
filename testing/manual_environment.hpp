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

/// Stands still until told otherwise; sleeping advances it. Thread-safe.
class ManualClock final : public Clock {
 public:
  /// 2026-01-11T14:30:00Z unless told.
  explicit ManualClock(Timestamp start = Timestamp{1'768'141'800'000'000}) : wall_us_(start.us) {}

  [[nodiscard]] Timestamp now() override { return Timestamp{wall_us_.load()}; }
  [[nodiscard]] std::int64_t monotonic_us() override { return monotonic_us_.load(); }
  void sleep_us(std::int64_t duration_us) override {
    if (really_sleeps_) std::this_thread::sleep_for(std::chrono::microseconds(duration_us));
    advance(duration_us);
  }
  /// For stores with threads: who waits for another one gives it the time.
  void sleep_really() { really_sleeps_ = true; }

  /// Time passes: both clocks go on. Nothing for 0 and less.
  void advance(std::int64_t duration_us) {
    wall_us_ += std::max<std::int64_t>(duration_us, 0);
    monotonic_us_ += std::max<std::int64_t>(duration_us, 0);
  }
  /// Someone sets the wall clock, perhaps back; monotonic time does not notice.
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
  /// Less than `bound`, which must not be 0. Even enough for tests.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  [[nodiscard]] bool coin() { return (next() & 1U) != 0; }
  /// A generator with this state goes on exactly as this one does.
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
