// A change to one place of a state, as people write it: `plan.steps[2].done=true`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace pawl {

struct StateChange {
  std::vector<std::string> path;  // names of members, or indices of arrays
  Json value;
  [[nodiscard]] std::string text() const;  // the path: `plan.steps.2.done`
};

/// `PATH=VALUE`. The path's parts stand between dots, or in brackets; the value is JSON where it is some, else text.
/// Fails with invalid_change.
[[nodiscard]] Result<StateChange> parse_change(std::string_view text);

/// Objects on the way are made where they are missing; an index must be one of the array, or the next.
/// Fails with invalid_change.
Result<void> apply_change(Json& value, const StateChange& change);

/// The same on a state's text: what is not changed keeps its bytes where that is possible.
[[nodiscard]] Result<std::string> changed_state(std::string_view state, const std::vector<StateChange>& changes);

}  // namespace pawl
