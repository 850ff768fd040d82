// The manual, pawl(1), made from the commands themselves.
#pragma once

#include <string>

#include "cli/command_tree.hpp"

namespace pawl::cli {

struct ManualTitle {
  std::string version;
  std::string date;  // YYYY-MM-DD, or empty
};

/// The source of the page, for man(1): the macros of `groff -man`.
[[nodiscard]] std::string man_page(const CommandInfo& root, const ManualTitle& title);

/// Text for roff: nothing in it is taken for a request or an escape.
[[nodiscard]] std::string roff_text(std::string_view text);

}  // namespace pawl::cli
