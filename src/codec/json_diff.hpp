// The difference between two states, for programs and for people.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// A JSON Patch (RFC 6902) that makes `after` of `before`: `[]` where nothing differs. Arrays are compared
/// element by element from the front. Fails with invalid_json where one of them isn't. Both must be nested
/// at most kJsonDepthMax deep.
[[nodiscard]] Result<std::string> json_patch(std::string_view before, std::string_view after);

/// The same for people, a line per change, with values shortened to 80 characters:
///   ~ /path: old -> new
///   + /path: value
///   - /path: old
/// Empty where nothing differs.
[[nodiscard]] Result<std::string> readable_diff(std::string_view before, std::string_view after);

}  // namespace pawl
