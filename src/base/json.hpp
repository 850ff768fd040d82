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

/// The text at `key` of an object; empty where there is none.
[[nodiscard]] inline std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace pawl
