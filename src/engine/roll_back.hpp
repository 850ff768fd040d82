// Taking a run back to an earlier state: a new checkpoint of the same run, so that nothing of what happened is lost.
#pragma once

#include "ports/store.hpp"

namespace pawl {

enum class Rerun : std::uint8_t { refuse, accept };

struct RollbackRequest {
  RunId run;
  Sequence to;
  Rerun rerun = Rerun::refuse;
  std::string by = {};
};

struct RolledBack {
  Saved saved;
  std::vector<std::string> rerun = {};  // steps that are recorded as completed, and will run again
};

/// Durable when it returns. steps_would_rerun, which lists them, where recorded steps would be run again and that is
/// not accepted; run_busy, run_ended for a cancelled run. Of a workflow's run decisions of people are not taken over:
/// its gates have to be decided again, and what was spent stays spent.
[[nodiscard]] Result<RolledBack> roll_back(Store& store, const RollbackRequest& request, std::uint64_t state_bytes_max);

}  // namespace pawl
