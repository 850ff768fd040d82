// Making stores and changing their keys, on the real world.
#pragma once

#include "cli/store_admin.hpp"

namespace pawl {

[[nodiscard]] cli::StoreAdmin store_admin();

}  // namespace pawl
