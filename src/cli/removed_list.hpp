// `pawl list --removed`.
#pragma once

#include "cli/command.hpp"

namespace pawl::cli {

[[nodiscard]] Result<void> list_removed(const Invocation& invocation, Store& store, std::size_t limit);

}  // namespace pawl::cli
