// Forks: new runs that share the history of another run up to a checkpoint.
#pragma once

#include "engine/open_run.hpp"
#include "engine/state_change.hpp"

namespace pawl {

/// The kinds of state that a run can have.
enum class RunKind : std::uint8_t {
  plain,     // the user's own JSON
  workflow,  // run/1
  steps,     // steps/1
};
[[nodiscard]] RunKind kind_of(const RunInfo& run, std::string_view state);

struct ForkRequest {
  RunId parent;
  Sequence at;
  RunId id;  // of the fork
  std::vector<StateChange> changes = {};
  MissingPath missing = MissingPath::refuse;
  std::shared_ptr<const Workflow> workflow = {};  // null: the parent's
  std::string from = {};  // restart this step and everything inside it; empty: continue as the checkpoint says
  std::string by = {};    // who
};

struct Forked {
  ForkInfo origin;  // the run that has the checkpoint: the parent or one of its ancestors
  Saved saved;
  RunKind kind = RunKind::plain;
  std::vector<std::string> reopened = {};  // gates that must be decided again
  std::vector<std::string> dropped = {};   // completed steps that the changed workflow will run again, or lacks
};

/// Durable when it returns. In a workflow run:
///   - only variables can be changed; other changes fail with record_protected and are recorded in the parent;
///   - every gate must be decided again in the fork; fails with gate_in_the_way if a changed workflow lacks one;
///   - an unfinished child workflow starts again, as a new run.
/// Also fails with run_exists, run_not_found, checkpoint_not_found, checkpoint_pruned or invalid_change.
[[nodiscard]] Result<Forked> fork_run(Store& store, const ForkRequest& request, std::uint64_t state_bytes_max);

/// Returns the checkpoint for a fork that starts with `step`: the one that records its start, and thereby the end of
/// the steps before it. Fails with step_not_found if the step has not started.
[[nodiscard]] Result<Sequence> checkpoint_before(Store& store, const RunId& run, const std::string& step);

}  // namespace pawl
