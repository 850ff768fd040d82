// From older formats to this one, step by step. A store is brought up to date by the first process that writes to it;
// readers read every format from 1 on as it is.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// The text of store.json in this program's format. Fails with migration_failed where there is no way.
[[nodiscard]] Result<std::string> migrate_store(std::string_view text);

}  // namespace pawl
