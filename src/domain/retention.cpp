#include "domain/retention.hpp"

#include <limits>
#include <map>

namespace pawl {
namespace {

/// Returns the time before which a checkpoint is too old.
std::int64_t oldest_us(std::uint64_t days, Timestamp now) {
  constexpr std::uint64_t kDayUs = 86'400'000'000ULL;
  constexpr std::uint64_t kDaysMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / kDayUs;
  if (days >= kDaysMax) return std::numeric_limits<std::int64_t>::min();
  return now.us - static_cast<std::int64_t>(days * kDayUs);
}

}  // namespace

std::set<Sequence> checkpoints_to_drop(const std::vector<CheckpointInfo>& checkpoints,
                                       const RetentionSettings& settings, Timestamp now) {
  std::set<Sequence> dropped;
  std::map<std::string_view, std::uint64_t> of_stage;
  std::uint64_t newer = 0;
  for (auto checkpoint = checkpoints.rbegin(); checkpoint != checkpoints.rend(); ++checkpoint, ++newer) {
    const std::uint64_t newer_of_stage = checkpoint->stage.empty() ? 0 : of_stage[checkpoint->stage]++;
    if (newer == 0 || !checkpoint->name.empty()) continue;
    const bool ends_stage =
        !checkpoint->stage.empty() && (newer_of_stage == 0 || checkpoint->kind == Kind::stage_complete);
    const bool too_many = settings.keep && newer >= *settings.keep && !(settings.keep_stage_ends && ends_stage);
    const bool too_old = settings.keep_days && checkpoint->created.us < oldest_us(*settings.keep_days, now);
    const bool too_many_of_stage =
        settings.keep_per_stage && !checkpoint->stage.empty() && newer_of_stage >= *settings.keep_per_stage;
    if (too_many || too_old || too_many_of_stage) dropped.insert(checkpoint->sequence);
  }
  return dropped;
}

}  // namespace pawl
