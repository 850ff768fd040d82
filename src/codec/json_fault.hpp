// Finds out why a text is not valid JSON. Slow and exact; for the path where the fast parser said no.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// The first fault of `text`: invalid_utf8, invalid_json, json_too_deep or number_out_of_range, with its
/// place and advice. Nothing where there is none. Does not look for duplicate keys. Doesn't recurse.
[[nodiscard]] std::optional<Error> find_json_fault(std::string_view text);

}  // namespace pawl
