// Regular expressions that a user has configured.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace re2 {
class RE2;
}

namespace pawl {

/// Compiles a regular expression in the syntax of RE2, which matches in linear time. It matches bytes: `.` is any byte
/// except a newline. Fails with usage; the message names syntax that is not supported, such as lookahead.
[[nodiscard]] Result<std::shared_ptr<const re2::RE2>> compile_pattern(const std::string& pattern);

}  // namespace pawl
