// Removing whole runs: which ones may be removed, in which order, and why others are kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ports/environment.hpp"
#include "ports/store.hpp"
#include "text/duration.hpp"

namespace pawl {

struct RemoveRequest {
  std::vector<RunId> runs = {};                 // named runs; empty: those that match the other members
  std::optional<Milliseconds> older_than = {};  // since their last save
  std::vector<std::string> statuses = {};       // as a list shows them; empty: all but those that can be resumed
  enum class Unfinished : std::uint8_t { keep, remove } unfinished = Unfinished::keep;
  Milliseconds wait{0};  // at most this long for runs that a process holds
};

/// A run that is kept, and why: run_busy, run_unfinished, run_has_forks, run_referenced, or the error that makes it
/// unreadable.
struct KeptRun {
  RunId run;
  Error why;
};

struct RemovalPlan {
  std::vector<RunInfo> runs = {};  // forks before the runs that they were forked from
  std::vector<KeptRun> kept = {};
};

/// Changes nothing. A run is kept if a process holds it, if it is an unfinished run of a workflow or a script (unless
/// the request says otherwise), or if a kept run was forked from it, started it, or was started by it. Fails with
/// run_not_found or run_removed if a named run does not exist.
[[nodiscard]] Result<RemovalPlan> plan_removal(Store& store, const RemoveRequest& request, Clock& clock);

}  // namespace pawl
