// Names in shell commands that look like values of the workflow, but are not.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct MistakenName {
  std::string written;   // `$topic`
  std::string meant;     // `vars.topic`
  std::string variable;  // of the shell, if the command can set it itself; otherwise empty
  bool operator==(const MistakenName&) const = default;
};

/// Finds `$topic`, `${topic}`, `$vars.topic` and `{{ vars.topic }}` for variables of the workflow, and `${x.output}`
/// for steps. Ignores what the shell does not expand: text in single quotes and after a backslash. Each form is listed
/// once.
[[nodiscard]] std::vector<MistakenName> mistaken_names(std::string_view script,
                                                       const std::function<bool(std::string_view)>& is_variable,
                                                       const std::function<bool(std::string_view)>& is_step);

/// Returns whether the script may set the variable of the shell: by an assignment, `for`, `read` and the like, or in a
/// file that it sources.
[[nodiscard]] bool may_set(std::string_view script, std::string_view name);

}  // namespace pawl
