// The scenarios. Each takes its own empty folder.
#pragma once

#include "bench/report.hpp"
#include "bench/stores.hpp"

namespace pawl::bench {

struct Settings {
  Folder folder;
  double seconds_per = 0;  // for scenarios with a time limit; 0: their default
  enum class Size : std::uint8_t { full, quick } size = Size::full;
  [[nodiscard]] bool quick() const { return size == Size::quick; }
  [[nodiscard]] double seconds_or(double full_seconds, double quick_seconds) const {
    return seconds_per > 0 ? seconds_per : quick() ? quick_seconds : full_seconds;
  }
};

[[nodiscard]] Scenario measure_bursts(const Settings& settings);
[[nodiscard]] Scenario measure_sustained(const Settings& settings);
[[nodiscard]] Scenario measure_threads(const Settings& settings);
/// The same without the other stores, for a profile.
[[nodiscard]] Scenario measure_threads_alone(const Settings& settings);
[[nodiscard]] Scenario measure_small_change(const Settings& settings);
[[nodiscard]] Scenario measure_growth(const Settings& settings);
[[nodiscard]] Scenario measure_many_runs(const Settings& settings);
[[nodiscard]] Scenario measure_small_runs(const Settings& settings);
[[nodiscard]] Scenario measure_one_shot(const Settings& settings);
[[nodiscard]] Scenario measure_codecs(const Settings& settings);
[[nodiscard]] Scenario measure_prune(const Settings& settings);
[[nodiscard]] Scenario measure_recovery(const Settings& settings);
[[nodiscard]] Scenario measure_fork(const Settings& settings);
[[nodiscard]] Scenario measure_cpu(const Settings& settings);

/// Creates a folder below that of the scenario.
[[nodiscard]] Folder subfolder(const Settings& settings, const std::string& name);
/// The size and the number of all files below `folder`.
struct Usage {
  double bytes = 0;
  std::size_t files = 0;
};
[[nodiscard]] Usage disk_usage(const Folder& folder);

}  // namespace pawl::bench
