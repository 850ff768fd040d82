// Values that are never saved: those of configured keys, in variables and outputs. The saved state has [masked:KEY]
// in their place, and a resume is given them again. One value per key and run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace pawl {

using KeyValues = std::map<std::string, Json>;

/// Replaces the values of members with these names, at any depth, and notes what they were.
void mask_keys(Json& value, const std::set<std::string>& keys, KeyValues& values);
/// The other way round.
void unmask_keys(Json& value, const KeyValues& values);

/// The values of `keys` from what was given and from PAWL_VAR_KEY in the environment: invalid_variable, naming those
/// that are missing.
[[nodiscard]] Result<KeyValues> given_key_values(const std::set<std::string>& keys, const Json& given,
                                                 const std::vector<std::string>& environment, const std::string& run);

}  // namespace pawl
