// The settings of this process: the user's file, the environment, and the store's file.
#pragma once

#include "config/config.hpp"

namespace pawl {

/// Fails with invalid_config if a file or a variable is invalid.
[[nodiscard]] Result<Config> load_settings(std::string_view store_uri);

}  // namespace pawl
