// The settings of this process: its user's file, its environment, and the store's file.
#pragma once

#include "config/config.hpp"

namespace pawl {

/// invalid_config where a file or a variable is wrong.
[[nodiscard]] Result<Config> load_settings(std::string_view store_uri);

}  // namespace pawl
