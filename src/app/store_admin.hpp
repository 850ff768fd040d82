// Making stores and changing their keys, on the real world.
#pragma once

#include "cli/store_admin.hpp"

namespace pawl {

/// `configured_key_file`: the setting encryption.key_file.
[[nodiscard]] cli::StoreAdmin make_store_admin(std::string configured_key_file);

}  // namespace pawl
