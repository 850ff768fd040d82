// A change of one value in a state, as people write it: `plan.steps[2].done=true`.
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

/// Parses `PATH=VALUE`. The parts of the path are separated by dots or in brackets. The value is parsed as JSON if
/// valid, otherwise kept as text. Fails with invalid_change.
[[nodiscard]] Result<StateChange> parse_change(std::string_view text);

/// Objects on the way are made where they are missing; an index must be one of the array, or the next.
/// Fails with invalid_change.
Result<void> apply_change(Json& value, const StateChange& change);

/// The same for the text of a state. Unchanged parts keep their bytes if possible.
[[nodiscard]] Result<std::string> changed_state(std::string_view state, const std::vector<StateChange>& changes);

}  // namespace pawl
