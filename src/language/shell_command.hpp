// A shell command whose values are passed in the environment, so that no value is ever parsed by the shell.
//
// Each `${expression}` of the command becomes a reference to a variable PAWL_ARG_1, PAWL_ARG_2, ... with the right
// quotes:
//   without quotes   "$PAWL_ARG_1"           in "..."        ${PAWL_ARG_1}
//   in '...'         '"$PAWL_ARG_1"'         in $( ), ${X:-...} and parentheses: by the same rules, nested
// An expression is refused, with a hint to use `env:`, where the shell would evaluate or parse the value:
//   - in here-documents and their delimiters, in backticks and $'...', and after a backslash or a `$`;
//   - in arithmetic, which executes the value of a variable: $(( )), (( )), $[ ], a[...], [[ x -eq y ]], let,
//     declare -i;
//   - in any ${X...} except ${X-y}, ${X=y}, ${X?y}, ${X+y} and the same with a colon;
//   - in names of variables (`export ${vars.a}=1`, read, unset, printf -v), eval, trap, alias, and the script
//     of `sh -c`;
//   - where the command can't be understood: an unclosed quote, `)` without `(`.
// Programs that run their arguments in another shell (ssh) are not known here; their arguments must be quoted as usual.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "language/text_template.hpp"

namespace pawl {

enum class Shell : std::uint8_t { sh, bash };

struct ShellCommand {
  std::string script;                 // for `sh -c`
  std::string source;                 // as written, for people
  std::vector<Expression> arguments;  // the value of PAWL_ARG_(i + 1)
};

/// Fails with invalid_command; `Error::where` is "line N, column N" within the command. A command without expressions
/// stays unchanged. An expression that occurs twice has one argument.
[[nodiscard]] Result<ShellCommand> to_shell_command(const TextTemplate& command, Shell shell);

}  // namespace pawl
