// Values of configured keys in variables and outputs are never saved. The saved state has [masked:KEY] instead, and a
// resume must be given the values again. A key has one value per run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace pawl {

using KeyValues = std::map<std::string, Json>;

/// Masks the values of members with these names, at any depth, and records the values.
void mask_keys(Json& value, const std::set<std::string>& keys, KeyValues& values);
/// Replaces the masks by the values.
void unmask_keys(Json& value, const KeyValues& values);

/// Returns the values of `keys` from `given` and from PAWL_VAR_KEY in the environment. Fails with invalid_variable,
/// which names missing ones.
[[nodiscard]] Result<KeyValues> given_key_values(const std::set<std::string>& keys, const Json& given,
                                                 const std::vector<std::string>& environment, const std::string& run);

}  // namespace pawl
