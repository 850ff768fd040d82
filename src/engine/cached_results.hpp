// Results of steps that another run, or an earlier step, has produced.
#pragma once

#include "base/json.hpp"
#include "ports/result_cache.hpp"
#include "ports/store.hpp"
#include "text/duration.hpp"

namespace pawl {

/// Returns the hash of a key, for ResultCache and for the member `cache_key` of the event that the step completed.
[[nodiscard]] std::string cache_key_hash(std::string_view key);

struct CacheHit {
  Json output = {};
  RunId run;
  Sequence sequence = {};
  [[nodiscard]] std::string address() const;  // RUN@SEQ
};

/// Returns the result that was cached for this key at most `ttl` ago, or nothing. The time is that of its event. A
/// result whose run or checkpoint was pruned, erased, removed or damaged, or replaced by a run with another UUID, is
/// missing, and so is one whose event does not contain this key: an entry of the cache decides nothing by itself. Its
/// entry is removed if it can never be used again. Never fails: then the step is executed.
[[nodiscard]] std::optional<CacheHit> find_cached(Store& store, ResultCache& cache, std::string_view key, Timestamp now,
                                                  std::optional<Milliseconds> ttl);

}  // namespace pawl
