#include "engine/run_session.hpp"

#include <algorithm>
#include <set>

#include "engine/environment_entries.hpp"
#include "text/display.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kLeftWait_ms = 5'000;

Result<void> refuse_survivors(ProcessRunner& processes, const std::string& mark) {
  const std::vector<LeftProcess> left = processes.end_all(mark, kLeftWait_ms);
  if (left.empty()) return {};
  std::string names;
  for (const LeftProcess& process : left) names += fmt::format("\n  {} {}", process.pid, process.command);
  return fail(Error{Code::processes_left,
                    fmt::format("can't stop processes of an earlier execution:{}", names),
                    {},
                    "kill them, then resume again",
                    0});
}

/// "0.36 of 0.30 USD (35,548 tokens)": what reached its limit, then what did not.
std::string excess_text(const Usage& used, const Budget& limits) {
  if (limits.usd_reached(used) && limits.tokens_reached(used))
    return used_text(used.usd, used.tokens, limits.usd, limits.tokens);
  const bool usd = limits.usd_reached(used);
  const std::string reached =
      usd ? used_text(used.usd, 0, limits.usd, std::nullopt) : used_text(0, used.tokens, std::nullopt, limits.tokens);
  const std::string others = usd ? used_text(0, used.tokens) : used_text(used.usd, 0);
  return others.empty() ? reached : fmt::format("{} ({})", reached, others);
}

Result<void> it_waits(const Executor& executor) {
  const std::string run = executor.id().text();
  std::string things;
  for (const std::string& thing : executor.waiting_for()) things += (things.empty() ? "" : ", ") + thing;
  if (executor.over_budget()) {
    const RunState state = executor.state();
    return fail(Error{Code::budget_reached,
                      fmt::format("run {}: budget exceeded: {}", run, excess_text(state.usage, state.limits)),
                      {},
                      {},
                      0,
                      Advice::raise_budget,
                      {.run = run}});
  }
  Error error{
      Code::run_waiting, fmt::format("run {} is waiting for {}", run, things), {}, {}, 0, Advice::wait_and_resume,
      {.run = run}};
  const std::vector<Gate> gates = executor.gates();
  if (!gates.empty()) {
    const Gate& gate = gates.front();
    error.advice = Advice::decide;
    error.subject = {.run = gate.run, .step = gate.step, .value = run};
  }
  return fail(std::move(error));
}

bool runs_commands(const Steps& steps);

bool runs_commands(const Step& step) {
  if (std::holds_alternative<RunCommand>(step.work) || std::holds_alternative<CallWorkflow>(step.work)) return true;
  if (step.isolation == Isolation::worktree) return true;
  const auto inside = [](const std::shared_ptr<const Steps>& steps) { return steps && runs_commands(*steps); };
  if (const auto* loop = std::get_if<Loop>(&step.work); loop != nullptr && inside(loop->steps)) return true;
  if (const auto* map = std::get_if<Map>(&step.work)) {
    if (inside(map->steps) || (map->reduce && runs_commands(*map->reduce))) return true;
  }
  return inside(step.on_failure) || (step.confidence && inside(step.confidence->then));
}

bool runs_commands(const Steps& steps) {
  return std::ranges::any_of(steps, [](const Step& step) { return runs_commands(step); });
}

/// Returns whether commands of the workflow may run. Steps that are added later may contain more.
bool runs_commands(const Workflow& workflow) {
  const auto inside = [](const std::shared_ptr<const Steps>& steps) { return steps && runs_commands(*steps); };
  return runs_commands(workflow.steps) || inside(workflow.on_failure) || inside(workflow.finally) || workflow.notify;
}

void add_handlers(const Steps& steps, std::set<std::string>& names);

void add_handlers(const Step& step, std::set<std::string>& names) {
  if (const auto* call = std::get_if<CallHandler>(&step.work)) names.insert(call->name);
  if (const auto* loop = std::get_if<Loop>(&step.work); loop != nullptr && loop->steps)
    add_handlers(*loop->steps, names);
  if (const auto* map = std::get_if<Map>(&step.work)) {
    if (map->steps) add_handlers(*map->steps, names);
    if (map->reduce) add_handlers(*map->reduce, names);
  }
  if (step.on_failure) add_handlers(*step.on_failure, names);
  if (step.confidence && step.confidence->then) add_handlers(*step.confidence->then, names);
}

void add_handlers(const Steps& steps, std::set<std::string>& names) {
  for (const Step& step : steps) add_handlers(step, names);
}

}  // namespace

std::string mark_of_processes(const Uuid& run, const ProcessRunner& processes) {
  return fmt::format("PAWL_ROOT_RUN={}@{}", run.text(), processes.place());
}

Result<void> execute_run(ExecutionServices& services, OpenedRun run, const SessionHooks& hooks,
                         const std::function<Result<void>(const Executor& executor)>& ended) {
  // Only commands need a process that watches them. Handlers alone don't start one.
  std::unique_ptr<ProcessRunner> processes;
  const std::string lock_path = run.logs + "/../reaper";
  const Uuid uuid = run.writer->info().uuid;
  const auto start = [&]() -> Result<void> {
    PAWL_TRY_ASSIGN(processes, hooks.start_processes(lock_path));
    const std::string mark = mark_of_processes(uuid, *processes);
    PAWL_TRY(refuse_survivors(*processes, mark));
    set_entry(services.environment, mark);
    return {};
  };
  if (runs_commands(*run.workflow)) PAWL_TRY(start());
  EventLoop loop(services.clock, processes.get());
  if (hooks.workers != nullptr) loop.use_workers(*hooks.workers);
  loop.provide_processes([&]() -> ProcessRunner* {
    if (const Result<void> started = start(); !started) return nullptr;
    return processes.get();
  });
  Executor executor(services, loop, std::move(run));
  if (hooks.begun) hooks.begun(loop, executor);
  executor.start();
  loop.run([&] { return executor.ended(); }, [&] { executor.round(); });
  if (hooks.over) hooks.over();
  return ended(executor);
}

/// Why a run must not continue, and what can be done.
static Error refusal_error(const machine::command::Finish& finish, const std::string& run) {
  const Subject subject{.run = run};
  switch (finish.refusal) {
    case machine::Refusal::gate:
      return {Code::gate_in_the_way, finish.error, {}, "restore the condition, or start a new run", 0};
    case machine::Refusal::child:
      return {Code::workflow_changed, finish.error, {}, {}, 0, Advice::accept_changes, subject};
    default: return {Code::items_changed, finish.error, {}, {}, 0, Advice::accept_changes, subject};
  }
}

Result<void> how_it_ended(const Executor& executor) {
  const RunState state = executor.state();
  const std::string run = executor.id().text();
  if (executor.trouble()) {
    Error error = *executor.trouble();
    if (error.code != Code::state_too_large)
      error = with_other_advice(std::move(error), Advice::fix_and_resume, {.run = run});
    return fail(error);
  }
  if (executor.finish() && executor.finish()->ending == machine::Ending::refused)
    return fail(refusal_error(*executor.finish(), run));
  switch (state.status) {
    case RunStatus::completed: return {};
    case RunStatus::failed:
      if (executor.rejected())
        return fail(Error{Code::run_failed,
                          fmt::format("run {} failed: {}", run, state.error),
                          {},
                          "a rejection is final: change what was rejected and start a new run",
                          0});
      return fail(Error{Code::run_failed,
                        fmt::format("run {} failed: {}", run, state.error),
                        {},
                        {},
                        0,
                        executor.exhausted() ? Advice::raise_loop_max : Advice::fix_failed_step,
                        {.run = run}});
    case RunStatus::waiting: return it_waits(executor);
    case RunStatus::cancelled:
      return fail(Error{
          Code::run_cancelled, fmt::format("run {} was cancelled: {}", run, state.error), {}, "start a new run", 0});
    default:
      return fail(Error{Code::run_interrupted,
                        fmt::format("run {} was interrupted by {}; completed steps are kept", run, state.error),
                        {},
                        {},
                        0,
                        Advice::resume,
                        {.run = run}});
  }
}

std::vector<std::string> handlers_of(const Workflow& workflow) {
  std::set<std::string> names;
  add_handlers(workflow.steps, names);
  if (workflow.on_failure) add_handlers(*workflow.on_failure, names);
  if (workflow.finally) add_handlers(*workflow.finally, names);
  return {names.begin(), names.end()};
}

}  // namespace pawl
