// One writer: bursts, a long run with publishing, and a large state with small changes.
#include <filesystem>

#include "bench/measure.hpp"
#include "bench/pawl_store.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kStateBytes = 2048;
constexpr std::size_t kPool = 256;

/// Returns the states of the pool in turn. Each contestant has its own position.
NextState from_pool(const std::vector<std::string>& pool) {
  return [&pool, at = std::vector<std::size_t>(16)](std::size_t contestant) mutable {
    return std::string_view(pool[at[contestant]++ % pool.size()]);
  };
}

void add(std::vector<Track>& tracks, std::unique_ptr<SingleWriter> writer) {
  tracks.push_back(Track{.writer = std::move(writer)});
}

}  // namespace

Folder subfolder(const Settings& settings, const std::string& name) {
  Folder folder = settings.folder / name;
  std::filesystem::create_directories(folder);
  return folder;
}

Usage disk_usage(const Folder& folder) {
  Usage usage;
  if (!std::filesystem::exists(folder)) return usage;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    usage.bytes += static_cast<double>(entry.file_size());
    ++usage.files;
  }
  return usage;
}

Scenario measure_bursts(const Settings& settings) {
  std::vector<Track> tracks;
  add(tracks, make_raw(subfolder(settings, "raw"), kStateBytes));
  add(tracks, make_pawl(subfolder(settings, "pawl")));
  add(tracks, make_sqlite(subfolder(settings, "sqlite")));
  add(tracks, make_rocksdb(subfolder(settings, "rocksdb")));
  add(tracks, make_file_per_checkpoint(subfolder(settings, "files")));
  const auto pool = state_pool(1, kPool, kStateBytes);
  run_in_turns(tracks, settings.quick() ? 10 : 40, Turn{.saves_max = 100}, from_pool(pool));
  Scenario scenario{"bursts", "one writer, 2 KiB JSON states that change wholly, bursts of 100 in turns"};
  scenario.rows = rows_of(tracks, 1);
  scenario.goals.push_back({"p50 to raw", *scenario.rows[1].to_raw, Goal::Sense::at_most, 1.15, ""});
  scenario.goals.push_back({"flushes per save", *scenario.rows[1].flushes_per_save, Goal::Sense::at_most, 1.0, ""});
  return scenario;
}

Scenario measure_sustained(const Settings& settings) {
  const Folder pawl_folder = subfolder(settings, "pawl");
  std::vector<Track> tracks;
  add(tracks, make_raw(subfolder(settings, "raw"), kStateBytes));
  add(tracks, make_pawl(pawl_folder));
  const auto pool = state_pool(2, kPool, kStateBytes);
  const double seconds = settings.seconds_or(60, 6);
  const double slice_seconds = std::min(seconds, 3.0);
  run_in_turns(tracks, static_cast<std::size_t>(seconds / slice_seconds), Turn{.seconds_max = slice_seconds},
               from_pool(pool));
  Scenario scenario{"sustained", fmt::format("the same for {:.0f} s each, in turns of {:.0f} s, publishing going on",
                                             seconds, slice_seconds)};
  scenario.rows = rows_of(tracks, 1);
  const Usage journal = disk_usage(pawl_folder / "journal");
  const Usage published = disk_usage(pawl_folder / "runs");
  scenario.figures.push_back({"pawl: saves", static_cast<double>(tracks[1].saves), ""});
  scenario.figures.push_back({"pawl: slowest save", percentile(tracks[1].all_us, 1.0) / 1000, "ms"});
  scenario.figures.push_back({"raw: slowest append", percentile(tracks[0].all_us, 1.0) / 1000, "ms"});
  scenario.figures.push_back({"pawl: readable files so far", published.bytes / 1e6, "MB"});
  scenario.figures.push_back({"pawl: readable files so far", static_cast<double>(published.files), "files"});
  scenario.goals.push_back({"p50 to raw", *scenario.rows[1].to_raw, Goal::Sense::at_most, 1.3, ""});
  scenario.goals.push_back({"size of the journal", journal.bytes / (1 << 20), Goal::Sense::at_most, 16.01, "MiB"});
  return scenario;
}

Scenario measure_small_change(const Settings& settings) {
  std::vector<Track> tracks;
  add(tracks, make_raw(subfolder(settings, "raw"), kStateBytes));
  add(tracks, make_pawl(subfolder(settings, "pawl")));
  PartedState state(3, 100, 1000);
  const auto next = [&](std::size_t) {
    state.change();
    return std::string_view(state.text());
  };
  run_in_turns(tracks, settings.quick() ? 10 : 40, Turn{.saves_max = 100}, next);
  Scenario scenario{"small-change", "one writer, a 100 KB state of which 1 KB changes; raw: 2 KiB append"};
  scenario.rows = rows_of(tracks, 1);
  scenario.goals.push_back({"p50 to raw", *scenario.rows[1].to_raw, Goal::Sense::at_most, 1.6, ""});
  return scenario;
}

}  // namespace pawl::bench
