// Creates stores and changes their keys, on the real file system.
#pragma once

#include "cli/store_admin.hpp"

namespace pawl {

[[nodiscard]] cli::StoreAdmin store_admin();

}  // namespace pawl
