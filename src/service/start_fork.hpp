// Starting a fork from a checkpoint, or from a step.
#pragma once

#include "engine/fork_run.hpp"
#include "ports/environment.hpp"

namespace pawl {

struct ForkStart {
  Address from;                  // the checkpoint
  std::string step = {};         // not empty: the checkpoint before this step instead
  std::optional<RunId> id = {};  // of the fork; none: the name of the parent and four random characters
  std::vector<StateChange> changes = {};
  MissingPath missing = MissingPath::refuse;
  std::shared_ptr<const Workflow> workflow = {};  // null: the parent's
  std::string by = {};                            // who
};

struct StartedFork {
  RunId id;
  Forked forked;
};

/// Durable when it returns. Fails like fork_run(), and with step_not_found if `step` has not started.
[[nodiscard]] Result<StartedFork> start_fork(Store& store, const ForkStart& start, Random& random,
                                             std::uint64_t state_bytes_max);

}  // namespace pawl
