// The implementation of `backup` on a store in a folder.
#pragma once

#include "ports/backup.hpp"

namespace pawl {

[[nodiscard]] StoreBackups store_backups();

}  // namespace pawl
