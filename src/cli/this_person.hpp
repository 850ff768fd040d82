// Who types the command, for what is recorded about it.
#pragma once

#include "cli/cli.hpp"

namespace pawl::cli {

/// $USER, $LOGNAME, else the account that the operating system knows; "unknown" where there is none.
[[nodiscard]] std::string this_person(const CliContext& context);

}  // namespace pawl::cli
