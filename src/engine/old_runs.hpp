// Runs that were begun before the state of a checkpoint contained what failed items had completed.
#pragma once

#include "domain/run_state.hpp"
#include "ports/store.hpp"

namespace pawl {

/// Adds the completed steps of failed items, which older programs recorded in the events item_failed. Does nothing for
/// a state of this program. Linear in the events of such a run.
[[nodiscard]] Result<void> add_failed_items(Store& store, const RunId& run, RunState& state);

}  // namespace pawl
