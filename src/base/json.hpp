// A JSON value as a tree, for workflows, expressions and outputs. States on the path of a save stay text.
#pragma once

#include <nlohmann/json.hpp>

namespace pawl {

/// Keeps the order of keys. Only made from text that codec/json_check has seen, or from values of our own,
/// so that its depth is bounded.
using Json = nlohmann::ordered_json;

/// On one line. Text that is not UTF-8 has its wrong bytes replaced: nothing throws.
[[nodiscard]] inline std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pawl
