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

/// Returns for each checkpoint the latest time up to its own that is not after `now`.
std::vector<std::int64_t> plausible_times(const std::vector<RetentionCandidate>& checkpoints, Timestamp now) {
  std::vector<std::int64_t> times;
  times.reserve(checkpoints.size());
  std::int64_t last_us = std::numeric_limits<std::int64_t>::min();
  for (const RetentionCandidate& checkpoint : checkpoints) {
    if (checkpoint.created.us <= now.us) last_us = std::max(last_us, checkpoint.created.us);
    times.push_back(checkpoint.created.us > now.us ? checkpoint.created.us : last_us);
  }
  return times;
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

Retention judge_checkpoints(const RetentionCandidates& checkpoints, const RetentionSettings& settings, Timestamp now) {
  const std::vector<RetentionCandidate>& all = checkpoints.all();
  const std::vector<std::int64_t> saved_us =
      settings.keep_days ? plausible_times(all, now) : std::vector<std::int64_t>();
  Retention result;
  std::map<std::uint32_t, std::uint64_t> of_stage;
  std::uint64_t newer = 0;
  for (auto checkpoint = all.rbegin(); checkpoint != all.rend(); ++checkpoint, ++newer) {
    const bool staged = checkpoint->stage != 0;
    const std::uint64_t newer_of_stage = staged ? of_stage[checkpoint->stage]++ : 0;
    const bool ends_stage = staged && (newer_of_stage == 0 || checkpoint->completes_stage);
    const bool too_many = settings.keep && newer >= *settings.keep;
    const bool too_old = settings.keep_days && saved_us[all.size() - 1 - newer] < oldest_us(*settings.keep_days, now);
    const bool too_many_of_stage = settings.keep_per_stage && staged && newer_of_stage >= *settings.keep_per_stage;
    if (!too_many && !too_old && !too_many_of_stage) continue;
    const bool only_too_many = !too_old && !too_many_of_stage;
    if (newer == 0) {
      result.exempt[checkpoint->sequence] = KeptWhy::newest;
    } else if (checkpoint->named) {
      result.exempt[checkpoint->sequence] = KeptWhy::named;
    } else if (only_too_many && settings.keep_stage_ends && ends_stage) {
      result.exempt[checkpoint->sequence] = KeptWhy::stage_end;
    } else {
      result.dropped.push_back(checkpoint->sequence);
    }
  }
  std::ranges::reverse(result.dropped);
  return result;
}

}  // namespace pawl
