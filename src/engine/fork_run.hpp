// Forks: a new run that shares another one's past up to a checkpoint, and goes on differently.
#pragma once

#include "engine/open_run.hpp"
#include "engine/state_change.hpp"

namespace pawl {

/// What kind of program keeps its state in a run.
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
  std::shared_ptr<const Workflow> workflow = {};  // null: the one that the parent has
  std::string from = {};  // this step and what is inside it have not begun; empty: as the checkpoint says
  std::string by = {};    // who
};

struct Forked {
  ForkInfo origin;  // the run that has the checkpoint, which may be an ancestor of the one that was named
  Saved saved;
  RunKind kind = RunKind::plain;
  std::vector<std::string> reopened = {};  // gates that have to be decided again
  std::vector<std::string> dropped = {};   // completed steps that the changed workflow will run again, or lacks
};

/// Durable when it returns. Of a workflow's run:
///   - only variables can be changed: record_protected for what the engine has recorded, which is noted in the parent;
///   - every gate must be decided again in the fork; gate_in_the_way where a changed workflow lacks one;
///   - a child workflow that had not ended begins again, as a run of its own.
/// run_exists, run_not_found, checkpoint_not_found, checkpoint_pruned, invalid_change.
[[nodiscard]] Result<Forked> fork_run(Store& store, const ForkRequest& request, std::uint64_t state_bytes_max);

/// The checkpoint from which a fork that begins with `step` goes on: the one that records its beginning, and with it
/// the end of what came before. step_not_found where it has not begun.
[[nodiscard]] Result<Sequence> checkpoint_before(Store& store, const RunId& run, const std::string& step);

}  // namespace pawl
