// Changes the state of a workflow run outside an execution: for cancelling and dead letters.
#pragma once

#include "domain/run_state.hpp"
#include "ports/store.hpp"

namespace pawl {

/// Returns the checkpoint status for a run status.
[[nodiscard]] Status checkpoint_status(RunStatus status);

/// Holds the run's lock, so that nobody executes it meanwhile.
class StateEdit {
 public:
  /// Reads the newest state under the lock. Fails with run_not_found, run_busy or not_a_workflow_run.
  [[nodiscard]] static Result<StateEdit> open(Store& store, const RunId& id);

  RunState state;

  /// Durable when it returns. The event's data must be an object.
  [[nodiscard]] Result<Saved> save(Kind kind, Reason reason, std::string_view event, const Json& data,
                                   std::uint64_t state_bytes_max);
  /// Returns the checkpoint that was the newest when the run was opened.
  [[nodiscard]] const CheckpointInfo& before() const { return before_; }
  [[nodiscard]] RunInfo info() const { return writer_->info(); }

 private:
  StateEdit(RunState read, std::unique_ptr<RunWriter> writer, CheckpointInfo before, std::uint64_t events)
      : state(std::move(read)), writer_(std::move(writer)), before_(std::move(before)), events_(events) {}

  std::unique_ptr<RunWriter> writer_;
  CheckpointInfo before_;
  std::uint64_t events_;  // of the run; outputs in the state refer to events by their number
};

}  // namespace pawl
