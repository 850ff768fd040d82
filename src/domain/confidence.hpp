// The confidence of agents over time, and when it crosses a threshold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct ConfidenceSnapshot {
  Timestamp at;
  std::string agent;
  double value = 0.0;  // 0 to 1
  bool operator==(const ConfidenceSnapshot&) const = default;
};

enum class Crossing : std::uint8_t { none, fell_below, rose_to };

/// Whether going from one value to the next crosses the threshold. A value equal to it is not below.
/// What is not a number counts as below.
[[nodiscard]] Crossing crossing(double from, double to, double threshold);

/// The newest snapshots of each agent, within a bound.
class ConfidenceHistory {
 public:
  explicit ConfidenceHistory(double threshold, std::size_t snapshots_max = 1'000);

  /// Adds a snapshot and says whether its agent has crossed the threshold since its last one. An agent
  /// begins at the threshold: a first value below it is a crossing.
  Crossing add(ConfidenceSnapshot snapshot);

  [[nodiscard]] std::optional<double> latest(std::string_view agent) const;
  /// The lowest of the agents' latest values.
  [[nodiscard]] std::optional<double> lowest() const;
  /// Oldest first.
  [[nodiscard]] const std::vector<ConfidenceSnapshot>& snapshots() const { return snapshots_; }

 private:
  double threshold_;
  std::size_t snapshots_max_;
  std::vector<ConfidenceSnapshot> snapshots_;
  std::vector<ConfidenceSnapshot> latest_;  // one per agent
};

}  // namespace pawl
