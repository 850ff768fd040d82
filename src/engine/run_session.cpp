#include "engine/run_session.hpp"

#include <set>

#include "engine/environment_entries.hpp"

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

Result<void> it_waits(const Execution& execution) {
  const std::string run = execution.id().text();
  std::string things;
  for (const std::string& thing : execution.waiting_for()) things += (things.empty() ? "" : ", ") + thing;
  if (things.empty()) {
    const Usage& usage = execution.state().usage;
    return fail(
        Error{Code::budget_reached,
              fmt::format("run {} has reached its budget: {:.2f} USD, {} tokens used", run, usage.usd, usage.tokens),
              {},
              {},
              0,
              Advice::raise_budget,
              {.run = run}});
  }
  Error error{
      Code::run_waiting, fmt::format("run {} is waiting for {}", run, things), {}, {}, 0, Advice::wait_and_resume,
      {.run = run}};
  const std::vector<Gate> gates = execution.gates();
  if (!gates.empty()) {
    const Gate& gate = gates.front();
    error.advice = Advice::decide;
    error.subject = {.run = gate.run, .step = gate.step, .value = run};
  }
  return fail(std::move(error));
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
                         const std::function<Result<void>(const Execution& execution)>& ended) {
  PAWL_TRY_ASSIGN(const std::unique_ptr<ProcessRunner> processes, hooks.start_processes(run.logs + "/../reaper"));
  const std::string mark = mark_of_processes(run.writer->info().uuid, *processes);
  PAWL_TRY(refuse_survivors(*processes, mark));
  set_entry(services.environment, mark);
  EventLoop loop(services.clock, processes.get());
  loop.set_workers(hooks.handler_threads);
  Execution execution(services, loop, std::move(run));
  if (hooks.begun) hooks.begun(loop, execution);
  execution.start();
  loop.run([&] { return execution.ended(); }, [&] { execution.round(); });
  if (hooks.over) hooks.over();
  return ended(execution);
}

Result<void> how_it_ended(const Execution& execution) {
  const RunState& state = execution.state();
  const std::string run = execution.id().text();
  if (execution.storage_error()) {
    Error error = *execution.storage_error();
    if (error.code != Code::state_too_large)
      error = with_other_advice(std::move(error), Advice::fix_and_resume, {.run = run});
    return fail(error);
  }
  if (execution.refusal()) return fail(*execution.refusal());
  switch (state.status) {
    case RunStatus::completed: return {};
    case RunStatus::failed:
      if (execution.rejected())
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
                        Advice::fix_failed_step,
                        {.run = run}});
    case RunStatus::waiting: return it_waits(execution);
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
