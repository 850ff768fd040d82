// The exit status of the program, derived from an error's category.
#pragma once

#include <pawl/error.hpp>

namespace pawl::cli {

inline constexpr int kStatusInterrupted = 130;

[[nodiscard]] int exit_status(Category category);
[[nodiscard]] inline int exit_status(Code code) { return exit_status(category(code)); }

}  // namespace pawl::cli
