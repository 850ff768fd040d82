// Saves next to a pruner that is always busy, and saves without one, in turns.
#include <algorithm>

#include "bench/measure.hpp"
#include "bench/pawl_store.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kStateBytes = 20'000;  // all bytes are new, so a group of checkpoints is full after about 13
constexpr std::uint64_t kKept = 10;

struct Side {
  explicit Side(const Folder& place, const RetentionSettings& retention)
      : folder(place), store(place, Background::thread, retention), run(store.run("bench")) {}
  void turn(const std::vector<std::string>& states, std::size_t saves) {
    for (std::size_t i = 0; i < saves; ++i) {
      const Stopwatch one;
      save(*run, states[next++ % states.size()]);
      us.push_back(one.us());
    }
  }
  Folder folder;
  PawlStore store;
  std::unique_ptr<RunWriter> run;
  std::vector<double> us;
  std::size_t next = 0;
};

}  // namespace

Scenario measure_prune(const Settings& settings) {
  const std::size_t rounds = settings.quick() ? 6 : 20;
  const std::size_t saves = settings.quick() ? 200 : 500;
  const std::vector<std::string> states = state_pool(12, 512, kStateBytes);
  Side without(subfolder(settings, "without"), {});
  Side with(subfolder(settings, "with"), {.keep = kKept, .keep_days = {}, .keep_per_stage = {}});
  for (std::size_t round = 0; round < rounds; ++round) {
    without.turn(states, saves);
    with.turn(states, saves);
  }
  const double last =
      static_cast<double>(must(with.store.store().checkpoints(must(RunId::parse("bench")), {}, SIZE_MAX)).size());
  Scenario scenario{"prune", fmt::format("{} saves of 20 KB without pruning and {} with (--keep {}), in turns",
                                         rounds * saves, rounds * saves, kKept)};
  const double p99_without = percentile(without.us, 0.99);
  const double p99_with = percentile(with.us, 0.99);
  scenario.figures = {
      {"median save without pruning", median(without.us), "us"},
      {"median save while pruning", median(with.us), "us"},
      {"p99 without pruning", p99_without, "us"},
      {"p99 while pruning", p99_with, "us"},
      {"checkpoints left", last, ""},
      {"files of the run, without pruning", disk_usage(without.folder / "runs").bytes / 1e6, "MB"},
      {"files of the run, with pruning", disk_usage(with.folder / "runs").bytes / 1e6, "MB"},
  };
  scenario.goals.push_back(
      {"p99 of a save while pruning, to that without", p99_with / p99_without, Goal::Sense::at_most, 2, ""});
  return scenario;
}

}  // namespace pawl::bench
