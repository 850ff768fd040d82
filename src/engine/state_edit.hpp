// A change of a workflow run's state by someone other than an execution: cancelling, dead letters.
#pragma once

#include "domain/run_state.hpp"
#include "ports/store.hpp"

namespace pawl {

/// The status of a checkpoint that is made while a run has this one.
[[nodiscard]] Status checkpoint_status(RunStatus status);

/// Holds the run while it lives, so that nobody executes it meanwhile.
class StateEdit {
 public:
  /// run_not_found, run_busy, not_a_workflow_run. The state is the newest one, read under the lock.
  [[nodiscard]] static Result<StateEdit> open(Store& store, const RunId& id);

  RunState state;

  /// Durable when it returns. The event's data must be an object.
  [[nodiscard]] Result<Saved> save(Kind kind, Reason reason, std::string_view event, const Json& data,
                                   std::uint64_t state_bytes_max);
  /// Of the checkpoint that was the newest when the run was opened.
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
