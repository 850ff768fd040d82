// Very many runs in one store.
#include <sys/resource.h>
#include <sys/stat.h>
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

struct SmallRuns {
  double runs_per_s = 0;
  double new_run_ms = 0;  // of the last tenth, to the first durable save
};

/// Creates runs of three saves each. Times the last tenth, when the journal has records of many runs.
SmallRuns create_small_runs(const Folder& folder, std::size_t count) {
  PawlStore store(folder);
  const auto pool = state_pool(8, 64, 2048);
  std::atomic<std::size_t> next{0};
  std::vector<double> new_run_ms(count);
  std::vector<std::thread> threads;
  const Stopwatch whole;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) {
        const Stopwatch one;
        const auto run = store.run(fmt::format("run-{:06}", i));
        new_run_ms[i] = one.us() / 1000;
        for (std::size_t step = 0; step < 3; ++step) save(*run, pool[(i + step) % pool.size()]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  SmallRuns made{.runs_per_s = static_cast<double>(count) / (whole.us() / 1e6)};
  new_run_ms.erase(new_run_ms.begin(), new_run_ms.end() - static_cast<std::ptrdiff_t>(count / 10));
  made.new_run_ms = median(new_run_ms);
  return made;
}

/// Opens new runs one after the other in an open store.
double new_run_ms(const Folder& folder, std::size_t count) {
  PawlStore store(folder);
  const auto pool = state_pool(8, 64, 2048);
  std::vector<double> times_ms;
  for (std::size_t i = 0; i < count; ++i) {
    const Stopwatch one;
    const auto run = store.run(fmt::format("new-{:06}", i));
    times_ms.push_back(one.us() / 1000);
    save(*run, pool[i % pool.size()]);
  }
  times_ms.erase(times_ms.begin(), times_ms.end() - static_cast<std::ptrdiff_t>(count / 10));
  return median(times_ms);
}

double blocks_kb(const Folder& folder) {
  double kb = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat info{};
    if (::lstat(entry.path().c_str(), &info) == 0) kb += static_cast<double>(info.st_blocks) / 2;
  }
  return kb;
}

}  // namespace

Scenario measure_small_runs(const Settings& settings) {
  const Folder folder = subfolder(settings, "pawl");
  constexpr std::size_t kRuns = 1'000;
  const SmallRuns made = create_small_runs(folder, kRuns);
  const double opened_ms = new_run_ms(subfolder(settings, "alone"), kRuns);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "runs"))
    files += entry.is_regular_file();
  Scenario scenario{"small-runs", "1,000 runs of three 2 KiB saves each, from 16 threads (fdatasync, shared)"};
  scenario.figures = {{"opening a new run beside 15 threads, the last tenth", made.new_run_ms, "ms"}};
  scenario.goals.push_back({"runs/s", made.runs_per_s, Goal::Sense::at_least, 2'000, ""});
  scenario.goals.push_back({"files of a run", static_cast<double>(files) / kRuns, Goal::Sense::at_most, 3, ""});
  scenario.goals.push_back({"disk of a run", blocks_kb(folder / "runs") / kRuns, Goal::Sense::at_most, 12, "KB"});
  scenario.goals.push_back({"opening a new run, the last tenth", opened_ms, Goal::Sense::at_most, 0.3, "ms"});
  return scenario;
}

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
