// Many short workflows in one process, and maps inside a map.
#include <sys/resource.h>

#include <fmt/format.h>
#include <atomic>
#include <filesystem>
#include <pawl/workflow.hpp>
#include <thread>

#include "bench/flush_count.hpp"
#include "bench/measure.hpp"
#include "bench/steps_bench.hpp"
#include "bench/thread_count.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kAtOnce = 16;
constexpr std::uint64_t kInnerItems = 3;

template <class T>
T must_be(Result<T> result) {
  if (!result) give_up(describe(result.error()));
  return std::move(*result);
}

constexpr const char* kShort =
    "name: short\nsteps:\n- { id: a, handler: work }\n- { id: b, handler: work }\n- { id: c, handler: work }\n";

void add_work(HandlerRegistry& handlers) {
  handlers.add("work", [](const HandlerCall&) -> Result<HandlerResult> {
    return HandlerResult{.output = R"({"ok":true})", .report = {}};
  });
}

void run_one(WorkflowEngine& engine, const std::string& run, const std::string& yaml) {
  const WorkflowSummary summary = must_be(engine.run_text(run, yaml));
  if (summary.status != WorkflowStatus::completed) give_up(summary.error);
}

/// Returns the page faults of all child processes that have ended. Every process has some.
long faults_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

struct Batch {
  double seconds = 0;
  std::uint64_t flushes = 0;
  std::uint64_t threads = 0;
  long faults_of_children = 0;
};

/// The threads that call the engine are not counted.
Batch run_batch(WorkflowEngine& engine, std::uint64_t workflows) {
  std::atomic<std::uint64_t> next{0};
  const std::uint64_t flushes_before = flush_count();
  const std::uint64_t threads_before = thread_count();
  const long faults_before = faults_of_children();
  const Stopwatch watch;
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      callers.emplace_back([&] {
        for (std::uint64_t n = 0; (n = next.fetch_add(1)) < workflows;)
          run_one(engine, fmt::format("short-{:06}", n), kShort);
      });
    }
  }
  return {.seconds = watch.us() / 1e6,
          .flushes = flush_count() - flushes_before,
          .threads = thread_count() - threads_before - kAtOnce,
          .faults_of_children = faults_of_children() - faults_before};
}

std::string nested_yaml(std::uint64_t outer) {
  std::string items;
  for (std::uint64_t i = 0; i < outer; ++i) items += (items.empty() ? "" : ",") + std::to_string(i);
  std::string inner;
  for (std::uint64_t i = 0; i < kInnerItems; ++i) inner += (inner.empty() ? "" : ",") + std::to_string(i);
  return fmt::format(
      "name: nested\nsteps:\n- id: outer\n  map: {{ items: [{}], parallel: 16 }}\n  steps:\n  - id: inner\n"
      "    map: {{ items: [{}] }}\n    steps: [{{ id: work, handler: work }}]\n",
      items, inner);
}

}  // namespace

Scenario measure_workflows(const std::string& folder, std::uint64_t workflows) {
  Scenario scenario{"workflows",
                    fmt::format("{} workflows of 3 handler steps, {} at once in one process, each step durable "
                                "(fdatasync)",
                                workflows, kAtOnce)};
  Pawl pawl = must_be(Pawl::open(folder + "/workflows"));
  HandlerRegistry handlers;
  add_work(handlers);
  WorkflowEngine engine(pawl, handlers);
  run_one(engine, "first", kShort);  // starts the threads of the store and of the handlers
  const Batch batch = run_batch(engine, workflows);
  const auto each = [&](auto count) { return static_cast<double>(count) / static_cast<double>(workflows); };
  scenario.figures.push_back({"flushes a workflow, with those in the background", each(batch.flushes), ""});
  scenario.goals.push_back(
      {"workflows/s (fdatasync)", static_cast<double>(workflows) / batch.seconds, Goal::Sense::at_least, 1'000, ""});
  scenario.goals.push_back({"threads started, a workflow", each(batch.threads), Goal::Sense::at_most, 0.05, ""});
  scenario.goals.push_back({"page faults of child processes: 0 if none was started",
                            static_cast<double>(batch.faults_of_children), Goal::Sense::exactly, 0, ""});
  return scenario;
}

Scenario measure_nested(const std::string& folder) {
  constexpr std::uint64_t kSizes[] = {400, 800, 1'600};
  Scenario scenario{"nested",
                    fmt::format("maps of {} items inside a map, in-process handlers (fdatasync)", kInnerItems)};
  std::vector<double> seconds[std::size(kSizes)];
  for (int round = 0; round < 3; ++round) {  // in turns, because the machine may have other load
    for (std::size_t i = 0; i < std::size(kSizes); ++i) {
      Pawl pawl = must_be(Pawl::open(fmt::format("{}/nested-{}-{}", folder, kSizes[i], round)));
      HandlerRegistry handlers;
      add_work(handlers);
      WorkflowEngine engine(pawl, handlers);
      const Stopwatch watch;
      run_one(engine, "nested", nested_yaml(kSizes[i]));
      seconds[i].push_back(watch.us() / 1e6);
    }
  }
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    scenario.figures.push_back(
        {fmt::format("{} outer items, median of 3 (fdatasync)", kSizes[i]), median(seconds[i]) * 1000, "ms"});
    if (i == 0) continue;
    scenario.goals.push_back({fmt::format("from {} to {} outer items, times as long", kSizes[i - 1], kSizes[i]),
                              ratio(seconds[i], seconds[i - 1]), Goal::Sense::at_most, 2.2, ""});
  }
  return scenario;
}

}  // namespace pawl::bench
