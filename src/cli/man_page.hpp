// The manual page pawl(1), generated from the commands.
#pragma once

#include <string>

#include "cli/command_tree.hpp"

namespace pawl::cli {

struct ManualTitle {
  std::string version;
  std::string date;  // YYYY-MM-DD, or empty
};

/// The source of the page, in `groff -man` macros.
[[nodiscard]] std::string man_page(const CommandInfo& root, const ManualTitle& title);

/// Escapes text for roff, so that nothing in it is a request or an escape.
[[nodiscard]] std::string roff_text(std::string_view text);

}  // namespace pawl::cli
