// A growing conversation: its size on the disk, and the time to save and restore it.
#include <algorithm>

#include "bench/measure.hpp"
#include "bench/pawl_store.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kSaves = 1000;
constexpr std::size_t kGrowthBytes = 500;

double median_of(const std::vector<double>& values, std::size_t first, std::size_t count) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  return median(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count)));
}

/// Returns the times to restore it with a new handle each time, including opening the store.
std::vector<double> restore_ms(const Folder& folder, const std::vector<std::uint64_t>& sequences) {
  std::vector<double> times_ms;
  for (const std::uint64_t sequence : sequences) {
    const Stopwatch one;
    PawlStore store(folder, Background::none);
    const Which which = sequence == 0 ? Which{} : Which{.by = Which::By::sequence, .sequence = Sequence{sequence}};
    const Restored restored = must(store.store().restore(must(RunId::parse("talk")), which));
    times_ms.push_back(one.us() / 1000);
    if (sequence != 0 && restored.info.sequence.value != sequence) give_up("restored another checkpoint");
  }
  return times_ms;
}

double settled_bytes(const Folder& folder) { return disk_usage(folder).bytes - disk_usage(folder / "journal").bytes; }

}  // namespace

Scenario measure_growth(const Settings& settings) {
  const Folder folder = subfolder(settings, "pawl");
  const Folder raw_folder = subfolder(settings, "raw");
  std::vector<double> save_us;
  std::vector<double> raw_us;
  Conversation talk(5);
  {
    PawlStore store(folder);
    const auto raw = make_raw(raw_folder, 2048);
    const auto run = store.run("talk");
    for (std::size_t i = 0; i < kSaves; ++i) {
      talk.grow(kGrowthBytes);
      const Stopwatch one;
      save(*run, talk.text());
      save_us.push_back(one.us());
      const Stopwatch floor;
      raw->save(talk.text());
      raw_us.push_back(floor.us());
    }
  }
  const double allowed = 3.0 * static_cast<double>(talk.text().size()) + 600.0 * kSaves;
  const double closed = settled_bytes(folder);
  std::vector<std::uint64_t> older;
  Dice dice(6);
  for (int i = 0; i < 60; ++i) older.push_back(1 + dice.next() % kSaves);
  const auto open_latest = restore_ms(folder, std::vector<std::uint64_t>(40, 0));
  const auto open_older = restore_ms(folder, older);
  {
    PawlStore store(folder);
    const auto run = store.run("talk");
    must(store.store().settle_all());
  }
  const double settled = settled_bytes(folder);
  const auto latest = restore_ms(folder, std::vector<std::uint64_t>(40, 0));
  const auto old = restore_ms(folder, older);

  Scenario scenario{"growth", "1,000 saves of a conversation that grows by 500 bytes; restores by a new handle"};
  const double first = median_of(save_us, 0, 100) / median_of(raw_us, 0, 100);
  const double last = median_of(save_us, kSaves - 100, 100) / median_of(raw_us, kSaves - 100, 100);
  scenario.figures = {
      {"state at the end", static_cast<double>(talk.text().size()) / 1000, "KB"},
      {"files without journal/, store closed", closed / 1000, "KB"},
      {"files without journal/, settled", settled / 1000, "KB"},
      {"median save, first 100", median_of(save_us, 0, 100), "us"},
      {"median save, last 100", median_of(save_us, kSaves - 100, 100), "us"},
      {"to a raw 2 KiB append beside it, first 100", first, "x"},
      {"to a raw 2 KiB append beside it, last 100", last, "x"},
      {"restore of the latest, median, from the journal", median(open_latest), "ms"},
      {"restore of an older one, slowest of 60, from the journal", percentile(open_older, 1.0), "ms"},
      {"restore of an older one, median, settled", median(old), "ms"},
  };
  scenario.goals.push_back(
      {"bytes, closed, to 3 x new bytes + 600 a save", closed / allowed, Goal::Sense::at_most, 1, ""});
  scenario.goals.push_back(
      {"bytes, settled, to 3 x new bytes + 600 a save", settled / allowed, Goal::Sense::at_most, 1, ""});
  scenario.goals.push_back({"save time, last 100 to first 100", last / first, Goal::Sense::at_most, 1.5, ""});
  scenario.goals.push_back(
      {"restore of the latest, median", std::max(median(latest), median(open_latest)), Goal::Sense::at_most, 2, "ms"});
  scenario.goals.push_back({"restore of an older one, slowest of 60",
                            std::max(percentile(old, 1.0), percentile(open_older, 1.0)), Goal::Sense::at_most, 20,
                            "ms"});
  return scenario;
}

}  // namespace pawl::bench
