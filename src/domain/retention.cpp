#include "domain/retention.hpp"

#include <algorithm>
#include <limits>

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

void RetentionCandidates::add(const CheckpointInfo& info) {
  const std::uint32_t stage =
      info.stage.empty()
          ? 0
          : stages_.try_emplace(info.stage, static_cast<std::uint32_t>(stages_.size() + 1)).first->second;
  all_.push_back({info.sequence, info.created, stage, !info.name.empty(), info.kind == Kind::stage_complete,
                  !info.caller_id.empty()});
}

std::vector<Sequence> checkpoints_to_drop(const RetentionCandidates& checkpoints, const RetentionSettings& settings,
                                          Timestamp now) {
  std::vector<Sequence> dropped;
  std::map<std::uint32_t, std::uint64_t> of_stage;
  std::uint64_t newer = 0;
  const std::vector<RetentionCandidate>& all = checkpoints.all();
  for (auto checkpoint = all.rbegin(); checkpoint != all.rend(); ++checkpoint, ++newer) {
    const bool staged = checkpoint->stage != 0;
    const std::uint64_t newer_of_stage = staged ? of_stage[checkpoint->stage]++ : 0;
    if (newer == 0 || checkpoint->named) continue;
    const bool ends_stage = staged && (newer_of_stage == 0 || checkpoint->completes_stage);
    const bool too_many = settings.keep && newer >= *settings.keep && !(settings.keep_stage_ends && ends_stage);
    const bool too_old = settings.keep_days && checkpoint->created.us < oldest_us(*settings.keep_days, now);
    const bool too_many_of_stage = settings.keep_per_stage && staged && newer_of_stage >= *settings.keep_per_stage;
    if (too_many || too_old || too_many_of_stage) dropped.push_back(checkpoint->sequence);
  }
  std::ranges::reverse(dropped);
  return dropped;
}

}  // namespace pawl
