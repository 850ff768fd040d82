// pawl_steps_bench: shell steps compared with bare posix_spawn, a DAG of a thousand tasks, handler steps of one
// workflow and of many, maps inside a map, steps of a DurableRun, and small changes of a large state.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <pawl/workflow.hpp>

#include "bench/steps_bench.hpp"

extern char** environ;

namespace {

using namespace pawl;
using namespace pawl::bench;

using TimePoint = std::chrono::steady_clock::time_point;

double seconds_since(TimePoint began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

[[noreturn]] void stop(const std::string& message) {
  std::cerr << "pawl_steps_bench: " << message << "\n";
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result) stop(describe(result.error()));
  return std::move(*result);
}

struct Child {
  pid_t pid = 0;
  int output = -1;
};

/// Runs `sh -e -c true` with its output in a pipe, as a program without Pawl would.
Child spawn_bare() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) stop("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
  std::array<char*, 5> argv{const_cast<char*>("sh"), const_cast<char*>("-e"), const_cast<char*>("-c"),
                            const_cast<char*>("true"), nullptr};
  Child child{.pid = 0, .output = fds[0]};
  if (::posix_spawn(&child.pid, "/bin/sh", &actions, nullptr, argv.data(), environ) != 0) stop("posix_spawn failed");
  posix_spawn_file_actions_destroy(&actions);
  ::close(fds[1]);
  return child;
}

void finish(const Child& child) {
  std::array<char, 512> block{};
  while (::read(child.output, block.data(), block.size()) > 0) {
  }
  ::close(child.output);
  int status = 0;
  if (::waitpid(child.pid, &status, 0) != child.pid || status != 0) stop("sh failed");
}

/// Two at a time: the next one starts when either exits.
double bare_steps_per_s(std::uint64_t count) {
  const TimePoint began = std::chrono::steady_clock::now();
  std::vector<Child> running;
  for (std::uint64_t started = 0; started < count || !running.empty();) {
    while (running.size() < 2 && started < count) {
      running.push_back(spawn_bare());
      ++started;
    }
    std::vector<pollfd> ends;
    for (const Child& child : running) ends.push_back({child.output, POLLIN, 0});
    ::poll(ends.data(), ends.size(), -1);
    for (std::size_t i = ends.size(); i-- > 0;) {
      if (ends[i].revents == 0) continue;
      finish(running[i]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return static_cast<double>(count) / seconds_since(began);
}

double pawl_steps_per_s(const std::string& folder, std::uint64_t count) {
  Pawl pawl = need(Pawl::open(folder));
  const HandlerRegistry handlers;
  std::string items;
  for (std::uint64_t i = 0; i < count; ++i) items += (items.empty() ? "" : ",") + std::to_string(i);
  const std::string yaml = fmt::format(
      "name: spawn\nsteps:\n- id: m\n  map: {{ items: [{}], parallel: 2 }}\n  steps: [{{ id: s, run: 'true' }}]\n",
      items);
  TimePoint began = std::chrono::steady_clock::now();
  WorkflowOptions options;
  options.observer = [&](const RunEventView& event) {
    if (event.type == "map_started") began = std::chrono::steady_clock::now();
  };
  WorkflowEngine engine(pawl, handlers, options);
  const WorkflowSummary summary = need(engine.run_text("spawn", yaml));
  if (summary.status != WorkflowStatus::completed) stop(summary.error);
  return static_cast<double>(count) / seconds_since(began);
}

Scenario measure_spawning(const std::string& folder, std::uint64_t count) {
  Scenario scenario{
      "steps",
      fmt::format("{} shell steps, 2 at once, each recorded durably (fdatasync), beside bare posix_spawn with pipes",
                  count)};
  std::vector<double> ratios;
  double bare = 0;
  double ours = 0;
  for (int round = 0; round < 3; ++round) {  // in turns, because the machine may have other load
    bare = bare_steps_per_s(count);
    ours = pawl_steps_per_s(fmt::format("{}/spawn-{}", folder, round), count);
    ratios.push_back(ours / bare);
  }
  std::ranges::sort(ratios);
  scenario.figures.push_back({"bare posix_spawn, last round", bare, "/s"});
  scenario.figures.push_back({"pawl, last round", ours, "/s"});
  scenario.goals.push_back({"pawl to bare, middle of three rounds", ratios[1], Goal::Sense::at_least, 0.80, ""});
  return scenario;
}

std::string dag_yaml(std::uint64_t tasks) {
  std::string yaml = "name: dag\nsteps:\n";
  for (std::uint64_t i = 0; i < tasks; ++i) {
    std::string needs;
    for (const std::uint64_t back : {1ULL, 7ULL, 31ULL}) {
      if (i >= back * 10) needs += fmt::format("{}t{}", needs.empty() ? "" : ", ", i - back * 10);
    }
    yaml += fmt::format("- {{ id: t{}, needs: [{}], handler: task }}\n", i, needs);
  }
  return yaml;
}

Scenario measure_dag(const std::string& folder, std::uint64_t tasks) {
  Scenario scenario{"dag", fmt::format("a DAG of {} tasks with in-process handlers (fdatasync)", tasks)};
  const std::string yaml = dag_yaml(tasks);
  Pawl pawl = need(Pawl::open(folder + "/dag"));
  HandlerRegistry handlers;
  const std::string last = fmt::format("t{}", tasks - 1);
  bool fails = true;
  handlers.add("task", [&](const HandlerCall& call) -> Result<HandlerResult> {
    if (fails && call.step == last) return std::unexpected(Error{Code::step_failed, "not yet", {}, {}, 0});
    return HandlerResult{.output = fmt::format(R"({{"done":"{}"}})", call.step), .report = {}};
  });
  WorkflowEngine engine(pawl, handlers);
  const TimePoint began = std::chrono::steady_clock::now();
  static_cast<void>(need(engine.run_text("dag", yaml)));
  scenario.figures.push_back({"all of it, from start to the last task", seconds_since(began) * 1000, "ms"});
  const CheckpointInfo info = need(pawl.checkpoint("dag"));
  scenario.goals.push_back(
      {"size of the checkpoint", static_cast<double>(info.state_bytes) / 1000, Goal::Sense::at_most, 100, "KB"});

  // Saves the last states of the run again, one after the other, into another run.
  std::vector<std::string> states;
  for (std::uint64_t back = 60; back-- > 0;) {
    if (info.sequence.value > back + 1)
      states.push_back(need(pawl.restore(fmt::format("dag@{}", info.sequence.value - back))).state);
  }
  Run copy = need(pawl.run("copy"));
  std::vector<double> times_us;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const TimePoint saving = std::chrono::steady_clock::now();
    static_cast<void>(need(copy.save({.body = states[i], .duplicates = Duplicates::write})));
    if (i > 0) times_us.push_back(seconds_since(saving) * 1e6);
  }
  std::ranges::sort(times_us);
  scenario.goals.push_back(
      {"save after the first one, p50", times_us[times_us.size() / 2] / 1000, Goal::Sense::at_most, 1, "ms"});
  scenario.figures.push_back({"the same, slowest", times_us.back() / 1000, "ms"});

  fails = false;
  TimePoint first;
  handlers.add("task", [&](const HandlerCall&) -> Result<HandlerResult> {
    first = std::chrono::steady_clock::now();
    return HandlerResult{};
  });
  const TimePoint resuming = std::chrono::steady_clock::now();
  const WorkflowSummary summary = need(engine.resume("dag", {.workflow_text = yaml}));
  if (summary.status != WorkflowStatus::completed) stop(summary.error);
  scenario.goals.push_back({"resume to its first new step",
                            std::chrono::duration<double, std::milli>(first - resuming).count(), Goal::Sense::at_most,
                            60, "ms"});
  return scenario;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = "build/bench-data";
  std::string json;
  std::uint64_t steps = 1'000;
  std::uint64_t tasks = 1'000;
  std::uint64_t durable_steps = 10'000;
  std::uint64_t workflows = 1'000;
  std::vector<std::uint64_t> handler_steps = {1'000, 10'000};
  std::vector<std::string> only;
  std::string crash_in;
  std::string resume_in;
  std::string crash_handlers_in;
  std::string resume_handlers_in;
  CLI::App app("Measures steps of workflows");
  app.add_option("--dir", folder, "where to measure, in a folder of its own that is removed after (build/bench-data)");
  app.add_option("--json", json, "also write the results to this file");
  app.add_option("--steps", steps, "how many shell steps (1,000)");
  app.add_option("--tasks", tasks, "how many tasks of the DAG (1,000)")->check(CLI::Range(100, 100'000));
  app.add_option("--durable-steps", durable_steps, "how many steps of the DurableRun (10,000)")
      ->check(CLI::Range(1'000, 1'000'000));
  app.add_option("--handler-steps", handler_steps, "how many handler steps of one workflow (1,000 and 10,000)")
      ->check(CLI::Range(100, 1'000'000));
  app.add_option("--workflows", workflows, "how many workflows of 3 steps (1,000)")->check(CLI::Range(16, 100'000));
  app.add_option("--only", only,
                 "measure only these: steps, dag, handlers, handlers-resume, workflows, nested, durable-run, "
                 "durable-resume, changes");
  app.add_option("--crash-in", crash_in)->group("");
  app.add_option("--resume-in", resume_in)->group("");
  app.add_option("--crash-handlers-in", crash_handlers_in)->group("");
  app.add_option("--resume-handlers-in", resume_handlers_in)->group("");
  CLI11_PARSE(app, argc, argv);
  if (!crash_in.empty()) crash_in_durable_run(crash_in);
  if (!resume_in.empty()) {
    resume_durable_run(resume_in);
    return 0;
  }
  if (!crash_handlers_in.empty()) crash_in_handlers(crash_handlers_in);
  if (!resume_handlers_in.empty()) {
    resume_handlers(resume_handlers_in);
    return 0;
  }
  folder = (std::filesystem::absolute(folder) / fmt::format("pawl-steps-bench-{}", ::getpid())).string();
  std::filesystem::create_directories(folder);
  std::vector<Scenario> scenarios;
  const auto measure = [&](const char* name, const auto& scenario) {
    if (only.empty() || std::ranges::find(only, name) != only.end()) scenarios.push_back(scenario());
  };
  measure("steps", [&] { return measure_spawning(folder, steps); });
  measure("dag", [&] { return measure_dag(folder, tasks); });
  for (const std::uint64_t count : handler_steps)
    measure("handlers", [&, count] { return measure_handlers(folder, count); });
  measure("handlers-resume", [&] { return measure_handlers_resume(folder); });
  measure("workflows", [&] { return measure_workflows(folder, workflows); });
  measure("nested", [&] { return measure_nested(folder); });
  measure("durable-run", [&] { return measure_durable_steps(folder, durable_steps); });
  measure("durable-resume", [&] { return measure_durable_resume(folder); });
  measure("changes", [&] { return measure_changes(folder); });
  for (const Scenario& scenario : scenarios) print(scenario);
  std::filesystem::remove_all(folder);
  if (!json.empty() && !(std::ofstream(json) << to_json(scenarios))) stop("can't write " + json);
  return 0;
}
