// One call of a durable step by a script: runs the command unless the run's ledger says that it completed.
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
  bool any_status = false;              // any exit status counts as success
  bool again = false;                   // run it even if it completed
  bool strict = false;                  // fail with step_changed if it completed with another command
  RetryPolicy retry = {.attempts = 1};  // of this call
  std::int64_t timeout_us = 0;          // of one attempt; 0: none
};

/// What a call needs from the outside world. Must outlive it.
struct StepCallWorld {
  Store& store;
  Clock& clock;
  Random& random;
  LocalFiles& files;
  Foreground& foreground;
  const Settings& settings;                           // lock_wait also applies to a step that is running
  std::vector<std::string> environment;               // NAME=value
  std::string store_uri;                              // for $PAWL_STORE
  std::function<void(std::string_view bytes)> print;  // for the recorded output of the command
  std::function<void(const std::string& text)> note;  // for people
};

/// Prints the recorded output of the step, or runs its command, up to retry.attempts times. Returns the exit status, as
/// a shell would: 124 after a timeout. The result is recorded before this returns. An attempt that was stopped by a
/// signal is recorded as interrupted and does not count. Fails with step_busy, step_changed, processes_left,
/// output_lost, or an error of the ledger.
[[nodiscard]] Result<int> call_step(const StepCallWorld& world, const RunId& run, const StepCallOptions& options);

/// The status of a run of steps, as people understand it. A step counts as running only while its process is alive.
struct StepsStatus {
  RunStatus status = RunStatus::running;  // completed: no step failed or is running; a script may still add steps
  LedgerState ledger;
  Usage usage;
};
[[nodiscard]] Result<StepsStatus> steps_status(Store& store, const RunId& run);

/// Returns whether the run was created by `pawl step` or pawl::DurableRun. Does not read its state. Fails if its first
/// event can't be read, for example without the key of an encrypted store.
[[nodiscard]] Result<bool> created_by_steps(Store& store, const RunId& run);

/// The same; false if that is unknown.
[[nodiscard]] bool is_steps_run(Store& store, const RunId& run);

}  // namespace pawl
