// Environments as lists of NAME=value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "language/shell_command.hpp"

namespace pawl {

/// Replaces the entry of the same name, or adds it.
void set_entry(std::vector<std::string>& environment, std::string entry);
/// Returns the value, if there is one.
[[nodiscard]] const std::string* find_entry(const std::vector<std::string>& environment, std::string_view name);
[[nodiscard]] std::string_view entry_value(const std::string& entry);

/// Returns the program that runs the command, and its arguments. The first command that fails ends it.
[[nodiscard]] std::vector<std::string> shell_words_of(const ShellCommand& command, Shell shell);
/// Sets PAWL_ARG_1, PAWL_ARG_2, ... to the values that a command uses, and returns these. Fails with invalid_command
/// if an environment variable can't hold one.
[[nodiscard]] Result<Json> set_arguments(std::vector<std::string>& environment, const ShellCommand& command,
                                         const Names& names);

/// Parses the NAME=value lines of an env file. Skips empty lines and comments (#), and removes `export ` and one pair
/// of quotes around the value. Executes nothing. Fails with invalid_variable, and names the line.
[[nodiscard]] Result<std::vector<std::string>> parse_env_file(std::string_view text, const std::string& path);

}  // namespace pawl
