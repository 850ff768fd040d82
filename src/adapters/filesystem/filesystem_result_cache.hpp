// The result cache in the folder of a store (docs/formats/cache.md).
#pragma once

#include <memory>

#include "ports/environment.hpp"
#include "ports/file_system.hpp"
#include "ports/result_cache.hpp"

namespace pawl {

/// Entries are in 256 folders. Of each, the oldest are removed once it has more than this.
inline constexpr std::size_t kCacheFolderEntriesMax = kCacheEntriesMax / 256;

/// `files` and `random` must outlive it.
[[nodiscard]] std::unique_ptr<ResultCache> make_filesystem_result_cache(FileSystem& files, Random& random);

}  // namespace pawl
