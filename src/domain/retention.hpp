// Which of a run's checkpoints are to go. Pure: no store, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
#include <set>
#include <vector>

namespace pawl {

/// What is kept of a run's checkpoints. The last one, named ones and what these need are always kept.
struct RetentionSettings {
  std::optional<std::uint64_t> keep;            // the newest of a run; nothing: all
  std::optional<std::uint64_t> keep_days;       // younger ones
  std::optional<std::uint64_t> keep_per_stage;  // the newest of each stage of a run
  [[nodiscard]] bool keeps_everything() const { return !keep && !keep_days && !keep_per_stage; }
};

/// The sequences that `settings` lets go, of `checkpoints` (ascending by sequence: those that are still there).
/// The last one and those with a name are never among them. Any of the limits that are set can let one go: beyond
/// the `keep` newest, older than `keep_days` at `now`, or beyond the `keep_per_stage` newest of its stage (those
/// without a stage have no such limit).
[[nodiscard]] std::set<Sequence> checkpoints_to_drop(const std::vector<CheckpointInfo>& checkpoints,
                                                     const RetentionSettings& settings, Timestamp now);

}  // namespace pawl
