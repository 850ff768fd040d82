// The URI of a store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

inline constexpr std::string_view kMemoryStore = "memory:";  // a store without files

/// Returns the folder that `uri` names as `PATH`, `file:PATH` or `file://PATH`. Returns nothing if `uri` is empty, has
/// another scheme or is kMemoryStore.
[[nodiscard]] std::optional<std::string> folder_of_store(std::string_view uri);

/// Like folder_of_store. Fails with usage if `uri` does not name a folder.
[[nodiscard]] Result<std::string> require_store_folder(std::string_view uri);

}  // namespace pawl
