// Times and their statistics, and the running of contestants in turns.
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

/// `share` of the values are at or below the result: 0.5 for the median. 0 for no values.
[[nodiscard]] double percentile(std::vector<double> values, double share);
[[nodiscard]] inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

/// What one contestant has shown so far, round by round.
struct Track {
  std::unique_ptr<SingleWriter> writer;
  std::vector<double> all_us = {};
  std::vector<double> round_p50_us = {};
  std::uint64_t saves = 0;
  std::uint64_t flushes = 0;      // on the save path, where the store can tell
  std::uint64_t all_flushes = 0;  // of the process during its turns
};

/// When a turn is over.
struct Turn {
  std::size_t saves_max = SIZE_MAX;
  double seconds_max = 1e9;
};

/// Gives every contestant a turn, `rounds` times over, so that noise hits all of them alike. `next_state`
/// makes the state of the next save of this contestant (its number is given); that is not timed.
using NextState = std::function<std::string_view(std::size_t contestant)>;
void run_in_turns(std::vector<Track>& tracks, std::size_t rounds, const Turn& turn, const NextState& next_state);

/// The rows of the tracks; the first track is the raw one. Ratios are medians of the rounds' ratios, in
/// which both numbers were measured within moments of each other.
[[nodiscard]] std::vector<Row> rows_of(const std::vector<Track>& tracks, std::size_t pawl_index);

/// Median of a's rounds divided by b's, round by round.
[[nodiscard]] double ratio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace pawl::bench
