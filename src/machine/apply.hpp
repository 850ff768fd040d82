// Applies recorded facts to the progress of a run.
#pragma once

#include <span>

#include "machine/state.hpp"

namespace pawl::machine {

/// Returns the state of a run that has no records.
[[nodiscard]] State empty_state(std::shared_ptr<const Definition> definition);

/// Applies one record. A record about a step that the workflow does not have any more has no effect.
void apply(State& s, const Record& record);

/// Returns the state after these records: those that a rollback took back are passed over, but the cost of their
/// attempts remains. The definition may be newer than the records: completed steps that changed are open again.
[[nodiscard]] State replay(std::shared_ptr<const Definition> definition, std::span<const Record> records);

}  // namespace pawl::machine
