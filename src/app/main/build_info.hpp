// What this program was built from, and what was built in.
#pragma once

#include "cli/build_info.hpp"

namespace pawl {

[[nodiscard]] cli::BuildInfo build_info();

}  // namespace pawl
