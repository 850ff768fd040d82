// Forks of a run with 1,000 checkpoints, from its middle: time and additional space.
#include "bench/measure.hpp"
#include "bench/pawl_store.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"
#include "engine/fork_run.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kCheckpoints = 1'000;
constexpr std::uint64_t kStateBytesMax = 1ULL << 30U;

double fork_by_program_us(const Folder& store, const std::string& id) {
  const std::string command = fmt::format("'{}' --store '{}' fork bench@500 --run-id {} >'{}' 2>&1", PAWL_PROGRAM,
                                          store.string(), id, (store.parent_path() / "out.txt").string());
  const Stopwatch one;
  if (std::system(command.c_str()) != 0) give_up("failed: " + command);
  return one.us();
}

}  // namespace

Scenario measure_fork(const Settings& settings) {
  const Folder folder = subfolder(settings, "store");
  {
    PawlStore store(folder, Background::thread, {});
    const auto writer = store.run("bench");
    PartedState state(14, 10, 500);
    for (std::size_t i = 0; i < kCheckpoints; ++i) {
      state.change();
      save(*writer, state.text());
    }
  }
  const std::size_t rounds = settings.quick() ? 10 : 50;
  const Usage before = disk_usage(folder / "runs");
  std::vector<double> library_us;
  {
    PawlStore store(folder, Background::thread, {});
    for (std::size_t i = 0; i < rounds; ++i) {
      const ForkRequest request{
          .parent = must(RunId::parse("bench")), .at = {500}, .id = must(RunId::parse(fmt::format("fork-{}", i)))};
      const Stopwatch one;
      must(fork_run(store.store(), request, kStateBytesMax));
      library_us.push_back(one.us());
    }
  }
  const double added = (disk_usage(folder / "runs").bytes - before.bytes) / static_cast<double>(rounds);
  std::vector<double> program_us;
  for (std::size_t i = 0; i < rounds; ++i) program_us.push_back(fork_by_program_us(folder, fmt::format("other-{}", i)));
  Scenario scenario{
      "fork",
      fmt::format("forks of a run with {} checkpoints of about 5 KB, at its middle, {} rounds (fdatasync and fsync)",
                  kCheckpoints, rounds)};
  scenario.figures = {
      {"in a program, 99th percentile", percentile(library_us, 0.99) / 1000, "ms"},
      {"`pawl fork`, a process each with the shell that starts it, median", median(program_us) / 1000, "ms"}};
  scenario.goals.push_back({"a fork in a program, median", median(library_us) / 1000, Goal::Sense::at_most, 10, "ms"});
  scenario.goals.push_back({"bytes that it adds to the store", added / 1000, Goal::Sense::at_most, 10, "KB"});
  return scenario;
}

}  // namespace pawl::bench
