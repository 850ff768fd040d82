// A command whose values travel in the environment, so that no value is ever parsed by the shell.
//
// Each `${expression}` of Pawl's in the command becomes a reference to a variable PAWL_ARG_1, PAWL_ARG_2, ...
// that fits the quotes around it:
//   bare             "$PAWL_ARG_1"           in "..."        ${PAWL_ARG_1}
//   in '...'         '"$PAWL_ARG_1"'         in $( ), ` `, ${X:-...} and parentheses: by the same rules, nested
// Refused, with "use env": in a here-document, in $(( )) and (( )) (arithmetic evaluates what a variable
// holds), in $'...', behind a backslash, and where the text can't be followed (an unclosed quote).
#pragma once

#include <string>
#include <vector>

#include "domain/text_template.hpp"

namespace pawl {

enum class Shell : std::uint8_t { sh, bash };

struct ShellCommand {
  std::string script;                   // for `sh -c`
  std::vector<Expression> arguments;    // the value of PAWL_ARG_(i + 1)
};

/// Fails with invalid_command; `Error::where` is "line N, column N" within the command.
[[nodiscard]] Result<ShellCommand> to_shell_command(const TextTemplate& command, Shell shell);

}  // namespace pawl
