// Many threads in one process, each with its own run.
#include <sys/resource.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "bench/flush_count.hpp"
#include "bench/measure.hpp"
#include "bench/pawl_store.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kThreads = 64;
constexpr std::size_t kStateBytes = 2048;

struct Contestant {
  std::unique_ptr<SharedWriter> writer;
  std::vector<double> saves_per_s = {};
  std::vector<double> all_us = {};
  std::uint64_t saves = 0;
  std::uint64_t flushes = 0;
  std::uint64_t all_flushes = 0;
  double processor_us = 0;
};

/// Returns the processor time of this process so far.
double processor_us() {
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

void take_turn(Contestant& contestant, double seconds, const std::vector<std::string>& pool) {
  std::atomic<bool> stop{false};
  std::barrier start(kThreads + 1);
  std::vector<std::vector<double>> times_us(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      for (std::size_t i = thread; !stop.load(std::memory_order_relaxed); ++i) {
        const Stopwatch one;
        contestant.writer->save(thread, pool[i % pool.size()]);
        times_us[thread].push_back(one.us());
      }
    });
  }
  const std::uint64_t flushes_before = contestant.writer->own_flushes().value_or(flush_count());
  const std::uint64_t all_before = flush_count();
  const double processor_before_us = processor_us();
  start.arrive_and_wait();
  const Stopwatch whole;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  const double elapsed_s = whole.us() / 1e6;
  contestant.flushes += contestant.writer->own_flushes().value_or(flush_count()) - flushes_before;
  contestant.all_flushes += flush_count() - all_before;
  contestant.processor_us += processor_us() - processor_before_us;
  std::uint64_t saves = 0;
  for (const auto& times : times_us) {
    saves += times.size();
    contestant.all_us.insert(contestant.all_us.end(), times.begin(), times.end());
  }
  contestant.saves += saves;
  contestant.saves_per_s.push_back(static_cast<double>(saves) / elapsed_s);
}

/// Measures all contestants in turns. The first is Pawl.
Scenario measure_in_turns(const Settings& settings, std::string name, std::vector<Contestant>& contestants) {
  const auto pool = state_pool(4, 509, kStateBytes);
  const double seconds = settings.seconds_or(2, 1);
  const std::size_t rounds = settings.quick() ? 3 : 7;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Contestant& contestant : contestants) take_turn(contestant, seconds, pool);
  }
  Scenario scenario{std::move(name),
                    fmt::format("{} threads, each its own run, 2 KiB states, turns of {:.0f} s", kThreads, seconds)};
  for (const Contestant& contestant : contestants) {
    const auto saves = static_cast<double>(contestant.saves);
    scenario.rows.push_back(Row{.name = contestant.writer->name(),
                                .flush_level = contestant.writer->flush_level(),
                                .p50_us = percentile(contestant.all_us, 0.5),
                                .p99_us = percentile(contestant.all_us, 0.99),
                                .saves_per_s = median(contestant.saves_per_s),
                                .to_pawl = ratio(contestant.saves_per_s, contestants.front().saves_per_s),
                                .flushes_per_save = static_cast<double>(contestant.flushes) / saves,
                                .all_flushes_per_save = static_cast<double>(contestant.all_flushes) / saves});
    scenario.figures.push_back({fmt::format("processor time of a save, {}", contestant.writer->name()),
                                contestant.processor_us / saves, "us"});
  }
  const double own_us = contestants.front().processor_us / static_cast<double>(contestants.front().saves);
  scenario.goals.push_back({"saves/s", *scenario.rows[0].saves_per_s, Goal::Sense::at_least, 90'000, ""});
  scenario.goals.push_back({"processor time of a save", own_us, Goal::Sense::at_most, 18, "us"});
  scenario.goals.push_back({"flushes per save", *scenario.rows[0].flushes_per_save, Goal::Sense::at_most, 0.04, ""});
  return scenario;
}

}  // namespace

Scenario measure_threads(const Settings& settings) {
  std::vector<Contestant> contestants;
  contestants.push_back({make_shared_pawl(subfolder(settings, "pawl"), kThreads)});
  contestants.push_back({make_group_commit(subfolder(settings, "group-commit"))});
  contestants.push_back({make_shared_rocksdb(subfolder(settings, "rocksdb"))});
  contestants.push_back({make_shared_sqlite(subfolder(settings, "sqlite-plain"))});
  contestants.push_back({make_batching_sqlite(subfolder(settings, "sqlite-batching"))});
  Scenario scenario = measure_in_turns(settings, "threads", contestants);
  const auto times = [&](std::size_t other) {
    return ratio(contestants.front().saves_per_s, contestants[other].saves_per_s);
  };
  scenario.goals.push_back({"saves/s to RocksDB", times(2), Goal::Sense::at_least, 2.5, ""});
  scenario.goals.push_back({"saves/s to plain SQLite", times(3), Goal::Sense::at_least, 25, ""});
  scenario.goals.push_back({"saves/s to batching SQLite", times(4), Goal::Sense::at_least, 1.5, ""});
  return scenario;
}

Scenario measure_threads_alone(const Settings& settings) {
  std::vector<Contestant> contestants;
  contestants.push_back({make_shared_pawl(subfolder(settings, "pawl"), kThreads)});
  return measure_in_turns(settings, "threads-alone", contestants);
}

}  // namespace pawl::bench
