#include "adapters/filesystem/run_pruner.hpp"

#include <algorithm>
#include <limits>

#include "adapters/filesystem/blob_sweeper.hpp"
#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/fork_notes.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "adapters/filesystem/whole_file.hpp"
#include "codec/base64.hpp"
#include "domain/retention.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

// Maximum amount of work per replacement of the list.
constexpr std::size_t kBatchGroups = 64;
constexpr std::int64_t kBatchBytes = 16 << 20;

std::int64_t bytes_of(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

/// Returns the last sequence up to `sequence` that is not closed, or 0.
Sequence last_open(const PrunedList& list, Sequence sequence) {
  const auto after = list.closed.ranges().upper_bound(sequence.value);
  if (after == list.closed.ranges().begin()) return sequence;
  const auto& [first, last] = *std::prev(after);
  return last < sequence.value ? sequence : Sequence{first - 1};
}

std::string blob_named_in(const RecordView& record) {
  if (record.payload_kind != Payload::state_blob && record.payload_kind != Payload::diff_blob) return {};
  return decode_text_payload(record.payload).value_or("");
}

}  // namespace

RunPruner::RunPruner(Place place, std::string run, std::shared_ptr<JournalSnapshot> snapshot, Newest newest)
    : files_(*place.files),
      place_(std::move(place)),
      run_(std::move(run)),
      snapshot_(std::move(snapshot)),
      reader_(files_, *place_.keys, run_, snapshot_),
      newest_(newest) {}

Result<void> RunPruner::lock_byte(File& lock, std::uint64_t byte, const char* what) {
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, lock.try_lock(byte));
    if (locked) return {};
    if (waited_us >= kLockWaitUs) {
      return fail(Error{Code::store_busy,
                        fmt::format("timed out waiting for another process that is {} run '{}'", what, run_),
                        {},
                        "try again",
                        0});
    }
    place_.environment.clock->sleep_us(kLockStepUs);
  }
}

Result<PruneReport> RunPruner::prune(const RetentionSettings& settings, PruneMode mode) {
  PAWL_TRY(reader_.run_record());
  if (mode == PruneMode::remove) {
    // Maybe nothing of the run has been published yet.
    for (const std::string& folder : {std::string(layout::kRuns), layout::run(run_), layout::checkpoints(run_)})
      PAWL_TRY(files_.make_folder(folder));
    PAWL_TRY_ASSIGN(lock_, files_.open(layout::run_lock(run_), OpenMode::create));
    PAWL_TRY(lock_byte(*lock_, layout::kPrunerByte, "pruning"));
  }
  PAWL_TRY_ASSIGN(seed_, reader_.seed());
  PAWL_TRY_ASSIGN(fork_at_, reader_.fork_at());
  PAWL_TRY_ASSIGN(const PrunedList* const list, reader_.pruned());
  list_ = *list;
  next_ = *list;
  // Removes what an earlier prune left when it was killed. The name of its list may not be durable yet.
  if (mode == PruneMode::remove) PAWL_TRY(sweep());
  PAWL_TRY(drop(settings));
  PAWL_TRY(close_groups(mode));
  if (mode == PruneMode::dry_run) {
    PAWL_TRY_ASSIGN(const std::int64_t swept, estimate_sweep());
    report_.freed_bytes += swept;
  } else if (!report_.dropped.empty() || next_.closed != list_.closed) {
    PAWL_TRY(switch_lists());
  }
  BlobSweeper blobs(files_, run_, seed_, next_, fork_at_);
  PAWL_TRY_ASSIGN(const std::int64_t of_blobs, mode == PruneMode::dry_run
                                                   ? blobs.estimate(*snapshot_, kept_blobs_)
                                                   : blobs.sweep(*snapshot_, *lock_, place_.fresh));
  report_.freed_bytes += of_blobs;
  return std::move(report_);
}

Result<std::optional<PrunedImage>> RunPruner::image() {
  PAWL_TRY_ASSIGN(const RunRecord record, reader_.run_record());
  PAWL_TRY_ASSIGN(seed_, reader_.seed());
  PAWL_TRY_ASSIGN(fork_at_, reader_.fork_at());
  PAWL_TRY_ASSIGN(const PrunedList* const list, reader_.pruned());
  list_ = *list;
  next_ = *list;
  if (list_.dropped.empty()) return std::optional<PrunedImage>();
  image_.emplace();
  PAWL_TRY(close_groups(PruneMode::dry_run));
  if (next_.closed == list_.closed) return std::optional<PrunedImage>();
  BlobSweeper blobs(files_, run_, seed_, next_, fork_at_);
  PAWL_TRY_ASSIGN(image_->unneeded_blobs, blobs.unneeded(*snapshot_, kept_blobs_));
  image_->list_text = encode_pruned(next_, seed_);
  image_->list = next_;
  return std::move(image_);
}

/// Marks the checkpoints that the settings don't keep.
Result<void> RunPruner::drop(const RetentionSettings& settings) {
  PAWL_TRY_ASSIGN(const RetentionCandidates there, find_candidates());
  Retention judged = judge_checkpoints(there, settings, place_.now);
  PAWL_TRY(keep_forked(judged));
  keep_damaged(judged);
  std::vector<Sequence>& dropped = judged.dropped;
  report_.exempt = std::move(judged.exempt);
  report_.kept = there.all().size() - dropped.size();
  const bool with_callers = std::ranges::any_of(there.all(), [&](const RetentionCandidate& candidate) {
    return candidate.has_caller && std::ranges::binary_search(dropped, candidate.sequence);
  });
  if (with_callers) PAWL_TRY(gather_callers(dropped));
  for (const DoubtfulCheckpoint& one : doubtful_) {
    if (!one.info.caller_id.empty() && std::ranges::binary_search(dropped, one.info.sequence))
      callers_.push_back({0, one.info, one.fingerprint});
  }
  for (const Sequence sequence : dropped) {
    next_.dropped.add(sequence.value);
    // The tail of a kept checkpoint needs it until the group is closed again.
    if (!next_.tails.contains(sequence.value)) next_.kept.erase(sequence.value);
  }
  report_.dropped = std::move(dropped);
  return {};
}

/// Returns the checkpoints that are there, readable or not. Fails if the newest group is damaged, because it is unknown
/// what the run still needs of it.
Result<RetentionCandidates> RunPruner::find_candidates() {
  constexpr std::uint64_t kDoubtfulMax = 100'000;  // a group has fewer; numbers of a damaged run can be anything
  PAWL_TRY_ASSIGN(const Sequence newest, reader_.latest());
  PAWL_TRY_ASSIGN(const auto bases, reader_.bases());
  RetentionCandidates there;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const bool is_last = i + 1 == bases.size();
    const Sequence first = std::max(bases[i], fork_at_.next());
    Sequence end = is_last ? newest : Sequence{bases[i + 1].value - 1};
    if (list_.rewritten(bases[i]) != nullptr) end = std::min(end, list_.tail_end(bases[i]));
    end = list_.before_aside(bases[i], end);
    PAWL_TRY_ASSIGN(const Chain chain, reader_.chain(bases[i], end));
    Sequence reached = first;
    for (const ChainLink& link : chain.links) {
      if (link.record.sequence < first) continue;
      reached = link.record.sequence.next();
      if (list_.is_dropped(link.record.sequence)) continue;
      PAWL_TRY_ASSIGN(const CheckpointInfo info, decode_info(link.record));
      there.add(info);
    }
    const Sequence missing = list_.next_there(reached);
    if (missing > end) continue;
    const Error damage =
        chain.damage.value_or(Error{Code::chain_broken,
                                    fmt::format("checkpoint {} of run '{}' is missing", missing.value, run_),
                                    layout::checkpoints(run_),
                                    {},
                                    0,
                                    Advice::check_store,
                                    {.run = run_}});
    const bool is_bad = category(damage.code) == Category::integrity && end.value - missing.value < kDoubtfulMax;
    if (is_last || !is_bad) return fail(damage);
    damaged_.push_back({first, end});
    for (DoubtfulCheckpoint& one : doubtful_checkpoints(chain, list_, missing, end)) {
      there.add(one.info);
      doubtful_.push_back(std::move(one));
    }
  }
  return there;
}

/// A damaged group goes only as a whole: those of it that are kept may need the others.
void RunPruner::keep_damaged(Retention& judged) {
  for (const DamagedGroup& group : damaged_) {
    const auto from = std::ranges::lower_bound(judged.dropped, group.first);
    const auto to = std::ranges::upper_bound(judged.dropped, group.last);
    IndexRanges left = next_.dropped;
    for (auto one = from; one != to; ++one) left.add(one->value);
    if (left.next_missing(group.first.value) <= group.last.value) judged.dropped.erase(from, to);
  }
}

/// Keeps the checkpoints that runs were forked from. A note of a fork that was never created also keeps its checkpoint,
/// until fsck removes the note.
Result<void> RunPruner::keep_forked(Retention& judged) {
  if (judged.dropped.empty()) return {};
  const auto keep_at = [&](Sequence at) {
    if (std::erase(judged.dropped, at) > 0) judged.exempt[at] = KeptWhy::fork_point;
  };
  PAWL_TRY_ASSIGN(const auto notes, load_fork_notes(files_, run_, seed_));
  for (const ForkNote& note : notes) {
    // An erased fork needs nothing of its parent.
    const auto erased = load_erased(files_, note.fork);
    if (erased && *erased && (*erased)->uuid == note.uuid) continue;
    keep_at(note.at);
  }
  // A note may be missing, for example in a copy that an older version has opened.
  PAWL_TRY_ASSIGN(const RunRecord record, reader_.run_record());
  if (place_.fork_points) {
    for (const Sequence at : place_.fork_points(record.uuid)) keep_at(at);
  }
  for (const auto& [run, records] : snapshot_->runs()) {
    if (!records.run || records.run->text.find(record.uuid.text()) == std::string_view::npos) continue;
    const auto fork = decode_run(records.run->text);
    PAWL_TRY_ASSIGN(const bool erased, files_.exists(layout::erased(run)));
    if (fork && fork->fork_of_run == record.uuid && !erased) keep_at(fork->fork_of_sequence);
  }
  return {};
}

Result<void> RunPruner::gather_callers(const std::vector<Sequence>& dropped) {
  PAWL_TRY_ASSIGN(const auto saves, reader_.saves_with_caller_id());
  for (const auto& [info, fingerprint] : saves) {
    if (std::ranges::binary_search(dropped, info.sequence)) callers_.push_back({0, info, fingerprint});
  }
  return {};
}

/// Returns the last checkpoint of the group, or 0 if the group can't be closed or is closed without a tail.
Result<Sequence> RunPruner::end_of_group(const std::vector<Sequence>& bases, std::size_t index) {
  const Sequence base = bases[index];
  if (list_.rewritten(base) != nullptr) {
    const Sequence end = list_.tail_end(base);
    return end == base ? Sequence() : end;
  }
  const Sequence first = base == fork_at_ ? base.next() : base;
  if (list_.is_closed(first)) return Sequence();
  Sequence end;
  if (index + 1 < bases.size()) {
    end = Sequence{bases[index + 1].value - 1};
  } else if (newest_ == Newest::is_closed) {
    PAWL_TRY_ASSIGN(end, reader_.latest());
  }
  end = last_open(list_, end);
  return end < first ? Sequence() : end;
}

Result<bool> RunPruner::newest_has_dropped() {
  PAWL_TRY_ASSIGN(const auto bases, reader_.bases());
  if (bases.empty() || list_.rewritten(bases.back()) != nullptr) return false;
  const Sequence first = bases.back() == fork_at_ ? bases.back().next() : bases.back();
  return !list_.is_closed(first) && !list_.dropped.empty() && list_.dropped.ranges().rbegin()->second >= first.value;
}

/// Closes every group of which something was dropped, if that frees space.
Result<void> RunPruner::close_groups(PruneMode mode) {
  PAWL_TRY_ASSIGN(const auto bases, reader_.bases());
  std::size_t groups = 0;
  std::int64_t written_bytes = 0;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    PAWL_TRY_ASSIGN(const Sequence last, end_of_group(bases, i));
    if (!last) continue;
    if (place_.stop && place_.stop()) break;
    PAWL_TRY_ASSIGN(const auto group, plan_group(bases[i], last));
    if (!group) continue;
    PAWL_TRY(close_group(*group, mode));
    written_bytes += group->new_bytes;
    if (++groups < kBatchGroups && written_bytes < kBatchBytes) continue;
    if (mode == PruneMode::remove) PAWL_TRY(switch_lists());
    groups = 0;
    written_bytes = 0;
  }
  // What was set aside is never read again. The newest is still needed until the run has continued after it.
  for (const auto& [first, last] : list_.aside.ranges()) {
    if (bases.empty() || bases.back().value <= last) continue;
    next_.closed.add(first, last);
    next_.kept.erase(next_.kept.lower_bound(first), next_.kept.upper_bound(last));
    next_.tails.erase(next_.tails.lower_bound(first), next_.tails.upper_bound(last));
  }
  return {};
}

Result<void> RunPruner::close_group(const Group& group, PruneMode mode) {
  next_.kept.erase(group.base.value);
  next_.tails.erase(group.base.value);
  for (const Kept& kept : group.kept) {
    if (mode == PruneMode::remove) PAWL_TRY(write_kept(kept));
    if (image_) {
      image_->files.emplace_back(layout::kept(run_, kept.sequence), kept.text);
      if (!kept.tail.empty()) image_->files.emplace_back(layout::kept_differences(run_, kept.sequence), kept.tail);
      if (!kept.blob_bytes.empty()) image_->files.emplace_back(layout::blob(run_, kept.blob), kept.blob_bytes);
    }
    next_.kept[kept.sequence.value] = kept.sums;
    if (kept.tail_end > kept.sequence) next_.tails[kept.sequence.value] = kept.tail_end.value;
    if (!kept.blob.empty()) kept_blobs_.insert(kept.blob);
  }
  report_.freed_bytes -= group.new_bytes;
  next_.closed.add(group.first.value, group.last.value);
  return {};
}

/// Returns nothing if the group should stay as it is.
Result<std::optional<RunPruner::Group>> RunPruner::plan_group(Sequence base, Sequence last) {
  const Sequence first = base == fork_at_ ? base.next() : base;
  const auto after = next_.dropped.ranges().upper_bound(last.value);
  const bool has_dropped = after != next_.dropped.ranges().begin() && std::prev(after)->second >= first.value;
  if (!has_dropped) return std::optional<Group>();
  // Nothing needs the group any more, so it does not matter whether it is intact.
  if (next_.next_there(first) > last)
    return std::optional(Group{.base = base, .first = first, .last = last, .kept = {}});
  const Sequence end = next_.before_aside(base, last);
  PAWL_TRY_ASSIGN(const Chain chain, reader_.chain(base, end));
  // Damaged or incomplete groups are not pruned.
  if (chain.damage || chain.links.size() != end.value - base.value + 1) return std::optional<Group>();
  std::vector<Sequence> kept;
  for (Sequence sequence = next_.next_there(first); sequence <= end; sequence = next_.next_there(sequence.next()))
    kept.push_back(sequence);
  // The kept ones up to the end stay together.
  std::size_t alone = kept.size();
  for (Sequence next = end.next(); alone > 0 && kept[alone - 1].next() == next; --alone) next = kept[alone - 1];
  if (alone > 0) {
    // If the others would need more space in files of their own than everything since the first of them, all of it
    // stays, and only what is before goes.
    PAWL_TRY_ASSIGN(const std::int64_t apart, least_bytes(chain, kept, alone < kept.size() ? kept[alone] : Sequence()));
    PAWL_TRY_ASSIGN(const std::int64_t together, least_bytes(chain, {}, kept.front()));
    if (apart >= together && kept.front() == first) return std::optional<Group>();
    if (apart >= together) alone = 0;
  }
  Group group{.base = base, .first = first, .last = last, .kept = {}};
  const std::size_t count = std::min(kept.size(), alone + 1);
  for (std::size_t i = 0; i < count; ++i) {
    PAWL_TRY_ASSIGN(Kept one, keep(chain, kept[i]));
    if (i == alone) PAWL_TRY(add_tail(chain, end, one));
    group.new_bytes += bytes_of(one.text) + bytes_of(one.blob_bytes) + bytes_of(one.tail);
    group.kept.push_back(std::move(one));
  }
  return std::optional(std::move(group));
}

/// Returns the minimum size of these checkpoints in their own files. From `tail` on, differences stay differences.
Result<std::int64_t> RunPruner::least_bytes(const Chain& chain, const std::vector<Sequence>& kept, Sequence tail) {
  std::int64_t bytes = 0;
  const auto add = [&](Sequence sequence) -> Result<void> {
    const RecordView& record = *chain.find(sequence);
    PAWL_TRY_ASSIGN(const CheckpointInfo info, decode_info(record));
    bytes += record.whole() ? bytes_of(record.text) : static_cast<std::int64_t>(info.state_bytes);
    return {};
  };
  for (const Sequence sequence : kept) {
    if (!tail || sequence < tail) PAWL_TRY(add(sequence));
  }
  if (!tail) return bytes;
  PAWL_TRY(add(tail));
  for (const ChainLink& link : chain.links) {
    if (link.record.sequence > tail) bytes += bytes_of(link.record.text);
  }
  return bytes;
}

Result<void> RunPruner::add_tail(const Chain& chain, Sequence last, Kept& kept) {
  kept.tail_end = last;
  for (const ChainLink& link : chain.links) {
    if (link.record.sequence <= kept.sequence) continue;
    kept.tail += link.record.text;
    kept.tail += '\n';
    if (std::string blob = blob_named_in(link.record); !blob.empty()) kept_blobs_.insert(std::move(blob));
  }
  return {};
}

/// A full checkpoint is copied byte for byte.
Result<RunPruner::Kept> RunPruner::keep(const Chain& chain, Sequence sequence) {
  const RecordView& record = *chain.find(sequence);
  Kept kept{.sequence = sequence,
            .sums = {std::string(record.sum), std::string(record.sum)},
            .text = std::string(record.text) + "\n",
            .blob = {},
            .blob_bytes = {},
            .tail_end = sequence,
            .tail = {}};
  if (record.whole()) {
    if (const PrunedList::Sums* before = list_.rewritten(sequence)) kept.sums.was = before->was;
    kept.blob = blob_named_in(record);
    return kept;
  }
  PAWL_TRY_ASSIGN(std::string state, reader_.rebuild(chain, sequence));
  PAWL_TRY_ASSIGN(const CheckpointInfo info, decode_info(record));
  PAWL_TRY_ASSIGN(const RunRecord run, reader_.run_record());
  PAWL_TRY_ASSIGN(RunCodec* const codec, reader_.codec());
  Packed packed = codec->packed(state, Content::state);
  Payload kind = Payload::state;
  std::string payload;
  if ((packed.how.empty() ? state.size() : packed.bytes.size()) > place_.options.inline_bytes_max) {
    PAWL_TRY(codec->protect_blob(packed, state));
    kept.blob_bytes = packed.how.empty() ? std::move(state) : std::move(packed.bytes);
    kept.blob = to_hex(sha256(run.salt, kept.blob_bytes));
    kind = Payload::state_blob;
    payload = escape_json(kept.blob);
  } else {
    const RecordPlace place{RecordPlace::Kind::checkpoint, record.sequence.value, record.parent.value, {}};
    PAWL_TRY(codec->protect(packed, state, place, make_nonce(*place_.environment.random)));
    payload = packed.how.empty() ? std::move(state) : fmt::format("\"{}\"", to_base64(packed.bytes));
  }
  kept.text = encode_checkpoint({&info, decode_fingerprint(record), kind, payload, packed.how, info.metadata},
                                Shape::file, {run.salt, seed_}, kept.sums.is);
  return kept;
}

Result<void> RunPruner::write_kept(const Kept& kept) {
  if (!kept.blob_bytes.empty()) PAWL_TRY(write_blob(kept));
  PAWL_TRY(write_file(layout::kept(run_, kept.sequence), kept.text));
  if (!kept.tail.empty()) PAWL_TRY(write_file(layout::kept_differences(run_, kept.sequence), kept.tail));
  new_names_ = true;
  return {};
}

Result<void> RunPruner::write_file(const std::string& path, std::string_view text) {
  PAWL_TRY(write_whole_file(files_, path, text, SyncPoint::pruned_kept));
  return {};
}

/// Writes a blob as a writer does, but under a different temporary name, because a writer may be writing the same blob.
Result<void> RunPruner::write_blob(const Kept& kept) {
  PAWL_TRY(files_.make_folder(layout::blobs(run_)));
  PAWL_TRY(write_whole_file(files_, layout::blob(run_, kept.blob), kept.blob_bytes, SyncPoint::blob, ".kept.tmp"));
  PAWL_TRY(files_.sync_folder(layout::blobs(run_), SyncPoint::blob_name));
  return files_.sync_folder(layout::run(run_), SyncPoint::blob_folder_name);
}

/// Replaces the list, which is the atomic step. No publisher may be writing a file of a closed group at that time.
Result<void> RunPruner::switch_lists() {
  if (!callers_.empty()) {
    PAWL_TRY(append_pruned_callers(files_, run_, next_, callers_, seed_));
    for (const PrunedCaller& caller : callers_) report_.freed_bytes -= bytes_of(encode_pruned_caller(caller, seed_));
    callers_.clear();
    new_names_ = true;
  }
  next_.at = place_.environment.clock->now();
  if (new_names_) PAWL_TRY(files_.sync_folder(layout::checkpoints(run_), SyncPoint::pruned_new_names));
  new_names_ = false;
  PAWL_TRY_ASSIGN(const std::int64_t before, size_of(layout::pruned(run_)));
  if (before == 0) {
    // The processes that created the parent folders of the first list may not have synced their names.
    for (const std::string& folder : {layout::run(run_), std::string(layout::kRuns), std::string()}) {
      PAWL_TRY(files_.sync_folder(folder, SyncPoint::pruned_new_names));
    }
  }
  PAWL_TRY(lock_byte(*lock_, layout::kPublisherByte, "publishing"));
  const auto replaced = replace_pruned(files_, run_, next_, seed_);
  PAWL_TRY(lock_->unlock(layout::kPublisherByte));
  PAWL_TRY(replaced);
  report_.freed_bytes -= bytes_of(encode_pruned(next_, seed_)) - before;
  list_ = next_;
  return sweep();
}

/// Removes the files that the current list has released. Does not sync: a file that a crash restores is ignored, and
/// removed by the next prune.
Result<void> RunPruner::sweep() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
  bool named = false;
  for (const FolderEntry& entry : entries) {
    if (!is_void(entry.name, list_)) continue;
    // The process that replaced the list may have been killed before its name was durable.
    if (!named) PAWL_TRY(files_.sync_folder(layout::checkpoints(run_), SyncPoint::pruned_list_name));
    named = true;
    const std::string path = join_path(layout::checkpoints(run_), entry.name);
    PAWL_TRY_ASSIGN(const std::int64_t size, size_of(path));
    PAWL_TRY(files_.remove(path));
    report_.freed_bytes += size;
  }
  // Otherwise they can be back after a power loss.
  return named ? files_.sync_folder(layout::checkpoints(run_), SyncPoint::erased_names) : Result<void>();
}

/// Returns the number of bytes that a sweep would free with the next list.
Result<std::int64_t> RunPruner::estimate_sweep() {
  std::int64_t bytes = 0;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
  for (const FolderEntry& entry : entries) {
    if (!is_void(entry.name, next_)) continue;
    PAWL_TRY_ASSIGN(const std::int64_t size, size_of(join_path(layout::checkpoints(run_), entry.name)));
    bytes += size;
  }
  PrunedList list = next_;
  list.callers += callers_.size();
  list.at = place_.environment.clock->now();
  PAWL_TRY_ASSIGN(const std::int64_t before, size_of(layout::pruned(run_)));
  if (!report_.dropped.empty() || next_.closed != list_.closed) bytes -= bytes_of(encode_pruned(list, seed_)) - before;
  for (const PrunedCaller& caller : callers_) bytes -= bytes_of(encode_pruned_caller(caller, seed_));
  return bytes;
}

/// Returns 0 if the file does not exist.
Result<std::int64_t> RunPruner::size_of(const std::string& path) {
  const auto file = files_.open(path, OpenMode::read);
  if (!file && file.error().code == Code::input_unreadable) return 0;
  if (!file) return std::unexpected(file.error());
  PAWL_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
  return static_cast<std::int64_t>(size);
}

}  // namespace pawl
