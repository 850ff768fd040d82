// Removing whole runs: which ones may go, in which order, and what keeps the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ports/environment.hpp"
#include "ports/store.hpp"
#include "text/duration.hpp"

namespace pawl {

struct RemoveRequest {
  std::vector<RunId> runs = {};                 // named ones; empty: those that fit what follows
  std::optional<Milliseconds> older_than = {};  // since their last save
  std::vector<std::string> statuses = {};       // as a list shows them; empty: every run that is finished
  enum class Unfinished : std::uint8_t { keep, remove } unfinished = Unfinished::keep;
};

/// A run that stays, and why: run_busy, run_unfinished, run_has_forks, run_referenced, or what makes it unreadable.
struct KeptRun {
  RunId run;
  Error why;
};

struct RemovalPlan {
  std::vector<RunInfo> runs = {};  // forks before the runs that they were forked from
  std::vector<KeptRun> kept = {};
};

/// Changes nothing. A run is kept if a process holds it, if a workflow run is not finished (unless the request says
/// otherwise), and if a run that stays was forked from it, started it, or was started by it. Named runs must exist:
/// run_not_found, run_removed.
[[nodiscard]] Result<RemovalPlan> plan_removal(Store& store, const RemoveRequest& request, Clock& clock);

}  // namespace pawl
