// Returns a run to an earlier state. This adds a checkpoint to the same run, so that no history is lost.
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
  std::vector<std::string> rerun = {};  // completed steps that will run again
};

/// Durable when it returns. Fails with steps_would_rerun, which lists them, if completed steps would run again and that
/// was not accepted; with run_busy; and with run_ended for a cancelled run. In a workflow run, gates must be decided
/// again, and spent budget stays spent.
[[nodiscard]] Result<RolledBack> roll_back(Store& store, const RollbackRequest& request, std::uint64_t state_bytes_max);

}  // namespace pawl
