// Creates stores and changes their keys, on the real file system.
#pragma once

#include "ports/store_admin.hpp"

namespace pawl {

[[nodiscard]] StoreAdmin store_admin();

}  // namespace pawl
