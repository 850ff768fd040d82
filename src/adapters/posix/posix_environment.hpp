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
  [[nodiscard]] std::int64_t since_boot_us() override;
  /// Sleeps at least that long, even if signals arrive. Returns at once for 0 or less.
  void sleep_us(std::int64_t duration_us) override;
};

/// Random numbers of the kernel (getrandom), read in blocks. Thread-safe. A forked child reads its own.
class SystemRandom final : public Random {
 public:
  [[nodiscard]] std::uint64_t next() override;

 private:
  void refill() PAWL_REQUIRES(mutex_);
  static constexpr std::size_t kBlock = 64;

  Mutex mutex_;
  std::array<std::uint64_t, kBlock> block_ PAWL_GUARDED_BY(mutex_){};
  std::size_t used_ PAWL_GUARDED_BY(mutex_) = kBlock;
  std::uint64_t generation_ PAWL_GUARDED_BY(mutex_) = 0;  // fork_generation() when the block was filled
};

/// Returns the time, or the nearest one that a record can contain: from 1970 to the end of 9999.
[[nodiscard]] Timestamp storable_time(std::int64_t us);

/// Describes this process. Unknown values are empty or 0.
[[nodiscard]] Owner current_owner();

/// Returns an environment that owns a SystemClock and a SystemRandom, for this process.
[[nodiscard]] Environment system_environment();

/// Parses /proc/PID/stat. Returns nothing if the text is invalid.
struct ProcessStat {
  char state = '?';
  std::uint64_t started = 0;  // in kernel ticks since boot
};
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace pawl
