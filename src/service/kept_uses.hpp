// What a fork keeps although one of its variables was changed.
#pragma once

#include <string>
#include <vector>

#include "ports/store.hpp"

namespace pawl {

/// Returns the completed steps of the workflow's own list that refer to `vars.NAME`, in the order in which they
/// started. A step that contains others refers to what they refer to. Empty if the run or its workflow can't be read.
[[nodiscard]] std::vector<std::string> completed_users(Store& store, const RunId& run, const std::string& variable);

}  // namespace pawl
