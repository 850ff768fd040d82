// The state of a run after a rollback.
#pragma once

#include "domain/run_state.hpp"

namespace pawl {

/// Returns the state `to`, from which the run continues, without giving back what has happened since: usage, the number
/// of resumes, the numbers of attempts, `finally` and records, consumed messages and masked keys are those of `newest`.
/// The events in between are in `lost`. Gates that waited ask again, because a decision counts once. The caller sets
/// `origin`.
[[nodiscard]] RunState rolled_back(const RunState& to, const RunState& newest);

}  // namespace pawl
