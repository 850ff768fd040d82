// Folders of this machine: what the search for a store looks at, and those that a store needs above it.
#pragma once

#include "base/result.hpp"
#include "cli/store_place.hpp"

namespace pawl {

/// Nothing where it can't be looked at.
[[nodiscard]] std::optional<cli::FolderFacts> look_at_folder(const std::string& folder);

/// Makes the missing folders above `path`. Each name is durable when it returns.
[[nodiscard]] Result<void> make_parents(const std::string& path);

}  // namespace pawl
