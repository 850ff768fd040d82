// Erasing a run, with what was asked for checked.
#pragma once

#include "ports/store.hpp"

namespace pawl {

/// usage where the reason is missing, too long (1,000 bytes), not UTF-8 or more than one line: it is kept for good.
[[nodiscard]] Result<Erasure> checked_erase(Store& store, const RunId& run, const EraseRequest& request);

}  // namespace pawl
