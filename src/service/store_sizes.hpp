// What uses space: the runs of a store, and the keys of the state of one run.
#pragma once

#include <string>
#include <vector>

#include "ports/store.hpp"

namespace pawl {

/// Growth of a run's state per checkpoint since its first remaining checkpoint.
struct StateGrowth {
  std::uint64_t state_bytes = 0;
  std::uint64_t first_bytes = 0;
  std::int64_t per_checkpoint = 0;
};

struct SizedRun {
  RunInfo run;
  RunFootprint bytes;
  StateGrowth growth;
};

struct StoreSizes {
  std::vector<SizedRun> largest;  // largest first
  std::uint64_t runs = 0;         // without erased ones
  std::uint64_t erased = 0;       // removed ones don't count
  std::uint64_t run_bytes = 0;
  std::uint64_t shared_bytes = 0;                     // journals and the catalogue
  std::vector<std::pair<RunId, Error>> damaged = {};  // runs whose states can't be read, with the reason
};

/// Looks at every file of the store once. Erased runs don't count.
[[nodiscard]] Result<StoreSizes> store_sizes(Store& store, std::size_t top);

/// A state in the history of a run.
struct SampledState {
  Sequence sequence;
  std::uint64_t bytes = 0;
};

/// A key of a state, or an index.
struct SizedKey {
  std::string name;
  std::uint64_t bytes = 0;
  double share = 0.0;                  // of the whole state, 0 to 1
  std::vector<std::uint64_t> history;  // its bytes in each sampled state; empty for inner keys

  /// Since the first sample.
  [[nodiscard]] std::int64_t grown_bytes() const;
};

struct RunSizes {
  SizedRun run;
  std::vector<SampledState> samples;  // oldest first; the last one is the latest
  std::vector<SizedKey> keys;         // largest first
  std::vector<SizedKey> inner;        // of the largest key
};

/// Reads about ten states, spread over the history of the run.
[[nodiscard]] Result<RunSizes> run_sizes(Store& store, const RunId& run, std::size_t top);

}  // namespace pawl
