// Files that are written as a whole, and appear under their name only when they are complete.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ports/file_system.hpp"

namespace pawl {

/// Writes `text` to a temporary file, syncs it if `point` is given, and renames it to `path`. The name is not synced.
/// After an error, no part of it takes up space. `suffix` keeps apart processes that may write the same file at once.
Result<std::unique_ptr<File>> write_whole_file(FileSystem& files, const std::string& path, std::string_view text,
                                               std::optional<SyncPoint> point, std::string_view suffix = ".tmp");

}  // namespace pawl
