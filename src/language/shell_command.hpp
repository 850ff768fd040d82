// A command whose values travel in the environment, so that no value is ever parsed by the shell.
//
// Each `${expression}` of Pawl's in the command becomes a reference to a variable PAWL_ARG_1, PAWL_ARG_2, ...
// that fits the quotes around it:
//   bare             "$PAWL_ARG_1"           in "..."        ${PAWL_ARG_1}
//   in '...'         '"$PAWL_ARG_1"'         in $( ), ${X:-...} and parentheses: by the same rules, nested
// Refused, with "use env", is everything where the shell would evaluate or re-read the value:
//   - here-documents and their delimiters, ` `, $'...', behind a backslash or a `$`;
//   - arithmetic, which runs what a variable holds: $(( )), (( )), $[ ], a[...], [[ x -eq y ]], let, declare -i;
//   - other ${X...} than ${X-y}, ${X=y}, ${X?y}, ${X+y} and those with a colon;
//   - names of variables (`export ${vars.a}=1`, read, unset, printf -v), eval, trap, alias, and the script of `sh -c`;
//   - whatever can't be followed: an unclosed quote, `)` without `(`.
// A program that runs its arguments in some shell of its own (ssh) is not known here: quote for it as ever.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "language/text_template.hpp"

namespace pawl {

enum class Shell : std::uint8_t { sh, bash };

struct ShellCommand {
  std::string script;                 // for `sh -c`
  std::vector<Expression> arguments;  // the value of PAWL_ARG_(i + 1)
};

/// Fails with invalid_command; `Error::where` is "line N, column N" within the command. A command without
/// expressions stays as it is. An expression that is used twice has one argument.
[[nodiscard]] Result<ShellCommand> to_shell_command(const TextTemplate& command, Shell shell);

}  // namespace pawl
