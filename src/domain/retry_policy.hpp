// When and how often something that failed is tried again.
#pragma once

#include <cstdint>
#include <pawl/error.hpp>

namespace pawl {

struct RetryPolicy {
  std::uint32_t attempts = 3;  // in all, the first one included
  std::uint64_t base_delay_ms = 100;
  std::uint64_t max_delay_ms = 5'000;
  double factor = 2.0;  // from one delay to the next
  double jitter = 0.5;  // the share of a delay that is left to chance, 0 to 1

  /// Whether another attempt may follow `attempt` (from 1).
  [[nodiscard]] bool allows_after(std::uint32_t attempt) const { return attempt < attempts; }

  /// How long to wait after attempt number `attempt` (from 1) has failed: base, base * factor, ..., at
  /// most max_delay_ms. `random_fraction` (0 to 1) shortens it by up to `jitter`. Values out of range are
  /// taken as the nearest one that is in range.
  [[nodiscard]] std::uint64_t delay_ms(std::uint32_t attempt, double random_fraction) const;
};

/// Whether the same call can succeed later without anyone changing anything but the circumstances: a full
/// disk, a busy store, a passing failure of the filesystem. `outcome_unknown` is not: it needs a new handle
/// and a caller's id.
[[nodiscard]] bool is_retryable(Code code);

}  // namespace pawl
