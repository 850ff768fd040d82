// A change to one place of a state, as people write it: `plan.steps[2].done=true`, or with the JSON pointer (RFC 6901)
// that a diff prints: `/plan/steps/2/done=true`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace pawl {

struct StateChange {
  std::vector<std::string> path;  // names of members, or indices of arrays
  Json value;
  /// The path with dots (`plan.steps.2.done`); as a JSON pointer where a name has a dot, a bracket or a slash.
  [[nodiscard]] std::string text() const;
};

/// `PATH=VALUE`. A path that begins with a slash is a JSON pointer; the parts of any other path stand between dots, or
/// in brackets. The value is parsed as JSON if valid, otherwise kept as text. Fails with invalid_change.
[[nodiscard]] Result<StateChange> parse_change(std::string_view text);

/// What to do with a path that does not exist.
enum class MissingPath : std::uint8_t {
  refuse,  // invalid_change, with the nearest path that exists
  create,  // objects on the way are made; an index must be one of the array, the next one, or `-` for the next one
};

/// Fails with invalid_change.
Result<void> apply_change(Json& value, const StateChange& change, MissingPath missing);

/// The same on a state's text: what is not changed keeps its bytes where that is possible.
[[nodiscard]] Result<std::string> changed_state(std::string_view state, const std::vector<StateChange>& changes,
                                                MissingPath missing);

}  // namespace pawl
