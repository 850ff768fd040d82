// Applies recorded facts to the progress of a run.
#pragma once

#include <span>

#include "machine/state.hpp"

namespace pawl::machine {

/// Returns the state of a run that has no records.
[[nodiscard]] State empty_state(std::shared_ptr<const Definition> definition);

/// Applies one record. A record about a step that the workflow does not have has no effect.
void apply(State& s, const Record& record);

/// Prepares a failed step that contains others for a resume. What it has completed stays completed.
void retry_container(State& s, Node& node);

/// Returns the state after these records, which are all records of a run whose workflow did not change. For tests: a
/// run continues from a snapshot (see snapshot.hpp).
[[nodiscard]] State replay(std::shared_ptr<const Definition> definition, std::span<const Record> records);

}  // namespace pawl::machine
