// What people write who come from GitHub Actions, Compose, Airflow or a programming language, and what to write
// instead.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// The first `${{ ... }}` of a text; nothing where there is none. `$${{` is a literal one.
struct DoubleBraces {
  std::size_t offset = 0;
  Error error = {};  // invalid_expression, with the form to write in its hint
};
[[nodiscard]] std::optional<DoubleBraces> find_double_braces(std::string_view text);

/// The function that another language calls `name`: `length` for `len`. Empty where none is known.
[[nodiscard]] std::string_view function_known_as(std::string_view name);
/// `${length(vars.x)}` for the call `len(x)} ...`: the text from the function's name on. Empty where none is known.
[[nodiscard]] std::string call_in_pawl(std::string_view call);

}  // namespace pawl
