// A result cache in memory.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "ports/result_cache.hpp"

namespace pawl {

/// What several handles share, as they would share a store.
struct MemoryCacheData {
  std::mutex mutex;
  std::map<std::string, CachedResult> entries;  // guarded by mutex
};

[[nodiscard]] std::unique_ptr<ResultCache> make_memory_result_cache(std::shared_ptr<MemoryCacheData> data);

}  // namespace pawl
