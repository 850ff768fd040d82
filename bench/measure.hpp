// Times and their statistics, and running contestants in turns.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/report.hpp"
#include "bench/stores.hpp"

namespace pawl::bench {

class Stopwatch {
 public:
  [[nodiscard]] double us() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Returns the value that `share` of the values don't exceed: 0.5 for the median. Returns 0 if there are no values.
[[nodiscard]] double percentile(std::vector<double> values, double share);
[[nodiscard]] inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

/// The measurements of one contestant so far, round by round.
struct Track {
  std::unique_ptr<SingleWriter> writer;
  std::vector<double> all_us = {};
  std::vector<double> round_p50_us = {};
  std::uint64_t saves = 0;
  std::uint64_t flushes = 0;      // on the save path, if the store reports them
  std::uint64_t all_flushes = 0;  // of the process during the turns of the contestant
};

/// Limits of a turn.
struct Turn {
  std::size_t saves_max = SIZE_MAX;
  double seconds_max = 1e9;
};

/// Gives every contestant a turn, `rounds` times, so that noise affects all of them alike. `next_state` returns the
/// state for the next save of the given contestant; it is not timed.
using NextState = std::function<std::string_view(std::size_t contestant)>;
void run_in_turns(std::vector<Track>& tracks, std::size_t rounds, const Turn& turn, const NextState& next_state);

/// Returns a row for each track; the first track is the raw one. Ratios are medians of the ratios per round, in which
/// both numbers were measured at nearly the same time.
[[nodiscard]] std::vector<Row> rows_of(const std::vector<Track>& tracks, std::size_t pawl_index);

/// Returns the median of a's values divided by b's, round by round.
[[nodiscard]] double ratio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace pawl::bench
