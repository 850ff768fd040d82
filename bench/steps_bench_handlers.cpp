// Handler steps of one workflow, one after the other, beside raw appends of the same size at the same time.
#include <csignal>

#include <fmt/format.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <pawl/workflow.hpp>

#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_local_files.hpp"
#include "bench/flush_count.hpp"
#include "bench/measure.hpp"
#include "bench/steps_bench.hpp"
#include "engine/executor.hpp"
#include "engine/open_run.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl::bench {
namespace {

constexpr std::uint64_t kCalls = 1'000;      // steps of the workflow that is killed
constexpr std::uint64_t kCalibration = 300;  // steps that tell the size of a record
constexpr std::uint64_t kRounds = 20;        // of raw appends during a workflow
constexpr std::size_t kAppendsPerRound = 100;
constexpr std::size_t kHandlerThreads = 2;

template <class T>
T must_be(Result<T> result) {
  if (!result) give_up(describe(result.error()));
  return std::move(*result);
}

std::string chain_yaml(std::uint64_t steps) {
  std::string yaml = "name: chain\nsteps:\n";
  for (std::uint64_t i = 0; i < steps; ++i) yaml += fmt::format("- {{ id: step-{:06}, handler: work }}\n", i);
  return yaml;
}

Workflow parsed(const std::string& yaml, const std::string& file) {
  auto workflow = parse_workflow({yaml, file});
  if (!workflow) give_up(describe(workflow.error().front().error));
  return std::move(*workflow);
}

Workflow read_workflow(const std::string& file) {
  std::ifstream in(file);
  return parsed(std::string((std::istreambuf_iterator<char>(in)), {}), file);
}

/// Everything that an execution needs.
struct Engine {
  Pawl pawl;
  SystemClock clock;
  SystemRandom random;
  PosixLocalFiles files;
  HandlerRegistry handlers;
  ExecutionServices services{
      .store = pawl.store(), .clock = clock, .random = random, .files = files, .handlers = handlers};

  explicit Engine(const std::string& store) : pawl(must_be(Pawl::open(store))) {
    services.load_workflow = [](const std::string& file) -> Result<Workflow> { return read_workflow(file); };
  }

  void execute(OpenedRun run) {
    EventLoop loop(clock, nullptr);
    WorkerPool workers(kHandlerThreads);
    loop.use_workers(workers);
    Executor executor(services, loop, std::move(run));
    executor.start();
    loop.run([&] { return executor.ended(); }, [&] { executor.round(); });
    if (executor.state().status != RunStatus::completed) give_up("the run did not complete: " + executor.state().error);
  }
};

RunId chain_id() { return must_be(RunId::parse("chain")); }

/// Measures a step from one call of its handler to the next one. Raw appends take turns with them, inside of some
/// calls, because the machine may have other load.
class StepTimes {
 public:
  StepTimes(SingleWriter* raw, std::string record, std::uint64_t steps)
      : raw_(raw), record_(std::move(record)), steps_(steps) {
    step_us_.reserve(steps);
  }

  Result<HandlerResult> call() {
    const std::uint64_t index = calls_++;
    const double now_us = watch_.us();
    if (index > 0) {
      step_us_.push_back(now_us - last_us_);
      engine_us_ += now_us - last_us_;
      flushes_ += flush_count() - last_flushes_;
      bytes_.push_back(static_cast<double>(flushed_bytes() - last_bytes_));
    }
    if (raw_ != nullptr && index % std::max<std::uint64_t>(steps_ / kRounds, 1) == 0) append_raw();
    last_us_ = watch_.us();
    last_flushes_ = flush_count();
    last_bytes_ = flushed_bytes();
    return HandlerResult{.output = fmt::format(R"({{"step":{},"ok":true}})", index), .report = {}};
  }

  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] double steps_per_s() const { return static_cast<double>(step_us_.size()) / engine_us_ * 1e6; }
  [[nodiscard]] double flushes_per_step() const {
    return static_cast<double>(flushes_) / static_cast<double>(step_us_.size());
  }
  [[nodiscard]] std::size_t bytes_per_step() const { return static_cast<std::size_t>(percentile(bytes_, 0.5)); }
  [[nodiscard]] const std::vector<double>& raw_us() const { return raw_us_; }
  [[nodiscard]] const std::vector<double>& step_us() const { return step_us_; }
  /// Returns the median of a part of the steps, for example the second tenth.
  [[nodiscard]] double p50_us(std::size_t part, std::size_t parts) const { return percentile(of(part, parts), 0.5); }
  /// The same in raw appends: the median of the ratios per round, in which both were measured at nearly the same time.
  [[nodiscard]] double in_raw(std::size_t part, std::size_t parts) const {
    std::vector<double> ratios;
    for (std::size_t i = rounds_.size() * part / parts; i < rounds_.size() * (part + 1) / parts; ++i) {
      const std::size_t end = i + 1 < rounds_.size() ? rounds_[i + 1].first_step : step_us_.size();
      const auto first = step_us_.begin() + static_cast<std::ptrdiff_t>(rounds_[i].first_step);
      ratios.push_back(median({first, step_us_.begin() + static_cast<std::ptrdiff_t>(end)}) / rounds_[i].raw_p50_us);
    }
    return median(std::move(ratios));
  }

 private:
  [[nodiscard]] std::vector<double> of(std::size_t part, std::size_t parts) const {
    const std::size_t first = step_us_.size() * part / parts;
    const std::size_t end = step_us_.size() * (part + 1) / parts;
    return {step_us_.begin() + static_cast<std::ptrdiff_t>(first), step_us_.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  void append_raw() {
    for (std::size_t i = 0; rounds_.empty() && i < kAppendsPerRound / 2; ++i) raw_->save(record_);  // slower
    std::vector<double> us;
    for (std::size_t i = 0; i < kAppendsPerRound; ++i) {
      const Stopwatch one;
      raw_->save(record_);
      us.push_back(one.us());
    }
    rounds_.push_back({.first_step = step_us_.size(), .raw_p50_us = median(us)});
    raw_us_.insert(raw_us_.end(), us.begin(), us.end());
  }

  struct Round {
    std::size_t first_step = 0;
    double raw_p50_us = 0;
  };

  SingleWriter* raw_;
  const std::string record_;
  const std::uint64_t steps_;
  Stopwatch watch_;
  std::uint64_t calls_ = 0;
  std::vector<double> step_us_;
  std::vector<double> raw_us_;
  std::vector<Round> rounds_;
  double engine_us_ = 0;
  double last_us_ = 0;
  std::uint64_t flushes_ = 0;
  std::uint64_t last_flushes_ = 0;
  std::vector<double> bytes_;
  std::uint64_t last_bytes_ = 0;
};

void run_chain(Engine& engine, std::shared_ptr<const Workflow> workflow, StepTimes& times) {
  // One call at a time: each step waits for the one before it.
  engine.handlers.add("work", [&](const HandlerCall&) { return times.call(); });
  engine.execute(must_be(open_new(engine.services, NewRun{.id = chain_id(), .workflow = std::move(workflow)})));
}

/// Returns what a step writes to the journal before it flushes.
std::size_t bytes_per_step(const std::string& store) {
  const auto workflow = std::make_shared<const Workflow>(parsed(chain_yaml(kCalibration), ""));
  Engine engine(store);
  StepTimes times(nullptr, "", kCalibration);
  run_chain(engine, workflow, times);
  return times.bytes_per_step();
}

Row row_of(std::string name, const std::vector<double>& us, double in_raw, double flushes) {
  Row row;
  row.name = std::move(name);
  row.flush_level = "fdatasync";
  row.p50_us = percentile(us, 0.5);
  row.p99_us = percentile(us, 0.99);
  row.saves_per_s = 1e6 / *row.p50_us;
  row.to_raw = in_raw;
  row.flushes_per_save = flushes;
  return row;
}

/// Kills the process when this many steps are durable.
class Killer final : public RunObserver {
 public:
  void on_event(const RunEvent& event) override {
    if (event.type == "step_completed" && ++durable_ == kCalls / 2) ::raise(SIGKILL);
  }

 private:
  std::uint64_t durable_ = 0;
};

std::string chain_file(const std::string& store) { return store + ".yaml"; }

}  // namespace

Scenario measure_handlers(const std::string& folder, std::uint64_t steps) {
  Scenario scenario{"handlers", fmt::format("{} handler steps of one workflow, one after the other", steps)};
  const Folder place(fmt::format("{}/handlers-{}", folder, steps));
  std::filesystem::create_directories(place);
  const std::size_t record_bytes = bytes_per_step((place / "calibration").string());
  const std::unique_ptr<SingleWriter> raw = make_raw(place, record_bytes);

  const Stopwatch parsing;
  const auto workflow = std::make_shared<const Workflow>(parsed(chain_yaml(steps), ""));
  scenario.figures.push_back({"reading the workflow, before the run", parsing.us() / 1000, "ms"});
  StepTimes times(raw.get(), std::string(record_bytes, 'x'), steps);
  {
    Engine engine((place / "store").string());
    run_chain(engine, workflow, times);
  }
  if (times.calls() != steps) give_up(fmt::format("{} calls instead of {}", times.calls(), steps));

  const double flushes = times.flushes_per_step();
  const double in_raw = times.in_raw(0, 1);
  scenario.rows.push_back(row_of(raw->name(), times.raw_us(), 1, 1));
  scenario.rows.push_back(row_of("all steps", times.step_us(), in_raw, flushes));
  scenario.figures.push_back({"p50 of the first tenth (fdatasync)", times.p50_us(0, 10), "us"});
  scenario.figures.push_back({"p50 of the last tenth (fdatasync)", times.p50_us(9, 10), "us"});
  scenario.figures.push_back({"flushes a step, with those in the background", flushes, ""});
  scenario.goals.push_back({"steps/s (fdatasync)", times.steps_per_s(), Goal::Sense::at_least, 4'000, ""});
  scenario.goals.push_back({"p50, in raw appends at the same time", in_raw, Goal::Sense::at_most, 2.5, ""});
  scenario.goals.push_back({"the same, of the last tenth to the first", times.in_raw(9, 10) / times.in_raw(0, 10),
                            Goal::Sense::at_most, 1.5, ""});
  return scenario;
}

void crash_in_handlers(const std::string& store) {
  std::ofstream(chain_file(store)) << chain_yaml(kCalls);
  Engine engine(store);
  Killer killer;
  engine.services.observer = &killer;
  StepTimes times(nullptr, "", kCalls);
  run_chain(engine, std::make_shared<const Workflow>(read_workflow(chain_file(store))), times);
}

void resume_handlers(const std::string& store) {
  Engine engine(store);
  std::uint64_t calls = 0;
  engine.handlers.add("work", [&](const HandlerCall&) -> Result<HandlerResult> {
    if (calls++ == 0) fmt::print("{}\n", now_ms());
    return HandlerResult{.output = "1", .report = {}};
  });
  engine.execute(must_be(open_resume(engine.services, ResumeRequest{.id = chain_id()})).run);
  // The step after the last durable one may have begun before the kill, and begins again.
  if (calls != kCalls / 2) give_up(fmt::format("{} steps instead of {} in the resume", calls, kCalls / 2));
  std::fflush(stdout);
}

Scenario measure_handlers_resume(const std::string& folder) {
  Scenario scenario{"handlers-resume",
                    fmt::format("a workflow of {} handler steps, killed (SIGKILL) when {} were durable and resumed in "
                                "a new process (fdatasync)",
                                kCalls, kCalls / 2)};
  measure_first_new_step(scenario, folder, "--crash-handlers-in", "--resume-handlers-in");
  return scenario;
}

}  // namespace pawl::bench
