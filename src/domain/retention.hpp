// Which checkpoints of a run are removed. Depends on no store and no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
#include <set>
#include <vector>

namespace pawl {

/// Which checkpoints of a run are kept. The last one, those with a name and everything that these need are always kept.
struct RetentionSettings {
  std::optional<std::uint64_t> keep;            // this many of the newest; not set: all
  std::optional<std::uint64_t> keep_days;       // those that are newer
  std::optional<std::uint64_t> keep_per_stage;  // this many of the newest of each stage
  [[nodiscard]] bool keeps_everything() const { return !keep && !keep_days && !keep_per_stage; }
};

/// Returns the sequences that `settings` removes from `checkpoints` (existing ones, ascending by sequence). The last
/// one and those with a name are never removed. Each limit that is set can remove a checkpoint: beyond the `keep`
/// newest, older than `keep_days` at `now`, or beyond the `keep_per_stage` newest of its stage (which does not apply
/// without a stage).
[[nodiscard]] std::set<Sequence> checkpoints_to_drop(const std::vector<CheckpointInfo>& checkpoints,
                                                     const RetentionSettings& settings, Timestamp now);

}  // namespace pawl
