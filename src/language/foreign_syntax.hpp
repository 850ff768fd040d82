// Syntax that people bring from GitHub Actions, Compose, Airflow or a programming language, and what to write instead.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Finds the first `${{ ... }}` of a text. Returns nothing if there is none. `$${{` is a literal one.
struct DoubleBraces {
  std::size_t offset = 0;
  Error error = {};  // invalid_expression, with the correct form in its hint
};
[[nodiscard]] std::optional<DoubleBraces> find_double_braces(std::string_view text);

/// Returns the function that another language calls `name`: `length` for `len`. Empty if none is known.
[[nodiscard]] std::string_view function_known_as(std::string_view name);
/// Returns `${length(vars.x)}` for the call `len(x)} ...`, the text starting with the function's name. Empty if none is
/// known.
[[nodiscard]] std::string call_in_pawl(std::string_view call);

}  // namespace pawl
