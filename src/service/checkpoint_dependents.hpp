// What depends on a checkpoint: later checkpoints, steps of the workflow, and forks.
#pragma once

#include <string>
#include <vector>

#include "ports/store.hpp"

namespace pawl {

struct CheckpointDependents {
  std::vector<Sequence> checkpoints;  // checkpoints that build on it, ascending
  std::vector<std::string> steps;     // steps of the workflow that run after the checkpoint's step
  std::vector<ForkInfo> forks;        // forks of it or of one of `checkpoints`
};

/// Reads the descriptions of all later checkpoints of the run. An imported checkpoint builds on the parent that the
/// other program gave it, every other one on the checkpoint before it. Fails with errors of the store.
[[nodiscard]] Result<CheckpointDependents> find_dependents(Store& store, const RunId& run,
                                                           const CheckpointInfo& checkpoint);

}  // namespace pawl
