#include "adapters/memory/memory_result_cache.hpp"

#include <algorithm>

namespace pawl {
namespace {

class MemoryResultCache final : public ResultCache {
 public:
  explicit MemoryResultCache(std::shared_ptr<MemoryCacheData> data) : data_(std::move(data)) {}

  Result<std::optional<CachedResult>> find(const std::string& key) override {
    const std::scoped_lock lock(data_->mutex);
    const auto found = data_->entries.find(key);
    return found == data_->entries.end() ? std::nullopt : std::optional(found->second);
  }

  Result<void> put(const std::string& key, const CachedResult& result) override {
    const std::scoped_lock lock(data_->mutex);
    data_->entries.insert_or_assign(key, result);
    if (data_->entries.size() <= kCacheEntriesMax) return {};
    data_->entries.erase(
        std::ranges::min_element(data_->entries, {}, [](const auto& entry) { return entry.second.at; }));
    return {};
  }

  Result<void> forget(const std::string& key) override {
    const std::scoped_lock lock(data_->mutex);
    data_->entries.erase(key);
    return {};
  }

 private:
  const std::shared_ptr<MemoryCacheData> data_;
};

}  // namespace

std::unique_ptr<ResultCache> make_memory_result_cache(std::shared_ptr<MemoryCacheData> data) {
  return std::make_unique<MemoryResultCache>(std::move(data));
}

}  // namespace pawl
