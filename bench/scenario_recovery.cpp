// A full recovery: rebuilds 10,000 checkpoints of a growing state and checks each hash.
#include <algorithm>

#include "bench/measure.hpp"
#include "bench/pawl_store.hpp"
#include "bench/scenarios.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kCheckpoints = 10'000;

/// A conversation that grows by one message of about 100 bytes.
std::string state_of(std::size_t number) {
  std::string state = fmt::format("{{\"run\":\"bench\",\"done\":{},\"messages\":[", number);
  const std::size_t from = number > 40 ? number - 40 : 0;
  for (std::size_t i = from; i <= number; ++i)
    state += fmt::format("{}{{\"role\":\"agent\",\"n\":{},\"text\":\"{:0>80}\"}}", i == from ? "" : ",", i, i * 7919);
  return state + "]}";
}

}  // namespace

Scenario measure_recovery(const Settings& settings) {
  const RunId run = must(RunId::parse("bench"));
  const Folder folder = subfolder(settings, "store");
  {
    PawlStore store(folder, Background::thread, {});
    const auto writer = store.run("bench");
    for (std::size_t i = 0; i < kCheckpoints; ++i) save(*writer, state_of(i));
  }
  const std::size_t rounds = settings.quick() ? 5 : 15;
  std::vector<double> full_us;
  std::vector<double> latest_us;
  double rebuilt = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    PawlStore store(folder, Background::none, {});
    const Stopwatch full;
    rebuilt = static_cast<double>(must(store.store().recover(run, {.extent = RecoverExtent::all})).rebuilt);
    full_us.push_back(full.us());
    const Stopwatch latest;
    static_cast<void>(must(store.store().restore(run, {})));
    latest_us.push_back(latest.us());
  }
  Scenario scenario{"recovery",
                    fmt::format("{} checkpoints of a state of about 5 KB, {} rounds", kCheckpoints, rounds)};
  scenario.figures = {
      {"checkpoints rebuilt", rebuilt, ""},
      {"full recovery, median", median(full_us) / 1000, "ms"},
      {"full recovery, slowest", *std::ranges::max_element(full_us) / 1000, "ms"},
      {"latest, median", median(latest_us) / 1000, "ms"},
      {"files of the run", disk_usage(folder / "runs").bytes / 1e6, "MB"},
  };
  scenario.goals.push_back(
      {"10,000 checkpoints rebuilt by a full recovery", median(full_us) / 1000, Goal::Sense::at_most, 500, "ms"});
  return scenario;
}

}  // namespace pawl::bench
