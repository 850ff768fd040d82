// An index of results of steps that other runs may use, as a port. It contains no results: an entry names the event of
// the run that has one, so encryption, pruning and erasing of that run apply to it.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
#include <string>

#include "base/result.hpp"

namespace pawl {

inline constexpr std::size_t kCacheEntriesMax = 100'000;  // about; the oldest are removed

/// Where a result is.
struct CachedResult {
  RunId run;
  Uuid uuid = {};  // of the run
  Sequence sequence = {};
  std::uint64_t event = 0;  // the one that says that the step completed, and contains the key's hash as `cache_key`
  Timestamp at = {};        // when it was put
};

/// Thread-safe. A key is its hash: 64 hexadecimal digits in lower case. Entries are hints: one that is missing, damaged
/// or wrong costs an execution of the step and nothing else. Whoever uses one checks it against the run.
class ResultCache {
 public:
  ResultCache() = default;
  ResultCache(const ResultCache&) = delete;
  ResultCache& operator=(const ResultCache&) = delete;
  virtual ~ResultCache() = default;

  /// Returns nothing if there is no intact entry. Fails with errors of files.
  virtual Result<std::optional<CachedResult>> find(const std::string& key) = 0;
  /// Replaces the entry atomically. It may be lost with the power.
  virtual Result<void> put(const std::string& key, const CachedResult& result) = 0;
  /// Removes the entry. A missing one is fine.
  virtual Result<void> forget(const std::string& key) = 0;
};

/// Returns whether it has the form of a key: any other text must not become a path.
[[nodiscard]] inline bool is_cache_key(std::string_view key) {
  return key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace pawl
