// Removing old checkpoints of several runs.
#pragma once

#include <vector>

#include "domain/settings.hpp"
#include "ports/store.hpp"

namespace pawl {

struct PrunedRun {
  RunId run;
  Result<PruneReport> report;  // or why it was left as it is
};

/// All runs of the store that were not erased.
[[nodiscard]] Result<std::vector<RunId>> runs_to_prune(Store& store);

/// A run that can't be pruned does not keep the others from it.
[[nodiscard]] std::vector<PrunedRun> prune_runs(Store& store, const std::vector<RunId>& runs,
                                                const RetentionSettings& limits, PruneMode mode);

/// What all of them together dropped, kept and freed.
[[nodiscard]] PruneReport sum_of(const std::vector<PrunedRun>& pruned);

}  // namespace pawl
