// JSON Merge Patch (RFC 7396) on text.
//
// Everything that the patch does not change stays the same byte for byte: order of keys, white space, spelling of
// numbers. `null` removes a member together with one comma. New members are added at the end of their object, in the
// order of the patch.
//
// Extension to RFC 7396: an object in the patch whose only member is "$append" appends the elements of that array to
// the array at the same place of the state, which is created if it is missing. A patch can therefore not change a
// member of the state that is named "$append".
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Returns the patched state. Both texts must be valid JSON, nested at most kJsonDepthMax deep. One pass over the
/// state, one over the patch for each of its levels. Fails with invalid_patch, which names the place as a JSON pointer,
/// if "$append" is applied to a value that is not an array, if its value is not an array, or if it has siblings.
[[nodiscard]] Result<std::string> apply_patch(std::string_view state, std::string_view patch);

}  // namespace pawl
