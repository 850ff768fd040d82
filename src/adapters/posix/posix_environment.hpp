// Time, randomness and identity from the Linux kernel.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string_view>

#include "base/mutex.hpp"
#include "ports/environment.hpp"

namespace pawl {

/// Thread-safe.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() override;
  [[nodiscard]] std::int64_t monotonic_us() override;
  /// Sleeps at least that long, also across signals. Nothing for 0 and less.
  void sleep_us(std::int64_t duration_us) override;
};

/// The kernel's random numbers (getrandom), taken in blocks. Thread-safe. A forked child gets its own.
class SystemRandom final : public Random {
 public:
  [[nodiscard]] std::uint64_t next() override;

 private:
  void refill() PAWL_REQUIRES(mutex_);
  static constexpr std::size_t kBlock = 64;

  Mutex mutex_;
  std::array<std::uint64_t, kBlock> block_ PAWL_GUARDED_BY(mutex_){};
  std::size_t used_ PAWL_GUARDED_BY(mutex_) = kBlock;
  pid_t pid_ PAWL_GUARDED_BY(mutex_) = 0;  // of the process that filled the block
};

/// This process. What can't be learnt stays empty or 0.
[[nodiscard]] Owner current_owner();

/// What /proc/PID/stat says about a process. None where the text is not of that form.
struct ProcessStat {
  char state = '?';
  std::uint64_t started = 0;  // in the kernel's ticks since its start
};
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace pawl
