// The labels of a checkpoint: its kind, reason, stage and step, and those of CheckpointInfo::also.
#pragma once

#include <pawl/save.hpp>
#include <string_view>

namespace pawl {

/// How many labels a checkpoint may have besides its first one.
inline constexpr std::size_t kMoreLabelsMax = 1000;

/// Returns all labels, the checkpoint's own first.
[[nodiscard]] std::vector<SaveLabel> all_labels(const CheckpointInfo& info);

/// Returns the different stages or steps of the labels, in their order: `values_of(info, &SaveLabel::step)`.
[[nodiscard]] std::vector<std::string> values_of(const CheckpointInfo& info, std::string SaveLabel::* member);

/// Returns whether the checkpoint is one that `which` selects (S16). Which::By::latest selects all of them.
[[nodiscard]] bool fits(const CheckpointInfo& info, const Which& which);

}  // namespace pawl
