// Which checkpoints of a run are removed. Depends on no store and no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <pawl/types.hpp>
#include <span>
#include <string>
#include <vector>

namespace pawl {

/// Which checkpoints of a run are kept. The last one, those with a name and everything that these need are always kept.
struct RetentionSettings {
  std::optional<std::uint64_t> keep;            // this many of the newest; not set: all
  std::optional<std::uint64_t> keep_days;       // those that are newer
  std::optional<std::uint64_t> keep_per_stage;  // this many of the newest of each stage
  bool keep_stage_ends = false;                 // `keep` does not remove the newest checkpoint of a stage
  [[nodiscard]] bool keeps_everything() const { return !keep && !keep_days && !keep_per_stage; }
};

/// Why a checkpoint is kept that exceeds a limit.
enum class KeptWhy : std::uint8_t { newest, named, stage_end, fork_point };

/// How many checkpoints of a run are kept in stores that are created from now on, unless a setting says otherwise.
inline constexpr std::uint64_t kKeepInNewStores = 100;

/// Returns after how many saves of a run it is worth pruning again, so that the work per save is bounded.
[[nodiscard]] constexpr std::uint64_t saves_between_prunes(std::uint64_t keep) {
  constexpr std::uint64_t kFewest = 25;
  return keep / 2 > kFewest ? keep / 2 : kFewest;
}

/// What decides about a checkpoint, in little memory.
struct RetentionCandidate {
  Sequence sequence;
  Timestamp created;
  std::uint32_t stage = 0;  // of its first label with a stage; 0: none
  bool named = false;
  bool completes_stage = false;  // that stage
  bool has_caller = false;
};

/// Another stage of a checkpoint with several labels.
struct MoreStage {
  std::uint32_t stage = 0;
  bool completes = false;
};

class RetentionCandidates {
 public:
  void add(const CheckpointInfo& info);
  [[nodiscard]] const std::vector<RetentionCandidate>& all() const { return all_; }
  /// Returns the stages of a checkpoint besides RetentionCandidate::stage.
  [[nodiscard]] std::span<const MoreStage> more_stages(Sequence sequence) const;

 private:
  [[nodiscard]] std::uint32_t number_of(const std::string& stage);

  std::vector<RetentionCandidate> all_;
  std::map<Sequence, std::vector<MoreStage>> more_stages_;
  std::map<std::string, std::uint32_t, std::less<>> stages_;
};

/// What becomes of the checkpoints that exceed a limit.
struct Retention {
  std::vector<Sequence> dropped = {};  // ascending
  std::map<Sequence, KeptWhy> exempt = {};
};

/// Returns what `settings` remove from `checkpoints` (existing ones, ascending by sequence). The last one and those
/// with a name are never removed. Each limit that is set can remove a checkpoint: beyond the `keep` newest (and not the
/// end of a stage, with `keep_stage_ends`), older than `keep_days` at `now`, or beyond the `keep_per_stage` newest of
/// each of its stages (which does not apply without a stage). No checkpoint counts as older than those before it, so
/// that a clock that was behind makes nothing old; times after `now` are ignored for that.
[[nodiscard]] Retention judge_checkpoints(const RetentionCandidates& checkpoints, const RetentionSettings& settings,
                                          Timestamp now);

}  // namespace pawl
