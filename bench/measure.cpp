#include "bench/measure.hpp"

#include <algorithm>
#include <cmath>

#include "bench/flush_count.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kWarmUpSaves = 20;

void take_turn(Track& track, std::size_t index, const Turn& turn, const NextState& next_state) {
  std::vector<double> round_us;
  const std::uint64_t flushes_before = track.writer->own_flushes().value_or(flush_count());
  const std::uint64_t all_before = flush_count();
  const Stopwatch whole;
  while (round_us.size() < turn.saves_max && whole.us() < turn.seconds_max * 1e6) {
    const std::string_view state = next_state(index);
    const Stopwatch one;
    track.writer->save(state);
    round_us.push_back(one.us());
  }
  track.flushes += track.writer->own_flushes().value_or(flush_count()) - flushes_before;
  track.all_flushes += flush_count() - all_before;
  track.saves += round_us.size();
  track.round_p50_us.push_back(median(round_us));
  track.all_us.insert(track.all_us.end(), round_us.begin(), round_us.end());
}

}  // namespace

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::ranges::nth_element(values, at);
  return *at;
}

void run_in_turns(std::vector<Track>& tracks, std::size_t rounds, const Turn& turn, const NextState& next_state) {
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    for (std::size_t save = 0; save < kWarmUpSaves; ++save) tracks[i].writer->save(next_state(i));
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < tracks.size(); ++i) take_turn(tracks[i], i, turn, next_state);
  }
}

double ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(a[i] / b[i]);
  return median(std::move(ratios));
}

std::vector<Row> rows_of(const std::vector<Track>& tracks, std::size_t pawl_index) {
  std::vector<Row> rows;
  for (const Track& track : tracks) {
    Row row;
    row.name = track.writer->name();
    row.flush_level = track.writer->flush_level();
    row.p50_us = percentile(track.all_us, 0.5);
    row.p99_us = percentile(track.all_us, 0.99);
    row.saves_per_s = 1e6 / median(track.round_p50_us);
    row.to_raw = ratio(track.round_p50_us, tracks.front().round_p50_us);
    row.to_pawl = ratio(track.round_p50_us, tracks[pawl_index].round_p50_us);
    row.flushes_per_save = static_cast<double>(track.flushes) / static_cast<double>(track.saves);
    row.all_flushes_per_save = static_cast<double>(track.all_flushes) / static_cast<double>(track.saves);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace pawl::bench
