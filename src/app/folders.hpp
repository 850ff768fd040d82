// Folders of this machine: those that the search for a store examines, and the parents of a store.
#pragma once

#include "base/result.hpp"
#include "cli/store_place.hpp"

namespace pawl {

/// Returns nothing if the folder can't be examined.
[[nodiscard]] std::optional<cli::FolderFacts> look_at_folder(const std::string& folder);

/// Creates the missing parent folders of `path`. Their names are durable on return.
[[nodiscard]] Result<void> make_parents(const std::string& path);

}  // namespace pawl
