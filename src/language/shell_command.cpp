#include "language/shell_command.hpp"

#include "language/shell_scanner.hpp"

namespace pawl {

Result<ShellCommand> to_shell_command(const TextTemplate& command, Shell shell) {
  std::vector<shell_scanner::Unit> units;
  bool has_expressions = false;
  ShellCommand plain;
  for (const TextTemplate::Part& part : command.parts()) {
    if (part.expression) {
      has_expressions = true;
      units.push_back({0, &*part.expression, part.offset});
      continue;
    }
    plain.script += part.text;
    for (std::size_t i = 0; i < part.text.size(); ++i) units.push_back({part.text[i], nullptr, part.offset + i});
  }
  if (plain.script.find('\0') != std::string::npos)
    return fail(Code::invalid_command, "the command contains a NUL character");
  plain.source = command.source();
  if (!has_expressions) return plain;
  PAWL_TRY_ASSIGN(ShellCommand made, shell_scanner::Scanner(std::move(units), command.source(), shell).scan());
  made.source = command.source();
  return made;
}

}  // namespace pawl
