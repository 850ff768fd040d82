// What is measured. Each takes an empty folder of its own.
#pragma once

#include "bench/report.hpp"
#include "bench/stores.hpp"

namespace pawl::bench {

struct Settings {
  Folder folder;
  double seconds_per = 0;  // for scenarios that run for a time; 0: their own
  enum class Size : std::uint8_t { full, quick } size = Size::full;
  [[nodiscard]] bool quick() const { return size == Size::quick; }
  [[nodiscard]] double seconds_or(double full_seconds, double quick_seconds) const {
    return seconds_per > 0 ? seconds_per : quick() ? quick_seconds : full_seconds;
  }
};

[[nodiscard]] Scenario measure_bursts(const Settings& settings);
[[nodiscard]] Scenario measure_sustained(const Settings& settings);
[[nodiscard]] Scenario measure_threads(const Settings& settings);
[[nodiscard]] Scenario measure_small_change(const Settings& settings);
[[nodiscard]] Scenario measure_growth(const Settings& settings);
[[nodiscard]] Scenario measure_many_runs(const Settings& settings);
[[nodiscard]] Scenario measure_one_shot(const Settings& settings);
[[nodiscard]] Scenario measure_codecs(const Settings& settings);
[[nodiscard]] Scenario measure_prune(const Settings& settings);
[[nodiscard]] Scenario measure_recovery(const Settings& settings);
[[nodiscard]] Scenario measure_fork(const Settings& settings);
[[nodiscard]] Scenario measure_cpu(const Settings& settings);

/// A new folder below the scenario's own.
[[nodiscard]] Folder subfolder(const Settings& settings, const std::string& name);
/// The bytes of all files below `folder`, and how many files there are.
struct Usage {
  double bytes = 0;
  std::size_t files = 0;
};
[[nodiscard]] Usage disk_usage(const Folder& folder);

}  // namespace pawl::bench
