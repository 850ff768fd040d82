// pawl_map_bench: a map over many items of a JSON Lines file with an in-process handler, on a real disk. Measures how
// many items become durable per second, the memory used, and how fast a killed map resumes. Each measured execution is
// its own process, so that its memory and its kill are real.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_local_files.hpp"
#include "app/compose.hpp"
#include "bench/report.hpp"
#include "engine/executor.hpp"
#include "engine/open_run.hpp"
#include "workflow/parse_workflow.hpp"

namespace {

using namespace pawl;
using namespace pawl::bench;

struct MapSettings {
  std::string folder = "build/bench-data";
  std::string json;
  std::uint64_t items = 100'000;
  std::uint64_t parallel = 64;
  std::uint64_t workers = 4;
  // Only for a measured process.
  std::string part;
  std::uint64_t die_at = 0;  // kill -9 when this many items are durable
  std::int64_t began_us = 0;
};

[[noreturn]] void stop(const std::string& message) {
  std::cerr << "pawl_map_bench: " << message << "\n";
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result) stop(describe(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::string items_file(const MapSettings& settings) { return settings.folder + "/items.jsonl"; }
std::string workflow_file(const MapSettings& settings) { return settings.folder + "/workflow.yaml"; }
std::string store_folder(const MapSettings& settings) { return settings.folder + "/store"; }

Workflow read_workflow(const std::string& file) {
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  auto parsed = parse_workflow({text, file});
  if (!parsed) stop(describe(parsed.error().front().error));
  return std::move(*parsed);
}

/// Called when an item is durable.
class Counter final : public RunObserver {
 public:
  explicit Counter(std::uint64_t die_at) : die_at_(die_at) {}
  void on_event(const RunEvent& event) override {
    if (event.type != "item_completed") return;
    ++durable_;
    if (durable_ == die_at_) ::raise(SIGKILL);
  }
  [[nodiscard]] std::uint64_t durable() const { return durable_; }

 private:
  const std::uint64_t die_at_;
  std::uint64_t durable_ = 0;
};

/// Runs one execution and prints a line of JSON.
int execute_part(const MapSettings& settings) {
  SystemClock clock;
  SystemRandom random;
  PosixLocalFiles files;
  std::atomic<std::int64_t> first_us = 0;
  std::atomic<std::uint64_t> calls = 0;
  HandlerRegistry handlers;
  handlers.add("square", [&](const HandlerCall& call) -> Result<HandlerResult> {
    if (calls.fetch_add(1) == 0) first_us = clock.monotonic_us();
    return HandlerResult{.output = fmt::format(R"({{"index":{},"square":{}}})", call.index, call.index * call.index)};
  });
  const std::unique_ptr<Store> store = need(open_store(store_folder(settings), {}, pawl::StoreUse::service));
  Counter counter(settings.die_at);
  ExecutionServices services{.store = *store, .clock = clock, .random = random, .files = files, .handlers = handlers};
  services.observer = &counter;
  services.load_workflow = [](const std::string& file) -> Result<Workflow> { return read_workflow(file); };
  const RunId id = need(RunId::parse("map"));
  std::optional<OpenedRun> opened;
  if (settings.part == "resume") {
    opened = std::move(need(open_resume(services, ResumeRequest{.id = id})).run);
  } else {
    const auto workflow = std::make_shared<const Workflow>(read_workflow(workflow_file(settings)));
    opened = need(open_new(services, NewRun{.id = id, .workflow = workflow}));
  }
  EventLoop loop(clock, nullptr);
  WorkerPool workers(settings.workers);
  loop.use_workers(workers);
  Executor executor(services, loop, std::move(*opened));
  executor.start();
  loop.run([&] { return executor.ended(); }, [&] { executor.round(); });
  if (executor.state().status != RunStatus::completed) stop("the run did not complete: " + executor.state().error);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  const nlohmann::json line{{"seconds", static_cast<double>(clock.monotonic_us() - settings.began_us) / 1e6},
                            {"first_ms", static_cast<double>(first_us - settings.began_us) / 1e3},
                            {"calls", calls.load()},
                            {"durable", counter.durable()},
                            {"cpu_s", seconds(usage.ru_utime) + seconds(usage.ru_stime)},
                            {"peak_mb", static_cast<double>(usage.ru_maxrss) / 1024}};
  std::cout << line.dump() << "\n";
  return 0;
}

/// Starts this program again for one execution. Returns null if it was killed as requested.
nlohmann::json measured(const MapSettings& settings, const std::string& part, std::uint64_t die_at) {
  const std::string out = settings.folder + "/out.json";
  SystemClock clock;
  const std::vector<std::string> words = {"pawl_map_bench",
                                          "--dir",
                                          settings.folder,
                                          "--part",
                                          part,
                                          "--workers",
                                          std::to_string(settings.workers),
                                          "--die-at",
                                          std::to_string(die_at),
                                          "--began-us",
                                          std::to_string(clock.monotonic_us())};
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) stop("can't fork");
  if (child == 0) {
    const int fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || ::dup2(fd, STDOUT_FILENO) < 0) ::_exit(1);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (die_at > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return nullptr;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) stop("the part '" + part + "' failed");
  std::ifstream in(out);
  return nlohmann::json::parse(in);
}

struct Recorded {
  std::uint64_t items = 0;    // items with a result
  std::uint64_t doubled = 0;  // additional results of an item
};

Recorded read_results(const MapSettings& settings) {
  const std::unique_ptr<Store> store =
      need(open_store(store_folder(settings), {.missing = Missing::refuse}, pawl::StoreUse::one_shot));
  const RunId id = need(RunId::parse("map"));
  std::vector<bool> seen(settings.items);
  Recorded recorded;
  std::uint64_t after = 0;
  while (true) {
    const std::vector<Event> events = need(store->events(id, after, 4096));
    if (events.empty()) return recorded;
    after = events.back().number;
    for (const Event& event : events) {
      if (event.type != "item_completed") continue;
      const auto index = nlohmann::json::parse(event.data).at("index").get<std::uint64_t>();
      recorded.doubled += seen.at(index) ? 1U : 0U;
      recorded.items += seen.at(index) ? 0U : 1U;
      seen.at(index) = true;
    }
  }
}

void write_inputs(const MapSettings& settings) {
  std::filesystem::remove_all(settings.folder);
  std::filesystem::create_directories(settings.folder);
  std::ofstream items(items_file(settings));
  for (std::uint64_t i = 0; i < settings.items; ++i)
    items << R"({"id":)" << i << R"(,"name":"item number )" << i << R"(","tags":["a","b"]})" << "\n";
  std::ofstream(workflow_file(settings))
      << "name: map-bench\nsteps:\n  - id: pages\n    map: { items_from: items.jsonl, parallel: " << settings.parallel
      << " }\n    steps:\n      - { id: square, handler: square, with: { n: \"${index}\" } }\n";
}

void add_recorded_goals(Scenario& scenario, const MapSettings& settings) {
  const Recorded recorded = read_results(settings);
  scenario.goals.push_back({"items with a result", static_cast<double>(recorded.items), Goal::Sense::exactly,
                            static_cast<double>(settings.items), ""});
  scenario.goals.push_back(
      {"results recorded twice", static_cast<double>(recorded.doubled), Goal::Sense::exactly, 0, ""});
}

Scenario measure_map(const MapSettings& settings) {
  write_inputs(settings);
  Scenario scenario{"map", fmt::format("a map over {} items from a file, in-process handler, {} at once (fdatasync)",
                                       settings.items, settings.parallel)};
  const nlohmann::json whole = measured(settings, "start", 0);
  const double seconds = whole.at("seconds");
  scenario.figures.push_back({"wall time, start of the process to its end", seconds, "s"});
  scenario.figures.push_back({"processor time, all threads", whole.at("cpu_s").get<double>(), "s"});
  scenario.goals.push_back(
      {"durable items per second", static_cast<double>(settings.items) / seconds, Goal::Sense::at_least, 60'000, "/s"});
  scenario.goals.push_back(
      {"resident memory at its peak", whole.at("peak_mb").get<double>(), Goal::Sense::at_most, 64, "MB"});
  add_recorded_goals(scenario, settings);
  return scenario;
}

Scenario measure_resume(const MapSettings& settings) {
  write_inputs(settings);
  Scenario scenario{"map-resume",
                    fmt::format("the same (fdatasync), killed with kill -9 when {} items were durable, then resumed",
                                settings.items / 2)};
  if (!measured(settings, "start", settings.items / 2).is_null()) stop("it was not killed");
  const nlohmann::json rest = measured(settings, "resume", 0);
  scenario.figures.push_back({"calls of the handler by the resume", rest.at("calls").get<double>(), ""});
  scenario.figures.push_back({"wall time of the resume", rest.at("seconds").get<double>(), "s"});
  scenario.goals.push_back(
      {"from its start to the first new item", rest.at("first_ms").get<double>(), Goal::Sense::at_most, 1000, "ms"});
  scenario.goals.push_back(
      {"resident memory at its peak", rest.at("peak_mb").get<double>(), Goal::Sense::at_most, 64, "MB"});
  add_recorded_goals(scenario, settings);
  return scenario;
}

}  // namespace

int main(int argc, char** argv) {
  MapSettings settings;
  CLI::App app("Measures a map over many items");
  app.add_option("--dir", settings.folder,
                 "where to measure, in a folder of its own that is removed after (build/bench-data)");
  app.add_option("--json", settings.json, "also write the results to this file");
  app.add_option("--items", settings.items, "how many items (100,000)");
  app.add_option("--parallel", settings.parallel, "how many at once (64)");
  app.add_option("--workers", settings.workers, "threads that run handlers (4)");
  app.add_option("--part", settings.part)->group("");
  app.add_option("--die-at", settings.die_at)->group("");
  app.add_option("--began-us", settings.began_us)->group("");
  CLI11_PARSE(app, argc, argv);
  if (!settings.part.empty()) return execute_part(settings);

  settings.folder =
      (std::filesystem::absolute(settings.folder) / fmt::format("pawl-map-bench-{}", ::getpid())).string();
  std::vector<Scenario> scenarios;
  for (const auto measure : {measure_map, measure_resume}) {
    scenarios.push_back(measure(settings));
    print(scenarios.back());
  }
  std::filesystem::remove_all(settings.folder);
  if (!settings.json.empty() && !(std::ofstream(settings.json) << to_json(scenarios)))
    stop("can't write " + settings.json);
  return 0;
}
