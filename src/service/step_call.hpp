// One call of a durable step by a script: the command runs unless the run's ledger says that it is done.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/retry_policy.hpp"
#include "domain/settings.hpp"
#include "engine/step_ledger.hpp"
#include "ports/foreground.hpp"

namespace pawl {

struct StepCallOptions {
  std::string name;
  std::vector<std::string> command;
  bool any_status = false;              // any exit status counts as done
  bool again = false;                   // run it even if it is done
  bool strict = false;                  // step_changed if it is done and was recorded with another command
  RetryPolicy retry = {.attempts = 1};  // of this call
  std::int64_t timeout_us = 0;          // of one attempt; 0: none
};

/// What a call reaches of the world. Outlives it.
struct StepCallWorld {
  Store& store;
  Clock& clock;
  Random& random;
  LocalFiles& files;
  Foreground& foreground;
  const Settings& settings;                           // lock_wait: also for a step that is running
  std::vector<std::string> environment;               // NAME=value
  std::string store_uri;                              // for $PAWL_STORE
  std::function<void(std::string_view bytes)> print;  // what the command printed before
  std::function<void(const std::string& text)> note;  // for people
};

/// Prints what the step printed before, or runs its command, up to retry.attempts times. Returns the exit status, as a
/// shell would: 124 after a timeout. The end is recorded before this returns; an attempt that a signal ended
/// is recorded as interrupted and does not count. Fails with step_busy, step_changed, processes_left, output_lost, or
/// with what the ledger fails with.
[[nodiscard]] Result<int> call_step(const StepCallWorld& world, const RunId& run, const StepCallOptions& options);

/// How a run of steps stands, as people mean it. A step that is running says so only while its process lives.
struct StepsStatus {
  RunStatus status = RunStatus::running;  // completed: no step failed or is running; a script may still add steps
  LedgerState ledger;
  Usage usage;
};
[[nodiscard]] Result<StepsStatus> steps_status(Store& store, Foreground& foreground, const RunId& run);

/// Whether the run was made by `pawl step` or pawl::DurableRun. Does not read its state.
[[nodiscard]] bool is_steps_run(Store& store, const RunId& run);

}  // namespace pawl
