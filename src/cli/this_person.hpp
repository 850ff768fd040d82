// The user that commands record.
#pragma once

#include "cli/cli.hpp"

namespace pawl::cli {

/// $USER or $LOGNAME, otherwise the account name, otherwise "unknown".
[[nodiscard]] std::string this_person(const CliContext& context);

}  // namespace pawl::cli
