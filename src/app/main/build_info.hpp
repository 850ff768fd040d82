// The version and build options of this program.
#pragma once

#include "cli/build_info.hpp"

namespace pawl {

[[nodiscard]] cli::BuildInfo build_info();

}  // namespace pawl
