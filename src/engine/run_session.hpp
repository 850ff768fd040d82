// One complete execution with everything that it needs, for the command line and for programs.
#pragma once

#include "engine/executor.hpp"

namespace pawl {

struct SessionHooks {
  std::function<Result<std::unique_ptr<ProcessRunner>>(const std::string& lock_path)> start_processes = {};
  WorkerPool* workers = nullptr;  // the threads for handlers; null: the execution has its own
  /// Called before the start; loop and executor stay valid until `over` is called.
  std::function<void(EventLoop& loop, Executor& executor)> begun = {};
  std::function<void()> over = {};
};

/// Returns the environment entry that all processes of a run and of its child runs have.
[[nodiscard]] std::string mark_of_processes(const Uuid& run, const ProcessRunner& processes);

/// Stops processes of an earlier execution (or fails with processes_left), then executes the run until it finishes,
/// waits or is interrupted, and returns the result of `ended`.
[[nodiscard]] Result<void> execute_run(ExecutionServices& services, OpenedRun run, const SessionHooks& hooks,
                                       const std::function<Result<void>(const Executor& executor)>& ended);

/// Returns an error (run_failed, run_waiting, run_interrupted, ...) unless the run completed.
[[nodiscard]] Result<void> how_it_ended(const Executor& executor);

/// Returns the names of the handlers that a workflow may call, sorted, without those of its child workflows.
[[nodiscard]] std::vector<std::string> handlers_of(const Workflow& workflow);

}  // namespace pawl
