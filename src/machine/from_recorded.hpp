// Runs that were begun before records existed.
//
// Their progress is the state of their newest checkpoint, and the results of map items are in events. Both become
// records, in this order:
//   state `added`                     -> steps_added
//   state `steps`, each               -> step_imported (the record as it is, with its output)
//   events item_completed, item_failed -> item_ended, with the hash that identifies the item
//   steps inside `x.on_failure`       -> aside_began, if `x` itself was running
//   everything else of the state      -> run_imported (sums, signals, consumed messages, status)
// Other events are not needed: the state contains their effect.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "machine/records.hpp"

namespace pawl::machine {

/// An event as an older program recorded it.
struct OldEvent {
  std::string type;
  Json data;  // an object
};

/// Returns records that lead to this progress. `output_in_event` returns the output that an event contains.
[[nodiscard]] Result<std::vector<Record>> from_recorded(
    const RunState& state, std::span<const OldEvent> events,
    const std::function<Result<Json>(std::uint64_t event)>& output_in_event);

}  // namespace pawl::machine
