// Steps of pawl::DurableRun, and saves of small changes of large states, beside raw appends at the same time.
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <csignal>

#include <fmt/format.h>
#include <filesystem>
#include <pawl/workflow.hpp>

#include "bench/flush_count.hpp"
#include "bench/measure.hpp"
#include "bench/steps_bench.hpp"
#include "ports/store.hpp"

extern char** environ;

namespace pawl::bench {
namespace {

constexpr std::size_t kRecordBytes = 1'000;  // of one step: its checkpoint, event and audit entry
constexpr std::size_t kWindow = 200;         // saves around a point at which their time is measured
constexpr std::uint64_t kCrashAt = 500;
constexpr std::size_t kStateBytes = 1'500'000;
constexpr std::size_t kChangeBytes = 150;
constexpr std::size_t kChanges = 400;

template <class T>
T must_be(Result<T> result) {
  if (!result) give_up(describe(result.error()));
  return std::move(*result);
}

std::string step_name(std::uint64_t index) { return fmt::format("step-{:06}", index); }

struct Times {
  std::vector<double> us;
  /// Returns a percentile of the window that ends at `last`.
  [[nodiscard]] double at(std::size_t last, double share) const {
    const std::size_t first = last > kWindow ? last - kWindow : 0;
    return percentile({us.begin() + static_cast<std::ptrdiff_t>(first), us.begin() + static_cast<std::ptrdiff_t>(last)},
                      share);
  }
};

Times append_raw(SingleWriter& raw, std::size_t count) {
  const std::string record(kRecordBytes, 'x');
  Times times;
  for (std::size_t i = 0; i < count; ++i) {
    const Stopwatch one;
    raw.save(record);
    times.us.push_back(one.us());
  }
  return times;
}

void add(Times& all, const Times& more) { all.us.insert(all.us.end(), more.us.begin(), more.us.end()); }

Row raw_row(const Times& raw) {
  Row row;
  row.name = fmt::format("raw {} B append", kRecordBytes);
  row.flush_level = "fdatasync";
  row.p50_us = percentile(raw.us, 0.5);
  row.p99_us = percentile(raw.us, 0.99);
  row.saves_per_s = 1e6 / *row.p50_us;
  row.to_raw = 1;
  row.flushes_per_save = 1;
  return row;
}

Times run_steps(DurableRun& run, std::uint64_t first, std::uint64_t end) {
  Times times;
  times.us.reserve(end - first);
  for (std::uint64_t i = first; i < end; ++i) {
    const Stopwatch one;
    const std::string result = must_be(
        run.step(step_name(i), [i] { return Result<std::string>(fmt::format(R"({{"step":{},"ok":true}})", i)); }));
    times.us.push_back(one.us());
    if (result.empty()) give_up("a step has no result");
  }
  return times;
}

Row row_of(std::string name, double p50, double p99, double raw_p50, double flushes) {
  Row row;
  row.name = std::move(name);
  row.flush_level = "fdatasync";
  row.p50_us = p50;
  row.p99_us = p99;
  row.saves_per_s = 1e6 / p50;
  row.to_raw = p50 / raw_p50;
  row.flushes_per_save = flushes;
  return row;
}

}  // namespace

double now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

Ended run_self(const std::string& option, const std::string& folder) {
  int ends[2];
  if (::pipe(ends) != 0) give_up("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string program = "/proc/self/exe";
  std::string words[] = {"pawl_steps_bench", option, folder};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ) != 0) give_up("posix_spawn");
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Ended ended;
  char block[256];
  for (ssize_t got = 0; (got = ::read(ends[0], block, sizeof block)) > 0;)
    ended.output.append(block, static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, &ended.status, 0);
  return ended;
}

void measure_first_new_step(Scenario& scenario, const std::string& folder, const std::string& crash_option,
                            const std::string& resume_option) {
  std::vector<double> times_ms;
  for (int round = 0; round < 5; ++round) {
    const std::string place = fmt::format("{}/{}-{}", folder, scenario.name, round);
    std::filesystem::create_directories(place);
    if (const Ended killed = run_self(crash_option, place + "/store");
        !WIFSIGNALED(killed.status) || WTERMSIG(killed.status) != SIGKILL)
      give_up("the process that should have been killed ended in another way");
    const double began_ms = now_ms();
    const Ended resumed = run_self(resume_option, place + "/store");
    if (resumed.status != 0 || resumed.output.empty()) give_up("the run was not resumed");
    times_ms.push_back(std::stod(resumed.output) - began_ms);
  }
  scenario.goals.push_back({"from the start of the process to its first new step, median of 5", median(times_ms),
                            Goal::Sense::at_most, 30, "ms"});
  scenario.figures.push_back({"the same, slowest", percentile(times_ms, 1), "ms"});
}

void crash_in_durable_run(const std::string& folder) {
  Pawl pawl = must_be(Pawl::open(folder));
  DurableRun run = must_be(pawl.durable("resumed"));
  static_cast<void>(run_steps(run, 0, kCrashAt));
  std::raise(SIGKILL);
}

void resume_durable_run(const std::string& folder) {
  Pawl pawl = must_be(Pawl::open(folder));
  DurableRun run = must_be(pawl.durable("resumed"));
  double first_ms = 0;
  for (std::uint64_t i = 0; i < 2 * kCrashAt; ++i) {
    must_be(run.step(step_name(i), [&]() -> Result<std::string> {
      if (first_ms == 0) {
        if (i != kCrashAt) give_up(fmt::format("step {} was executed again", i));
        first_ms = now_ms();
        fmt::print("{}\n", first_ms);
      }
      return std::string("1");
    }));
  }
  std::fflush(stdout);
}

Scenario measure_durable_steps(const std::string& folder, std::uint64_t steps) {
  constexpr std::uint64_t kRounds = 10;
  Scenario scenario{"durable-run", fmt::format("{} steps of pawl::DurableRun, one after the other, in one run", steps)};
  const Folder place(folder + "/durable");
  std::filesystem::create_directories(place);
  const std::unique_ptr<SingleWriter> raw_file = make_raw(place, kRecordBytes);
  static_cast<void>(append_raw(*raw_file, 50));  // the first ones are slower
  Pawl pawl = must_be(Pawl::open((place / "store").string()));
  DurableRun run = must_be(pawl.durable("steps"));
  Times raw;
  Times times;
  std::vector<double> ratios;
  double seconds = 0;
  std::uint64_t flushes = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {  // in turns, because the machine may have other load
    const Times beside = append_raw(*raw_file, kWindow);
    const std::uint64_t flushes_before = flush_count();
    const Stopwatch whole;
    add(times, run_steps(run, round * steps / kRounds, (round + 1) * steps / kRounds));
    seconds += whole.us() / 1e6;
    flushes += flush_count() - flushes_before;
    ratios.push_back(times.at(times.us.size(), 0.5) / percentile(beside.us, 0.5));
    add(raw, beside);
  }
  const double raw_p50 = percentile(raw.us, 0.5);
  const double per_step = static_cast<double>(flushes) / static_cast<double>(steps);
  scenario.rows.push_back(raw_row(raw));
  for (const std::uint64_t at : {std::uint64_t{100}, steps / 2, steps})
    scenario.rows.push_back(
        row_of(fmt::format("step {}", at), times.at(at, 0.5), times.at(at, 0.99), raw_p50, per_step));
  scenario.figures.push_back({"flushes a step, with those in the background", per_step, ""});
  scenario.goals.push_back({"steps/s", static_cast<double>(steps) / seconds, Goal::Sense::at_least, 4'000, ""});
  scenario.goals.push_back({"p50, in raw appends at the same time", median(ratios), Goal::Sense::at_most, 2.5, ""});
  scenario.goals.push_back(
      {"the same, of the last tenth to the first", ratios.back() / ratios.front(), Goal::Sense::at_most, 1.5, ""});
  return scenario;
}

Scenario measure_durable_resume(const std::string& folder) {
  Scenario scenario{"durable-resume",
                    fmt::format("a DurableRun of {} steps, killed (SIGKILL) after {} and started again "
                                "in a new process (fdatasync)",
                                2 * kCrashAt, kCrashAt)};
  measure_first_new_step(scenario, folder, "--crash-in", "--resume-in");
  return scenario;
}

Scenario measure_changes(const std::string& folder) {
  Scenario scenario{"changes",
                    fmt::format("a state of {} KB that changes by {} bytes", kStateBytes / 1000, kChangeBytes)};
  const Folder place(folder + "/changes");
  std::filesystem::create_directories(place);
  const std::unique_ptr<SingleWriter> raw_file = make_raw(place, kRecordBytes);
  static_cast<void>(append_raw(*raw_file, 50));  // the first ones are slower
  Pawl pawl = must_be(Pawl::open((place / "store").string()));
  struct Place {
    const char* name;
    std::size_t offset;  // of the inserted text, from the end of the state
  };
  for (const Place& where : {Place{"in the middle", kStateBytes / 2}, Place{"at the end", 2}}) {
    const RunId id = must_be(RunId::parse(where.offset == 2 ? "end" : "middle"));
    const std::unique_ptr<RunWriter> writer = must_be(pawl.store().open_run(id, {}));
    std::string state = "[\"";
    for (std::size_t i = 0; state.size() < kStateBytes; ++i) state += fmt::format("{:08x}", i * 2654435761U);
    state += "\"]";
    must_be(writer->save({.body = state}));
    std::uint64_t size = state.size();
    const Times raw = append_raw(*raw_file, kChanges);
    const double raw_p50 = percentile(raw.us, 0.5);
    scenario.rows.push_back(raw_row(raw));
    const std::string inserted(kChangeBytes, 'x');
    Times times;
    const std::uint64_t flushes_before = flush_count();
    for (std::size_t i = 0; i < kChanges; ++i) {
      SaveRequest request;
      request.expected_parent = Sequence{i + 1};
      const std::vector<Splice> change = {{size - where.offset, 0, inserted}};
      const Stopwatch one;
      must_be(writer->save_change(request, change));
      times.us.push_back(one.us());
      size += inserted.size();
    }
    const double flushes = static_cast<double>(flush_count() - flushes_before) / kChanges;
    scenario.rows.push_back(row_of(fmt::format("change {}", where.name), percentile(times.us, 0.5),
                                   percentile(times.us, 0.99), raw_p50, flushes));
    scenario.goals.push_back({fmt::format("p50 {}, in raw appends", where.name), percentile(times.us, 0.5) / raw_p50,
                              Goal::Sense::at_most, 2.5, ""});
  }
  return scenario;
}

}  // namespace pawl::bench
