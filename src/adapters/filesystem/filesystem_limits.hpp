// Shared limits in the folder of a store (docs/formats/limits.md).
#pragma once

#include <memory>

#include "ports/environment.hpp"
#include "ports/file_system.hpp"
#include "ports/limits.hpp"

namespace pawl {

/// `files` and `clock` must outlive the handle and its permits. Each limit costs one descriptor per handle.
[[nodiscard]] std::unique_ptr<Limits> make_filesystem_limits(FileSystem& files, Clock& clock);

}  // namespace pawl
