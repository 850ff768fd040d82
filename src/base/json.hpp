// A JSON value as a tree, for workflows, expressions and outputs. Saving does not parse states; it keeps them as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace pawl {

/// Keeps the order of keys. Only created from text that codec/json_check has accepted or from values of the program, so
/// its depth is bounded.
using Json = nlohmann::ordered_json;

/// Returns the value of a text, or a discarded value if it is not JSON. Linear, whereas Json::parse is quadratic in the
/// number of members of an object. If a key is repeated, its last value counts.
[[nodiscard]] Json parse_json(std::string_view text);

/// Returns the value on one line. Replaces invalid UTF-8 instead of throwing.
[[nodiscard]] inline std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns the text at `key` of an object, or an empty text if there is none.
[[nodiscard]] inline std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace pawl
