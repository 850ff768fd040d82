// The difference between two states, for programs and for people.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Returns a JSON Patch (RFC 6902) that turns `before` into `after`, or `[]` if they are equal. Compares arrays element
/// by element from the front. Fails with invalid_json if one of them is not JSON. Both must be nested at most
/// kJsonDepthMax deep.
[[nodiscard]] Result<std::string> json_patch(std::string_view before, std::string_view after);

/// The same for people, one line per change, with values shortened to 80 characters; empty if they are equal:
///   ~ /path: old -> new
///   + /path: value
///   - /path: old
[[nodiscard]] Result<std::string> readable_diff(std::string_view before, std::string_view after);

}  // namespace pawl
