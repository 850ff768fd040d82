#include "service/store_sizes.hpp"

#include <algorithm>

#include "base/confined.hpp"
#include "domain/erasure.hpp"
#include "text/state_parts.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kSamplesMax = 10;  // of a run's history
constexpr std::size_t kInnerKeys = 5;

std::int64_t difference(std::uint64_t now, std::uint64_t before) {
  return static_cast<std::int64_t>(now) - static_cast<std::int64_t>(before);
}

Result<StateGrowth> growth_of(Store& store, const RunInfo& run) {
  PAWL_TRY_ASSIGN(const CheckpointInfo latest, store.checkpoint(run.id, {}));
  PAWL_TRY_ASSIGN(const std::vector<CheckpointInfo> first, store.checkpoints(run.id, {}, 1));
  StateGrowth growth{.state_bytes = latest.state_bytes, .first_bytes = latest.state_bytes};
  if (first.empty() || first.front().sequence == latest.sequence) return growth;
  growth.first_bytes = first.front().state_bytes;
  const auto steps = static_cast<std::int64_t>(latest.sequence.value - first.front().sequence.value);
  growth.per_checkpoint = difference(growth.state_bytes, growth.first_bytes) / steps;
  return growth;
}

void keep_largest(std::vector<SizedRun>& runs, std::size_t top) {
  std::ranges::sort(runs, [](const SizedRun& a, const SizedRun& b) {
    return a.bytes.total() != b.bytes.total() ? a.bytes.total() > b.bytes.total() : a.run.id < b.run.id;
  });
  if (runs.size() > top) runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(top), runs.end());
}

/// About ten checkpoints spread over the history, including the first and the latest.
Result<std::vector<Sequence>> spread(Store& store, const RunInfo& run) {
  std::vector<Sequence> sequences;
  const std::uint64_t latest = run.latest.value;
  const std::uint64_t count = std::min(kSamplesMax, latest);
  for (std::uint64_t i = 0; i + 1 < count; ++i) {
    const std::uint64_t wanted = 1 + i * (latest - 1) / (count - 1);
    // If retention has removed it, uses the next existing one.
    PAWL_TRY_ASSIGN(const std::vector<CheckpointInfo> found, store.checkpoints(run.id, Sequence{wanted - 1}, 1));
    if (found.empty() || found.front().sequence.value >= latest) break;
    if (sequences.empty() || found.front().sequence > sequences.back()) sequences.push_back(found.front().sequence);
  }
  sequences.push_back(run.latest);
  return sequences;
}

std::vector<SizedKey> largest_keys(std::string_view json, std::size_t top, std::uint64_t state_bytes) {
  std::vector<SizedKey> keys;
  for (StatePart& part : largest_parts(json, top)) {
    const double share = state_bytes == 0 ? 0.0 : static_cast<double>(part.bytes) / static_cast<double>(state_bytes);
    keys.push_back({.name = std::move(part.name), .bytes = part.bytes, .share = share, .history = {}});
  }
  return keys;
}

}  // namespace

std::int64_t SizedKey::grown_bytes() const { return history.empty() ? 0 : difference(bytes, history.front()); }

Result<StoreSizes> store_sizes(Store& store, std::size_t top) {
  StoreSizes sizes;
  PAWL_TRY_ASSIGN(std::vector<RunInfo> runs, store.runs(SIZE_MAX));
  for (RunInfo& run : runs) {
    if (run.status == Status::erased) {
      ++sizes.erased;
      continue;
    }
    const Result<RunFootprint> bytes = store.footprint(run.id);
    if (!bytes && is_gone_or_missing(bytes.error().code)) continue;  // meanwhile
    if (!bytes && is_confined(bytes.error())) {
      sizes.damaged.emplace_back(run.id, bytes.error());
      continue;
    }
    if (!bytes) return fail(bytes.error());
    ++sizes.runs;
    sizes.run_bytes += bytes->total();
    sizes.largest.push_back({std::move(run), *bytes, {}});
    if (sizes.largest.size() >= 2 * top + 1000) keep_largest(sizes.largest, top);
  }
  keep_largest(sizes.largest, top);
  PAWL_TRY_ASSIGN(sizes.shared_bytes, store.shared_bytes());
  for (SizedRun& sized : sizes.largest) {
    const auto growth = growth_of(store, sized.run);
    if (!growth && is_gone_or_missing(growth.error().code)) continue;
    if (!growth && !is_confined(growth.error())) return fail(growth.error());
    if (growth) {
      sized.growth = *growth;
    } else {
      sizes.damaged.emplace_back(sized.run.id, growth.error());
    }
  }
  return sizes;
}

Result<RunSizes> run_sizes(Store& store, const RunId& run, std::size_t top) {
  PAWL_TRY_ASSIGN(RunInfo info, store.run(run));
  PAWL_TRY_ASSIGN(const RunFootprint bytes, store.footprint(run));
  PAWL_TRY_ASSIGN(const StateGrowth growth, growth_of(store, info));
  RunSizes sizes{.run = {std::move(info), bytes, growth}, .samples = {}, .keys = {}, .inner = {}};
  const auto state_at = [&](Sequence sequence) {
    return store.restore(run, Which{.by = Which::By::sequence, .sequence = sequence});
  };
  {
    PAWL_TRY_ASSIGN(const Restored latest, state_at(sizes.run.run.latest));
    sizes.keys = largest_keys(latest.state, top, growth.state_bytes);
    if (!sizes.keys.empty())
      sizes.inner = largest_keys(part_value(latest.state, sizes.keys.front().name), kInnerKeys, growth.state_bytes);
  }
  PAWL_TRY_ASSIGN(const std::vector<Sequence> sequences, spread(store, sizes.run.run));
  for (const Sequence sequence : sequences) {
    PAWL_TRY_ASSIGN(const Restored restored, state_at(sequence));
    sizes.samples.push_back({sequence, restored.state.size()});
    for (SizedKey& key : sizes.keys) key.history.push_back(part_value(restored.state, key.name).size());
  }
  return sizes;
}

}  // namespace pawl
