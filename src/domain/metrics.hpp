// What an execution has used.
#pragma once

#include <cstdint>
#include <string>

namespace pawl {

struct Metrics {
  std::uint64_t elapsed_ms = 0;
  std::uint64_t api_calls = 0;
  std::uint64_t tokens = 0;
  std::uint64_t memory_peak_bytes = 0;
  double cost = 0.0;  // in the currency of the configuration
  bool operator==(const Metrics&) const = default;
};

/// Sums that stay at the largest number rather than wrap around; of the memory peaks the larger one.
[[nodiscard]] Metrics operator+(const Metrics& a, const Metrics& b);
inline Metrics& operator+=(Metrics& a, const Metrics& b) { return a = a + b; }

[[nodiscard]] std::string to_json(const Metrics& metrics);

}  // namespace pawl
