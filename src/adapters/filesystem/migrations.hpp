// Migrates older formats to the current one, step by step. The first process that writes to a store migrates it.
// Readers can read every format from 1 on.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Returns the text of store.json in the current format. Fails with migration_failed if there is no migration.
[[nodiscard]] Result<std::string> migrate_store(std::string_view text);

}  // namespace pawl
