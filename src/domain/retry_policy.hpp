// When and how often a failed operation is repeated.
#pragma once

#include <cstdint>
#include <pawl/error.hpp>

namespace pawl {

struct RetryPolicy {
  std::uint32_t attempts = 3;  // in total, including the first one
  std::uint64_t base_delay_ms = 100;
  std::uint64_t max_delay_ms = 5'000;
  double factor = 2.0;  // from one delay to the next
  double jitter = 0.5;  // the random part of a delay, 0 to 1

  /// Returns whether another attempt may follow `attempt` (counted from 1).
  [[nodiscard]] bool allows_after(std::uint32_t attempt) const { return attempt < attempts; }

  /// Returns the delay after attempt number `attempt` (counted from 1): base, base * factor, ..., at most max_delay_ms.
  /// `random_fraction` (0 to 1) shortens it by up to `jitter`. Values out of range are clamped.
  [[nodiscard]] std::uint64_t delay_ms(std::uint32_t attempt, double random_fraction) const;
};

/// Returns whether the same call can succeed later without a change: a full disk, a busy store, a temporary failure of
/// the file system. `outcome_unknown` is not such an error: it requires a new handle and a caller ID.
[[nodiscard]] bool is_retryable(Code code);

}  // namespace pawl
