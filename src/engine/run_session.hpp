// One execution from beginning to end, with all that it stands on: for the command line and for programs.
#pragma once

#include "engine/execution.hpp"

namespace pawl {

struct SessionHooks {
  std::function<Result<std::unique_ptr<ProcessRunner>>(const std::string& lock_path)> start_processes = {};
  std::size_t handler_threads = 8;
  /// Before it starts; loop and execution stay valid until `over` was called.
  std::function<void(EventLoop& loop, Execution& execution)> begun = {};
  std::function<void()> over = {};
};

/// Ends what an earlier execution of the run left behind (processes_left where it can't), then executes it until
/// it has ended, waits or was interrupted, and gives what `ended` makes of it.
[[nodiscard]] Result<void> execute_run(ExecutionServices& services, OpenedRun run, const SessionHooks& hooks,
                                       const std::function<Result<void>(const Execution& execution)>& ended);

/// An error (run_failed, run_waiting, run_interrupted, ...) unless it is completed.
[[nodiscard]] Result<void> how_it_ended(const Execution& execution);

/// The names of the handlers that a workflow may call, sorted; those of its child workflows are not among them.
[[nodiscard]] std::vector<std::string> handlers_of(const Workflow& workflow);

}  // namespace pawl
