#include "adapters/filesystem/run_rebuilder.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/payload_reader.hpp"
#include "base/assert.hpp"
#include "base/confined.hpp"
#include "base/mutex.hpp"

namespace pawl {
namespace {

constexpr std::size_t kThreadsMax = 8;

/// Returns whether an error means damaged data. Any other error stops the rebuild.
bool is_damage(Code code) {
  switch (code) {
    case Code::checkpoint_corrupt:
    case Code::checksum_mismatch:
    case Code::chain_broken:
    case Code::state_reconstruction_failed:
    case Code::decryption_failed:
    case Code::decoding_failed:
    case Code::not_encrypted:
    case Code::invalid_json: return true;
    default: return false;
  }
}

/// One pass over the links of one chain.
class Pass {
 public:
  Pass(const RebuildSource& source, RunCodec& codec, const Chain& chain, const RecoverScope& scope)
      : source_(source), codec_(codec), chain_(chain), scope_(scope) {}

  /// Returns whether the whole chain is within the scope.
  Result<bool> run(RebuiltGroup& group) {
    bool all = true;
    for (const ChainLink& link : chain_.links) {
      const RecordView& record = link.record;
      if (chain_.borrowed && record.sequence == chain_.base) {
        PAWL_TRY(take_shared(group));
        continue;
      }
      if (scope_.up_to && record.sequence > scope_.up_to) return false;
      const auto info = decode_info(record);
      // A clock that was wrong may have put a later time before this one, so the search goes on.
      const bool too_late = info && scope_.not_after && info->created > *scope_.not_after;
      all = all && !too_late;
      auto taken = info ? take(record, info->state_bytes) : Result<void>(std::unexpected(info.error()));
      if (taken && !known_) continue;  // it is based on a checkpoint whose damage was already reported
      if (!taken && !is_damage(taken.error().code)) return std::unexpected(taken.error());
      if (!taken) known_ = false;
      if (too_late) continue;
      if (!taken) {
        group.damage.push_back({record.sequence, in_run(taken.error(), record.sequence)});
        continue;
      }
      ++group.rebuilt;
      if (!source_.chains.pruned.is_dropped(record.sequence)) newest_ = &record;
    }
    return all;
  }

  [[nodiscard]] const RecordView* newest() const { return newest_; }
  /// Returns the state of `newest`, unless a later difference was applied to it.
  [[nodiscard]] std::optional<std::string> state() {
    if (newest_ == nullptr || state_of_ != newest_->sequence) return std::nullopt;
    return std::move(state_);
  }

 private:
  Result<void> take_shared(RebuiltGroup& group) {
    PAWL_ASSERT(source_.shared != nullptr);
    if (*source_.shared) {
      state_ = (*source_.shared)->state;
      known_ = true;
      return {};
    }
    const Error& error = source_.shared->error();
    if (!is_confined(error)) return std::unexpected(error);
    group.damage.push_back({chain_.base, error});
    return {};
  }

  Result<void> take(const RecordView& record, std::uint64_t size) {
    if (!sum_matches(record, source_.run.salt))
      return fail(Code::checksum_mismatch, "the record does not match its SHA-256");
    if (!record.whole() && !known_) return {};
    const bool plain = record.payload_kind == Payload::diff && record.how.empty() && !source_.run.encrypted;
    std::string payload;
    if (!plain) {
      PAWL_TRY_ASSIGN(payload,
                      read_payload({source_.chains.files, source_.chains.run, source_.run.salt}, codec_, record));
    }
    state_of_ = {};
    if (record.whole()) {
      state_ = std::move(payload);
      known_ = true;
    } else if (const auto applied = apply_encoded_splices(state_, plain ? record.payload : std::string_view(payload));
               !applied) {
      return fail(Code::state_reconstruction_failed, "its differences don't apply to the previous state");
    }
    if (state_.size() != size)
      return fail(Code::state_reconstruction_failed, "it should have {} bytes but has {}", size, state_.size());
    state_of_ = record.sequence;
    return {};
  }

  [[nodiscard]] Error in_run(Error error, Sequence sequence) const {
    error.message = fmt::format("checkpoint {} of run '{}': {}", sequence.value, source_.chains.run, error.message);
    if (error.where.empty()) {
      error.where =
          sequence == chain_.base ? whole_path(source_.chains, chain_.base) : lines_path(source_.chains, chain_.base);
    }
    return error;
  }

  const RebuildSource& source_;
  RunCodec& codec_;
  const Chain& chain_;
  const RecoverScope& scope_;
  std::string state_;
  Sequence state_of_;  // the checkpoint that the state belongs to; 0: none
  bool known_ = false;
  const RecordView* newest_ = nullptr;
};

/// Reports the first checkpoint that should follow but is missing.
void name_missing(const RebuildSource& source, const Chain& chain, Sequence end, RebuiltGroup& group) {
  const PrunedList& pruned = source.chains.pruned;
  const Sequence last = chain.links.empty() ? Sequence{chain.base.value - 1} : chain.links.back().record.sequence;
  const Sequence missing = pruned.next_there(last.next());
  if (missing > end) return;
  const std::string what =
      missing == end
          ? fmt::format("checkpoint {} of run '{}' is missing", end.value, source.chains.run)
          : fmt::format("checkpoints {} to {} of run '{}' are missing", missing.value, end.value, source.chains.run);
  group.damage.push_back({missing, Error{Code::chain_broken,
                                         what,
                                         lines_path(source.chains, chain.base),
                                         {},
                                         0,
                                         Advice::check_store,
                                         {.run = std::string(source.chains.run)}}});
}

}  // namespace

Result<RebuiltGroup> rebuild_group(const RebuildSource& source, GroupRange range, const RecoverScope& scope) {
  PAWL_TRY_ASSIGN(RunCodec codec, source.keys.codec(std::string(source.chains.run), source.run));
  const Sequence end = scope.up_to ? std::min(range.end, scope.up_to) : range.end;
  PAWL_TRY_ASSIGN(const Chain chain, read_chain(source.chains, seal_seed(source.run.uuid), range.base, end));
  if (chain.damage && !is_damage(chain.damage->code)) return std::unexpected(*chain.damage);
  RebuiltGroup group;
  Pass pass(source, codec, chain, scope);
  PAWL_TRY_ASSIGN(const bool to_the_end, pass.run(group));
  if (to_the_end && chain.damage) {
    group.damage.push_back({chain.damaged, *chain.damage});
  } else if (to_the_end) {
    name_missing(source, chain, end, group);
  }
  const bool shared = chain.borrowed && *source.shared && (!scope.up_to || chain.base <= scope.up_to) &&
                      (!scope.not_after || (*source.shared)->info.created <= *scope.not_after);
  if (pass.newest() == nullptr && shared) group.newest = **source.shared;
  if (pass.newest() == nullptr) return group;
  Restored newest;
  PAWL_TRY_ASSIGN(newest.info, codec.info(*pass.newest()));
  if (const PrunedList::Sums* sums = source.chains.pruned.rewritten(newest.info.sequence))
    newest.info.checksum = "sha256:" + sums->was;
  if (auto state = pass.state()) {
    newest.state = std::move(*state);
  } else {
    // Later differences were applied to the state: rebuild it again, only up to this checkpoint.
    RebuiltGroup again;
    RecoverScope bound{.extent = scope.extent, .up_to = newest.info.sequence};
    Pass second(source, codec, chain, bound);
    PAWL_TRY(second.run(again));
    auto rebuilt = second.state();
    if (!rebuilt)
      return fail(Code::state_reconstruction_failed, "checkpoint {} of run '{}' changed while it was being read",
                  newest.info.sequence.value, source.chains.run);
    newest.state = std::move(*rebuilt);
  }
  group.newest = std::move(newest);
  return group;
}

Result<std::vector<RebuiltGroup>> rebuild_groups(const RebuildSource& source, const std::vector<GroupRange>& ranges,
                                                 const RecoverScope& scope) {
  std::vector<Result<RebuiltGroup>> results(ranges.size(), RebuiltGroup());
  std::atomic<std::size_t> next = 0;
  Mutex mutex;
  std::optional<std::size_t> newest;
  const auto work = [&] {
    for (std::size_t i = next++; i < ranges.size(); i = next++) {
      auto group = rebuild_group(source, ranges[i], scope);
      const Lock lock(mutex);
      results[i] = std::move(group);
      if (!results[i] || !results[i]->newest) continue;
      // Only the state of the newest checkpoint is kept.
      RebuiltGroup& older = newest && *newest > i ? *results[i] : *results[newest.value_or(i)];
      if (newest) older.newest->state = std::string();
      newest = std::max(newest.value_or(i), i);
    }
  };
  std::vector<std::thread> threads;
  const std::size_t wanted =
      std::min<std::size_t>({std::max(1U, std::thread::hardware_concurrency()), ranges.size(), kThreadsMax});
  try {
    while (threads.size() + 1 < wanted) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // Continues with fewer threads.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<RebuiltGroup> groups;
  for (Result<RebuiltGroup>& result : results) {
    if (!result) return std::unexpected(std::move(result).error());
    groups.push_back(std::move(*result));
  }
  return groups;
}

}  // namespace pawl
