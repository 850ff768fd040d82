// Erases a run after checking the request.
#pragma once

#include "ports/store.hpp"

namespace pawl {

/// Fails with usage if the reason is missing (a removal needs none), longer than 1,000 bytes, not UTF-8 or more than
/// one line. It is kept permanently.
[[nodiscard]] Result<Erasure> checked_erase(Store& store, const RunId& run, const EraseRequest& request);

}  // namespace pawl
