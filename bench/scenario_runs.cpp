// Very many runs in one store.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "bench/measure.hpp"
#include "bench/pawl_store.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kThreads = 16;

void create_runs(const Folder& folder, std::size_t count) {
  PawlStore store(folder);
  const auto pool = state_pool(7, 64, 512);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) {
        const auto run = store.run(fmt::format("run-{:06}", i));
        save(*run, pool[i % pool.size()]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

double peak_mib() {
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Runs `work` in its own process, to measure its memory. Returns its result and its peak resident memory.
struct Apart {
  double result = 0;
  double peak_mib = 0;
};
template <class Work>
Apart apart(Work work) {
  int ends[2];
  if (::pipe(ends) != 0) give_up("pipe");
  const pid_t child = ::fork();
  if (child < 0) give_up("fork");
  if (child == 0) {
    Apart told;
    told.result = work();
    told.peak_mib = bench::peak_mib();
    const bool written = ::write(ends[1], &told, sizeof told) == sizeof told;
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  Apart told;
  const bool read = ::read(ends[0], &told, sizeof told) == sizeof told;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (!read) give_up("the measuring process failed");
  return told;
}

double open_ms(const Folder& folder) {
  std::vector<double> times_ms;
  for (int i = 0; i < 9; ++i) {
    const Stopwatch one;
    const PawlStore store(folder, Background::none);
    times_ms.push_back(one.us() / 1000);
  }
  return median(times_ms);
}

double list_ms(const Folder& folder) {
  std::vector<double> times_ms;
  for (int i = 0; i < 9; ++i) {
    const Stopwatch one;
    PawlStore store(folder, Background::none);
    if (must(store.store().runs(50)).size() != 50) give_up("fewer than 50 runs are listed");
    times_ms.push_back(one.us() / 1000);
  }
  return median(times_ms);
}

double open_run_ms(const Folder& folder, std::size_t count) {
  std::vector<double> times_ms;
  for (std::size_t i = 0; i < 9; ++i) {
    const Stopwatch one;
    PawlStore store(folder, Background::none);
    const auto run = store.run(fmt::format("run-{:06}", i * count / 10));
    times_ms.push_back(one.us() / 1000);
  }
  return median(times_ms);
}

double rebuild_s(const Folder& folder) {
  const Stopwatch one;
  PawlStore store(folder, Background::none);
  must(store.store().rebuild_catalogue());
  return one.us() / 1e6;
}

}  // namespace

Scenario measure_many_runs(const Settings& settings) {
  const Folder folder = subfolder(settings, "pawl");
  const std::size_t count = settings.quick() ? 5'000 : 100'000;
  const Apart made = apart([&] {
    const Stopwatch whole;
    create_runs(folder, count);
    return whole.us() / 1e6;
  });
  const Apart opened = apart([&] { return open_ms(folder); });
  const Apart listed = apart([&] { return list_ms(folder); });
  const Apart run_opened = apart([&] { return open_run_ms(folder, count); });
  std::filesystem::remove(folder / "catalogue.db");
  const Apart rebuilt = apart([&] { return rebuild_s(folder); });

  Scenario scenario{"many-runs", fmt::format("{} runs of one 512-byte state in one store", count)};
  scenario.figures = {
      {"making them, 16 threads", made.result, "s"},
      {"making them, a run", made.result / static_cast<double>(count) * 1000, "ms"},
      {"peak memory of making them", made.peak_mib, "MiB"},
      {"opening the store and one run for writing", run_opened.result, "ms"},
      {"peak memory of listing", listed.peak_mib, "MiB"},
      {"peak memory of rebuilding the catalogue", rebuilt.peak_mib, "MiB"},
  };
  scenario.goals.push_back({"opening the store, median", opened.result, Goal::Sense::at_most, 20, "ms"});
  scenario.goals.push_back({"opening it and listing the newest 50", listed.result, Goal::Sense::at_most, 50, "ms"});
  scenario.goals.push_back({"rebuilding the catalogue", rebuilt.result, Goal::Sense::at_most, 30, "s"});
  return scenario;
}

}  // namespace pawl::bench
