#include "domain/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pawl {
namespace {

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return b > kMost - a ? kMost : a + b;
}

}  // namespace

Metrics operator+(const Metrics& a, const Metrics& b) {
  return {sum(a.elapsed_ms, b.elapsed_ms), sum(a.api_calls, b.api_calls), sum(a.tokens, b.tokens),
          std::max(a.memory_peak_bytes, b.memory_peak_bytes), a.cost + b.cost};
}

std::string to_json(const Metrics& metrics) {
  return fmt::format(R"({{"elapsed_ms":{},"api_calls":{},"tokens":{},"memory_peak_bytes":{},"cost":{}}})",
                     metrics.elapsed_ms, metrics.api_calls, metrics.tokens, metrics.memory_peak_bytes,
                     std::isfinite(metrics.cost) ? fmt::format("{}", metrics.cost) : "null");
}

}  // namespace pawl
