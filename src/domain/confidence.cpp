#include "domain/confidence.hpp"

#include <algorithm>

namespace pawl {

Crossing crossing(double from, double to, double threshold) {
  const bool was_enough = from >= threshold;
  const bool is_enough = to >= threshold;
  if (was_enough == is_enough) return Crossing::none;
  return is_enough ? Crossing::rose_to : Crossing::fell_below;
}

ConfidenceHistory::ConfidenceHistory(double threshold, std::size_t snapshots_max)
    : threshold_(threshold), snapshots_max_(std::max<std::size_t>(snapshots_max, 1)) {}

Crossing ConfidenceHistory::add(ConfidenceSnapshot snapshot) {
  const auto of_agent = std::find_if(latest_.begin(), latest_.end(),
                                     [&](const ConfidenceSnapshot& s) { return s.agent == snapshot.agent; });
  const double before = of_agent == latest_.end() ? threshold_ : of_agent->value;
  const Crossing result = crossing(before, snapshot.value, threshold_);
  if (of_agent == latest_.end()) {
    latest_.push_back(snapshot);
  } else {
    *of_agent = snapshot;
  }
  // Removes half at once, so that a long history is not shifted at each addition.
  if (snapshots_.size() >= snapshots_max_) {
    const auto dropped = static_cast<std::ptrdiff_t>((snapshots_max_ + 1) / 2);
    snapshots_.erase(snapshots_.begin(), snapshots_.begin() + dropped);
  }
  snapshots_.push_back(std::move(snapshot));
  return result;
}

std::optional<double> ConfidenceHistory::latest(std::string_view agent) const {
  for (const ConfidenceSnapshot& snapshot : latest_) {
    if (snapshot.agent == agent) return snapshot.value;
  }
  return std::nullopt;
}

std::optional<double> ConfidenceHistory::lowest() const {
  std::optional<double> lowest;
  for (const ConfidenceSnapshot& snapshot : latest_) {
    if (!lowest || snapshot.value < *lowest) lowest = snapshot.value;
  }
  return lowest;
}

}  // namespace pawl
