#include "domain/retry_policy.hpp"

#include <algorithm>
#include <cmath>

namespace pawl {
namespace {

/// Treats NaN as 0.
double clamped(double value) { return value > 0.0 ? std::min(value, 1.0) : 0.0; }

}  // namespace

std::uint64_t RetryPolicy::delay_ms(std::uint32_t attempt, double random_fraction) const {
  if (base_delay_ms == 0 || max_delay_ms == 0) return 0;
  const double growth = std::pow(factor >= 1.0 ? factor : 1.0, attempt > 0 ? attempt - 1.0 : 0.0);
  const double grown = static_cast<double>(base_delay_ms) * growth;  // may be infinite
  const bool capped = !(grown < static_cast<double>(max_delay_ms));
  const std::uint64_t whole = capped ? max_delay_ms : static_cast<std::uint64_t>(grown);
  const double taken = static_cast<double>(whole) * clamped(jitter) * clamped(random_fraction);
  // A double can round a large integer up, so `taken` must be bounded before it is converted.
  return taken < static_cast<double>(whole) ? whole - static_cast<std::uint64_t>(taken) : 0;
}

bool is_retryable(Code code) {
  switch (code) {
    case Code::disk_full:
    case Code::rename_failed:
    case Code::write_failed:
    case Code::read_failed:
    case Code::store_busy:
    case Code::run_busy: return true;
    default: return false;
  }
}

}  // namespace pawl
