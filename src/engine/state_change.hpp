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
  std::string typed = {};  // the path as written by the user; empty: unknown
  /// Returns the path with dots (`plan.steps.2.done`), or as a JSON pointer if a name contains a dot, a bracket or a
  /// slash.
  [[nodiscard]] std::string text() const;
};

/// Parses `PATH=VALUE`. A path that starts with a slash is a JSON pointer; otherwise its parts are separated by dots or
/// in brackets. The value is parsed as JSON if valid, otherwise kept as text. Fails with invalid_change.
[[nodiscard]] Result<StateChange> parse_change(std::string_view text);

/// What to do with a path that does not exist.
enum class MissingPath : std::uint8_t {
  refuse,  // fails with invalid_change, which names the nearest existing path
  create,  // creates missing objects; an index must exist in the array, or be the next one (also written `-`)
};

/// Fails with invalid_change.
Result<void> apply_change(Json& value, const StateChange& change, MissingPath missing);

/// The same on the text of a state: unchanged parts keep their bytes if possible.
[[nodiscard]] Result<std::string> changed_state(std::string_view state, const std::vector<StateChange>& changes,
                                                MissingPath missing);

}  // namespace pawl
