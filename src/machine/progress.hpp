// The progress of a run as JSON, for checkpoints, `show` and comparisons.
#pragma once

#include "machine/state.hpp"

namespace pawl::machine {

/// Returns the run's progress: its status, sums, signals, and the record of every step that has started, by path.
/// The number of started attempts is left out, because the start of an item is not recorded. Numbers of records and
/// events are left out, too.
[[nodiscard]] Json progress_of(const State& s);

}  // namespace pawl::machine
