// Removing old logs of steps.
#pragma once

#include <pawl/types.hpp>

#include <vector>

#include "ports/local_files.hpp"
#include "ports/store.hpp"

namespace pawl {

struct PrunedLogs {
  struct OfRun {
    RunId run;
    std::uint64_t removed = 0;
    std::uint64_t freed_bytes = 0;
  };
  std::vector<OfRun> runs;  // excluding those that are being executed

  [[nodiscard]] std::uint64_t removed() const;
  [[nodiscard]] std::uint64_t freed_bytes() const;
};

/// Removes the logs of `runs` that were last written before `before`. Skips runs that are being executed. Keeps
/// captured outputs, because a completed step may be replayed from them.
[[nodiscard]] Result<PrunedLogs> prune_logs(Store& store, LocalFiles& files, const std::vector<RunId>& runs,
                                            Timestamp before, PruneMode mode);

}  // namespace pawl
