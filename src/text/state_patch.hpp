// A patch of a state: JSON Merge Patch (RFC 7396) by splicing text.
//
// Bytes of the state that the patch does not touch stay exactly as they are: order of keys, spaces,
// the spelling of numbers. `null` removes a member together with one comma; new members are added at
// the end of their object, in the patch's order.
//
// Beyond RFC 7396: where the patch has an object whose only member is "$append", the elements of that
// member's array are appended to the array at this place (which is made where there is none). A member
// of the state that is itself named "$append" can therefore not be reached by a patch.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Both are valid JSON, nested at most kJsonDepthMax deep. One pass over the state, one over the patch per level
/// of its nesting, no tree.
/// Fails with invalid_patch, naming the place as a JSON pointer, where "$append" meets something other
/// than an array, holds something other than an array, or has other members beside it.
[[nodiscard]] Result<std::string> apply_patch(std::string_view state, std::string_view patch);

}  // namespace pawl
