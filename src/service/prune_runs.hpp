// Removing old checkpoints of several runs.
#pragma once

#include <vector>

#include "domain/settings.hpp"
#include "ports/store.hpp"

namespace pawl {

struct PrunedRun {
  RunId run;
  Result<PruneReport> report;  // or why it was not pruned
};

/// Returns all runs of the store that were not erased.
[[nodiscard]] Result<std::vector<RunId>> runs_to_prune(Store& store);

/// A run that can't be pruned does not prevent pruning the others.
[[nodiscard]] std::vector<PrunedRun> prune_runs(Store& store, const std::vector<RunId>& runs,
                                                const RetentionSettings& limits, PruneMode mode);

/// The totals of dropped and kept checkpoints and freed bytes.
[[nodiscard]] PruneReport sum_of(const std::vector<PrunedRun>& pruned);

}  // namespace pawl
