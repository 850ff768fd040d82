// Environments as lists of NAME=value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// Replaces the entry of the same name, or adds it.
void set_entry(std::vector<std::string>& environment, std::string entry);
/// The value, or nothing.
[[nodiscard]] const std::string* find_entry(const std::vector<std::string>& environment, std::string_view name);
[[nodiscard]] std::string_view entry_value(const std::string& entry);

/// The lines NAME=value of an env file: empty lines and those that begin with # are left out, `export ` is
/// taken away, one pair of quotes around the value too. Nothing in it is executed.
[[nodiscard]] std::vector<std::string> parse_env_file(std::string_view text);

}  // namespace pawl
