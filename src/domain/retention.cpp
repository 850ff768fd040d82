#include "domain/retention.hpp"

#include <algorithm>
#include <limits>

#include "domain/labels.hpp"

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

std::uint32_t RetentionCandidates::number_of(const std::string& stage) {
  return stages_.try_emplace(stage, static_cast<std::uint32_t>(stages_.size() + 1)).first->second;
}

void RetentionCandidates::add(const CheckpointInfo& info) {
  std::vector<MoreStage> stages;
  for (const SaveLabel& label : all_labels(info)) {
    if (label.stage.empty()) continue;
    const std::uint32_t number = number_of(label.stage);
    const auto known = std::ranges::find(stages, number, &MoreStage::stage);
    MoreStage& stage = known == stages.end() ? stages.emplace_back(number) : *known;
    stage.completes = stage.completes || label.kind == Kind::stage_complete;
  }
  const MoreStage first = stages.empty() ? MoreStage() : stages.front();
  all_.push_back(
      {info.sequence, info.created, first.stage, !info.name.empty(), first.completes, !info.caller_id.empty()});
  if (stages.size() < 2) return;
  stages.erase(stages.begin());
  more_stages_.emplace(info.sequence, std::move(stages));
}

std::span<const MoreStage> RetentionCandidates::more_stages(Sequence sequence) const {
  const auto found = more_stages_.find(sequence);
  return found == more_stages_.end() ? std::span<const MoreStage>() : found->second;
}

namespace {

/// What the stages of a checkpoint say about keeping it. Checkpoints are passed newest first.
class StageRules {
 public:
  StageRules(const RetentionCandidates& checkpoints, std::optional<std::uint64_t> keep_per_stage)
      : checkpoints_(checkpoints), keep_per_stage_(keep_per_stage) {}

  void look_at(const RetentionCandidate& checkpoint) {
    ends_stage = too_many = false;
    if (checkpoint.stage == 0) return;
    too_many = keep_per_stage_.has_value();
    add({checkpoint.stage, checkpoint.completes_stage});
    for (const MoreStage& stage : checkpoints_.more_stages(checkpoint.sequence)) add(stage);
  }

  bool ends_stage = false;  // it is the newest one of a stage, or completes one
  bool too_many = false;    // each of its stages has enough newer ones

 private:
  void add(const MoreStage& stage) {
    const std::uint64_t newer = newer_[stage.stage]++;
    ends_stage = ends_stage || newer == 0 || stage.completes;
    if (keep_per_stage_ && newer < *keep_per_stage_) too_many = false;
  }

  const RetentionCandidates& checkpoints_;
  const std::optional<std::uint64_t> keep_per_stage_;
  std::map<std::uint32_t, std::uint64_t> newer_;  // by stage
};

}  // namespace

Retention judge_checkpoints(const RetentionCandidates& checkpoints, const RetentionSettings& settings, Timestamp now) {
  const std::vector<RetentionCandidate>& all = checkpoints.all();
  const std::vector<std::int64_t> saved_us =
      settings.keep_days ? plausible_times(all, now) : std::vector<std::int64_t>();
  Retention result;
  StageRules stages(checkpoints, settings.keep_per_stage);
  std::uint64_t newer = 0;
  for (auto checkpoint = all.rbegin(); checkpoint != all.rend(); ++checkpoint, ++newer) {
    stages.look_at(*checkpoint);
    const bool too_many = settings.keep && newer >= *settings.keep;
    const bool too_old = settings.keep_days && saved_us[all.size() - 1 - newer] < oldest_us(*settings.keep_days, now);
    if (!too_many && !too_old && !stages.too_many) continue;
    const bool only_too_many = !too_old && !stages.too_many;
    if (newer == 0) {
      result.exempt[checkpoint->sequence] = KeptWhy::newest;
    } else if (checkpoint->named) {
      result.exempt[checkpoint->sequence] = KeptWhy::named;
    } else if (only_too_many && settings.keep_stage_ends && stages.ends_stage) {
      result.exempt[checkpoint->sequence] = KeptWhy::stage_end;
    } else {
      result.dropped.push_back(checkpoint->sequence);
    }
  }
  std::ranges::reverse(result.dropped);
  return result;
}

}  // namespace pawl
