// Finds out why a text is not valid JSON. Exact but slow; used after the fast parser has refused the text.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Returns the first error in `text`: invalid_utf8, invalid_json, json_too_deep or number_out_of_range, with its place
/// and a hint. Returns nothing if there is none. Does not detect duplicate keys. Does not recurse.
[[nodiscard]] std::optional<Error> find_json_fault(std::string_view text);

}  // namespace pawl
