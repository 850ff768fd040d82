#include "service/prune_runs.hpp"

namespace pawl {

Result<std::vector<RunId>> runs_to_prune(Store& store) {
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> all, store.runs(SIZE_MAX));
  std::vector<RunId> runs;
  for (const RunInfo& info : all) {
    if (info.status != Status::erased) runs.push_back(info.id);
  }
  return runs;
}

std::vector<PrunedRun> prune_runs(Store& store, const std::vector<RunId>& runs, const RetentionSettings& limits,
                                  PruneMode mode) {
  std::vector<PrunedRun> pruned;
  for (const RunId& run : runs) pruned.push_back({run, store.prune(run, limits, mode)});
  return pruned;
}

PruneReport sum_of(const std::vector<PrunedRun>& pruned) {
  PruneReport sum;
  for (const PrunedRun& run : pruned) {
    if (!run.report) continue;
    sum.dropped.insert(sum.dropped.end(), run.report->dropped.begin(), run.report->dropped.end());
    sum.kept += run.report->kept;
    sum.freed_bytes += run.report->freed_bytes;
  }
  return sum;
}

}  // namespace pawl
