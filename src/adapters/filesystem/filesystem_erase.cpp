// FilesystemStore: erasing runs.
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/run_eraser.hpp"
#include "adapters/filesystem/trail_end.hpp"
#include "audit/roots.hpp"
#include "domain/erasure.hpp"
#include "domain/save_rules.hpp"

namespace pawl {
namespace {

constexpr int kLooks = 4;

Result<bool> mentions(const SegmentScan& scan, const Uuid& run) {
  for (const Batch& batch : scan.batches) {
    PAWL_TRY_ASSIGN(const auto records, decode_records(batch));
    if (std::ranges::any_of(records, [&](const JournalRecord& record) { return record.run_uuid == run; })) return true;
  }
  return false;
}

/// Returns whether a segment contains nothing of the run and nothing after its batches: data of an earlier use may
/// belong to any run.
Result<bool> segment_is_clean(std::string_view bytes, const Uuid& run) {
  std::uint64_t offset = 0;
  bool other_is_damaged = false;
  const auto header = choose_segment_header(bytes, offset, other_is_damaged);
  if (!header || other_is_damaged) return false;
  const SegmentScan scan = scan_segment(bytes, header->generation);
  if (bytes.substr(std::min<std::uint64_t>(scan.end, bytes.size())).find_first_not_of('\0') != std::string_view::npos)
    return false;
  PAWL_TRY_ASSIGN(const bool mentioned, mentions(scan, run));
  return !mentioned;
}

/// Syncs clean segments: the process that wrote the zeros may have been killed before its sync.
Result<bool> journal_is_clean(FileSystem& files, std::uint64_t number, const Uuid& run) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::journal(number)));
  for (const FolderEntry& entry : entries) {
    if (!entry.name.ends_with(".log")) continue;
    PAWL_TRY_ASSIGN(const auto file, files.open(join_path(layout::journal(number), entry.name), OpenMode::write));
    PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
    PAWL_TRY_ASSIGN(const std::string bytes, file->read_at(0, size));
    PAWL_TRY_ASSIGN(const bool clean, segment_is_clean(bytes, run));
    if (!clean) return false;
    PAWL_TRY(file->sync(SyncPoint::erased_bytes));
  }
  return true;
}

/// Returns zero if the journals have no record of the run.
Uuid uuid_in_journals(const JournalSnapshot& snapshot, const std::string& run) {
  const RunRecords* const records = snapshot.find(run);
  if (records == nullptr) return {};
  if (!records->checkpoints.empty()) return records->checkpoints.begin()->second.record.run_uuid;
  return records->audit.empty() ? Uuid() : records->audit.begin()->second.run_uuid;
}

/// Returns the UUID that stands in a damaged run.json, or zero. It counts only if the Merkle roots are sealed with it.
Result<Uuid> uuid_in_damaged_file(FileSystem& files, const std::string& run) {
  constexpr std::string_view kKey = "\"uuid\":\"";
  constexpr std::size_t kUuidBytes = 36;
  const auto text = files.read_file(layout::run_file(run), 1ULL << 20);
  const std::size_t key = text ? text->find(kKey) : std::string::npos;
  if (key == std::string::npos) return Uuid();
  const auto uuid = Uuid::parse(std::string_view(*text).substr(key + kKey.size(), kUuidBytes));
  PAWL_TRY_ASSIGN(const auto roots, read_if_there(files, layout::roots(run)));
  if (!uuid || !roots || parse_roots(*roots, seal_seed(*uuid)).roots.empty()) return Uuid();
  return *uuid;
}

}  // namespace

Result<FilesystemStore::EraseWork> FilesystemStore::erase_work() {
  const Lock lock(open_mutex_);
  PAWL_TRY(make_store());
  return EraseWork{place(), journal_.get()};
}

/// Returns what is known about a run whose run.json can't be read. The UUID is zero if nothing tells it.
Result<RunInfo> FilesystemStore::identity_of(const RunId& run, const JournalSnapshot& snapshot) {
  const auto row = has_catalogue() ? catalogue_.find_run(run.text()) : Result<std::optional<RunInfo>>();
  PAWL_TRY_ASSIGN(RunInfo info, row && *row ? Result<RunInfo>(**row) : run_info(run.text(), RunRecord(), {}));
  if (info.uuid == Uuid()) info.uuid = uuid_in_journals(snapshot, run.text());
  if (info.uuid == Uuid()) {
    PAWL_TRY_ASSIGN(info.uuid, uuid_in_damaged_file(files_, run.text()));
  }
  return info;
}

/// Returns the UUID of a run that is to be erased, or zero if it is unknown.
Result<Uuid> FilesystemStore::uuid_to_erase(const RunId& run) {
  const auto record = record_of(run);
  if (record) return record->uuid;
  if (record.error().code != Code::store_damaged) return std::unexpected(record.error());
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_of_everything());
  PAWL_TRY_ASSIGN(const RunInfo known, identity_of(run, *snapshot));
  return known.uuid;
}

/// Returns the runs that were forked from this one and not erased. Reads every run. If the UUID is unknown, the name
/// decides.
Result<std::vector<RunId>> FilesystemStore::forks_of(const RunId& run, const Uuid& uuid) {
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_of_everything());
  std::set<std::string> names;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder) names.insert(entry.name);
  }
  for (const auto& [name, records] : snapshot->runs()) names.insert(name);
  std::vector<RunId> forks;
  for (const std::string& name : names) {
    auto id = RunId::parse(name);
    if (!id) continue;
    const auto record = RunReader(files_, keys_, name, snapshot).run_record();
    if (!record || !record->fork_of_run) continue;
    const bool is_fork = uuid == Uuid() ? record->fork_of_name == run.text() : record->fork_of_run == uuid;
    if (is_fork) forks.push_back(std::move(*id));
  }
  return forks;
}

Result<std::vector<RunId>> FilesystemStore::erase_forks(const RunId& run, const Uuid& uuid,
                                                        const EraseRequest& request) {
  PAWL_TRY_ASSIGN(const std::vector<RunId> forks, forks_of(run, uuid));
  if (!forks.empty() && request.cascade == Cascade::no) return fail(forks_error(run, forks));
  std::vector<RunId> gone;
  for (const RunId& fork : forks) {
    PAWL_TRY_ASSIGN(const Erasure erasure, erase(fork, request));
    for (const std::string& name : erasure.forks) {
      if (auto id = RunId::parse(name)) gone.push_back(std::move(*id));
    }
    gone.push_back(fork);
  }
  return gone;
}

Result<std::unique_ptr<File>> FilesystemStore::lock_for_erasure(const RunId& run) {
  PAWL_TRY(files_.make_folder(layout::kRuns));
  PAWL_TRY(files_.make_folder(layout::run(run.text())));
  PAWL_TRY_ASSIGN(auto lock, files_.open(layout::run_lock(run.text()), OpenMode::create));
  PAWL_TRY(take_writer_lock(run, *lock));
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool alone, lock->try_lock(layout::kPrunerByte));
    if (alone) return lock;
    if (waited_us >= kLockWaitUs) {
      return fail(Error{Code::store_busy,
                        fmt::format("timed out waiting for another process that is pruning run '{}'", run.text()),
                        {},
                        "try again",
                        0});
    }
    environment_.clock->sleep_us(kLockStepUs);
  }
}

/// Takes the lock of a run that no step of a script is using. Such a step needs the lock to record its result, so the
/// lock is not kept while this waits.
Result<std::unique_ptr<File>> FilesystemStore::lock_unused(const RunId& run) {
  constexpr std::int64_t kStepUs = 20'000;
  for (std::int64_t waited_us = 0;; waited_us += kStepUs) {
    PAWL_TRY_ASSIGN(auto lock, lock_for_erasure(run));
    PAWL_TRY_ASSIGN(const std::vector<std::string> held, held_locks(run));
    if (held.empty()) return lock;
    if (waited_us >= options_.lock_wait_us) return fail(step_running_error(run, held.front()));
    lock.reset();
    environment_.clock->sleep_us(kStepUs);
  }
}

/// Publishes the complete audit trail and the record of the run to their files. The caller holds the writer's lock, so
/// nothing is added in the meantime.
Result<ErasedRecord> FilesystemStore::plan_erasure(const RunId& run, const EraseRequest& request) {
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_of_everything());
  RunReader reader(files_, keys_, run.text(), snapshot);
  auto described = reader.run_record();
  // A damaged run.json is no reason to keep the data.
  if (!described && described.error().code != Code::store_damaged) return std::unexpected(described.error());
  PAWL_TRY_ASSIGN(const RunInfo known, described ? run_info(run.text(), *described, {}) : identity_of(run, *snapshot));
  RunBatch batch;
  const RunRecords* const records = snapshot->find(run.text());
  if (records != nullptr) {
    if (records->run) batch.run = records->run->text;
    for (const auto& [number, record] : records->audit) batch.audit.push_back(record);
  }
  {
    const Lock lock(publish_mutex_);
    const auto published = publisher_.publish(run.text(), batch, Publish::settled);
    // A damaged audit trail is no reason to keep the data.
    if (!published && !is_refusal(published.error().code)) return std::unexpected(published.error());
    PAWL_TRY(publisher_.sync());
  }
  ErasedRecord record{
      .run = run.text(),
      .uuid = known.uuid,
      .created = known.created,
      .at = environment_.clock->now(),
      .by = request.by.empty() ? described_user(environment_.owner.user, environment_.owner.host) : request.by,
      .reason = request.reason,
      .checkpoints = {},
      .latest = known.latest,
      .finished = false};
  if (const auto info = reader.overview()) {
    record.latest = info->latest;
    record.at = next_timestamp(info->updated, record.at);
    if (const auto pruned = reader.pruned())
      record.checkpoints = info->latest.value - info->fork_of_sequence.value - (*pruned)->dropped.count();
  }
  PAWL_TRY_ASSIGN(const TrailEnd end, read_trail_end(files_, run.text(), nullptr));
  record.damaged_entry = end.damaged_entry;
  if (request.remains == Remains::trail) return record;
  PAWL_TRY(refuse_damaged(end, run.text(), RunData::exists));
  note_trail_end(end, record);
  return record;
}

/// Turns the mark of an erased run into that of a removed run.
Result<ErasedRecord> FilesystemStore::plan_removal(ErasedRecord record, const EraseRequest& request) {
  record.erased_at = record.at;
  record.erased_by = record.by;
  record.erased_reason = record.reason;
  record.at = next_timestamp(record.at, environment_.clock->now());
  record.by = request.by.empty() ? described_user(environment_.owner.user, environment_.owner.host) : request.by;
  record.reason = request.reason;
  record.finished = false;
  PAWL_TRY_ASSIGN(const TrailEnd end, read_trail_end(files_, record.run, nullptr));
  PAWL_TRY(refuse_damaged(end, record.run, RunData::is_erased));
  note_trail_end(end, record);
  return record;
}

Result<void> FilesystemStore::check_removal(const RunId& run) {
  return read_consistently(run.text(), [&](const std::shared_ptr<JournalSnapshot>& snapshot) -> Result<void> {
    PAWL_TRY_ASSIGN(const auto mark, load_erased(files_, run.text()));
    if (mark && mark->removed) return {};
    const RunRecords* const records = mark ? nullptr : snapshot->find(run.text());
    PAWL_TRY_ASSIGN(const TrailEnd end,
                    read_trail_end(files_, run.text(), records == nullptr ? nullptr : &records->audit));
    return refuse_damaged(end, run.text(), mark ? RunData::is_erased : RunData::exists);
  });
}

Result<Erasure> FilesystemStore::erase(const RunId& run, const EraseRequest& request) {
  PAWL_TRY(process_.refuse_copy());
  return with_reserve([&] { return erase_now(run, request); });
}

Result<Erasure> FilesystemStore::erase_now(const RunId& run, const EraseRequest& request) {
  const auto is_done = [&](const std::optional<ErasedRecord>& mark) {
    return mark && mark->finished && (mark->removed || request.remains == Remains::trail);
  };
  PAWL_TRY_ASSIGN(const auto before, load_erased(files_, run.text()));
  if (is_done(before)) return answer_erased(*before);
  std::vector<RunId> forks;
  if (!before) {
    PAWL_TRY_ASSIGN(const Uuid uuid, uuid_to_erase(run));
    PAWL_TRY(lock_unused(run));  // checked before any fork is erased
    PAWL_TRY_ASSIGN(forks, erase_forks(run, uuid, request));
  }
  PAWL_TRY_ASSIGN(const EraseWork work, erase_work());
  PAWL_TRY_ASSIGN(const auto lock, lock_unused(run));
  // Another process may have erased the run in the meantime.
  PAWL_TRY_ASSIGN(auto record, load_erased(files_, run.text()));
  if (is_done(record)) return answer_erased(*record);
  RunEraser eraser(files_, environment_, options_, run.text(), *lock);
  if (record && !record->removed && request.remains == Remains::tombstone) {
    if (!record->finished) {
      PAWL_TRY_ASSIGN(Erasure erasure, finish_erasure(work, *record, *lock));
      if (erasure.outcome == Erasure::Outcome::pending) return erasure;
    }
    PAWL_TRY_ASSIGN(record, plan_removal(*record, request));
    PAWL_TRY(eraser.mark(*record));
  }
  if (!record) {
    PAWL_TRY_ASSIGN(record, plan_erasure(run, request));
    // Creating a fork requires the pruner's lock as well, so no fork can appear from here on.
    PAWL_TRY_ASSIGN(const std::vector<RunId> late, forks_of(run, record->uuid));
    if (!late.empty()) return fail(forks_error(run, late));
    PAWL_TRY(eraser.mark(*record));
  }
  PAWL_TRY_ASSIGN(Erasure erasure, finish_erasure(work, *record, *lock));
  for (const RunId& fork : forks) erasure.forks.push_back(fork.text());
  return erasure;
}

/// The process that finished the erasure may have been killed before the name of the mark was durable.
Result<Erasure> FilesystemStore::answer_erased(const ErasedRecord& record) {
  PAWL_TRY(files_.sync_folder(layout::run(record.run), SyncPoint::erased_mark_name));
  return erasure_of(record, Erasure::Outcome::already);
}

Result<Erasure> FilesystemStore::finish_erasure(const EraseWork& work, ErasedRecord record, File& lock) {
  RunEraser eraser(files_, environment_, options_, record.run, lock);
  PAWL_TRY(eraser.destroy(record));
  if (record.uuid == Uuid() && !record.removed) {
    // The roots are sealed with the UUID that got lost.
    PAWL_TRY(files_.remove(layout::roots(record.run)));
    const Lock publishing(publish_mutex_);
    PAWL_TRY(publisher_.rewrite_roots(record.run));
  }
  std::vector<std::string> waiting_for;
  PAWL_TRY(clean_journals(work, record, waiting_for));
  // A process that released its journal meanwhile has found this run locked, and left it to this process.
  if (!std::exchange(waiting_for, {}).empty()) PAWL_TRY(clean_journals(work, record, waiting_for));
  // Taking over a journal may have set a torn batch aside.
  PAWL_TRY(eraser.clean_recovery(record));
  PAWL_TRY(clean_catalogue(record));
  const bool done = waiting_for.empty();
  if (done) PAWL_TRY(eraser.mark_finished(record));
  PAWL_TRY_ASSIGN(Erasure erasure, erasure_of(record, done ? Erasure::Outcome::done : Erasure::Outcome::pending));
  erasure.waiting_for = std::move(waiting_for);
  return erasure;
}

Result<std::vector<Erasure>> FilesystemStore::removed(std::size_t limit) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  std::vector<Erasure> found;
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder) continue;
    const auto mark = load_erased(files_, entry.name);
    if (!mark && is_refusal(mark.error().code)) continue;  // damaged: not known to be removed
    PAWL_TRY_ASSIGN(const auto record, mark);
    if (!record || !record->removed) continue;
    PAWL_TRY_ASSIGN(Erasure one,
                    erasure_of(*record, record->finished ? Erasure::Outcome::already : Erasure::Outcome::pending));
    found.push_back(std::move(one));
  }
  std::ranges::sort(found,
                    [](const Erasure& a, const Erasure& b) { return std::tie(b.at, a.run) < std::tie(a.at, b.run); });
  if (found.size() > limit) found.erase(found.begin() + static_cast<std::ptrdiff_t>(limit), found.end());
  return found;
}

Result<void> FilesystemStore::finish_if_free(const EraseWork& work, const std::string& run) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
  PAWL_TRY_ASSIGN(const bool exists, files_.exists(layout::run(run)));
  if (!exists) return files_.remove(layout::erasing(run));
  // Whoever erases the run makes the note before the mark, so without the lock, a missing mark says nothing: the note
  // would be removed although the mark is about to be written, and after a crash nobody would finish the erasure.
  const auto lock = lock_for_erasure(id);
  if (!lock && lock.error().code == Code::run_busy) return {};  // another process is erasing it
  if (!lock) return std::unexpected(lock.error());
  PAWL_TRY_ASSIGN(const auto record, load_erased(files_, run));
  if (record && !record->finished) {
    PAWL_TRY(finish_erasure(work, *record, **lock));
    return {};
  }
  if (record) PAWL_TRY(answer_erased(*record));
  return files_.remove(layout::erasing(run));
}

Result<void> FilesystemStore::finish_erasures(const EraseWork& work) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kErasing));
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder && RunId::parse(entry.name)) PAWL_TRY(finish_if_free(work, entry.name));
  }
  return {};
}

/// Repairs what fsck found about erased runs: unfinished erasures, and files that reappeared.
Result<void> FilesystemStore::mend_erasures(const CheckReport& report) {
  const EraseWork work{place(), journal_.get()};
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  for (const FolderEntry& entry : entries) {
    const auto record = load_erased(files_, entry.name);
    if (!record || !*record) continue;
    const bool found =
        std::ranges::any_of(report.findings, [&](const Finding& finding) { return finding.run == entry.name; });
    if ((*record)->finished && !found) continue;
    PAWL_TRY_ASSIGN(const RunId id, RunId::parse(entry.name));
    const auto lock = lock_for_erasure(id);
    if (!lock && category(lock.error().code) == Category::busy) continue;  // another process is erasing it
    if (!lock) return std::unexpected(lock.error());
    PAWL_TRY_ASSIGN(const auto now, load_erased(files_, entry.name));
    if (now) PAWL_TRY(finish_erasure(work, *now, **lock));
  }
  return {};
}

/// A journal is clean when its records of the run are settled and everything after its batches is overwritten. A
/// journal of a live process is cleaned by that process when it is idle, or by the next one that takes the journal
/// over.
Result<void> FilesystemStore::clean_journals(const EraseWork& work, const ErasedRecord& record,
                                             std::vector<std::string>& waiting_for) {
  PAWL_TRY_ASSIGN(const auto numbers, list_journals(files_));
  for (const std::uint64_t number : numbers) {
    if (work.own != nullptr && work.own->number() == number) {
      PAWL_TRY_ASSIGN(const bool cleaned, clean_own_journal(*work.own, record.uuid));
      if (!cleaned) waiting_for.push_back(fmt::format("journal {}, which this process is writing to", number));
      continue;
    }
    PAWL_TRY_ASSIGN(std::string holder, clean_free_journal(work, record.uuid, number));
    if (!holder.empty()) waiting_for.push_back(std::move(holder));
  }
  return {};
}

Result<bool> FilesystemStore::clean_own_journal(JournalWriter& own, const Uuid& run) {
  if (!wipe_again_) {
    PAWL_TRY_ASSIGN(const bool clean, journal_is_clean(files_, own.number(), run));
    if (clean) return true;
  }
  // After a failed sync, the page cache may show zeros that are not on the disk.
  wipe_again_ = true;
  PAWL_TRY_ASSIGN(const bool cleaned, committer_->try_alone([&]() -> Result<void> {
    const Lock lock(publish_mutex_);
    PAWL_TRY(settle_everything(own));
    return own.wipe_unused();
  }));
  if (cleaned) wipe_again_ = false;
  return cleaned;
}

/// Returns an empty string if the journal is clean now, otherwise the reason why it is not.
Result<std::string> FilesystemStore::clean_free_journal(const EraseWork& work, const Uuid& run, std::uint64_t number) {
  const auto stuck = [&](const Error& error) {
    return fmt::format("journal {}, which is damaged: {}", number, error.message);
  };
  PAWL_TRY_ASSIGN(const bool used, journal_has_segments(number));
  if (!used) return std::string();
  auto taken = JournalWriter::take_over(work.place, number);
  if (!taken && is_refusal(taken.error().code)) return stuck(taken.error());
  if (!taken) return std::unexpected(taken.error());
  if (!*taken) return look_at_held_journal(run, number);
  const Lock lock(publish_mutex_);
  PAWL_TRY_ASSIGN(const auto active, (*taken)->read((*taken)->active()));
  PAWL_TRY_ASSIGN(const bool mentioned, mentions(active->scan, run));
  if (!mentioned && (*taken)->full_segments().empty()) {
    PAWL_TRY((*taken)->wipe_unused());
    return std::string();
  }
  const auto emptied = empty_free_journal(std::move(*taken));
  if (!emptied && is_refusal(emptied.error().code)) return stuck(emptied.error());
  PAWL_TRY(emptied);
  return std::string();
}

/// The segments are removed: what was pruned or erased is overwritten, and the space is given back.
Result<void> FilesystemStore::empty_free_journal(std::unique_ptr<JournalWriter> journal) {
  std::vector<std::unique_ptr<JournalWriter>> only;
  only.push_back(std::move(journal));
  PAWL_TRY(settle_together(only));
  return only.front()->discard();
}

/// Everything in a journal of nobody is settled, so that it contains no records at all.
Result<std::vector<std::string>> FilesystemStore::wipe_pruned() {
  PAWL_TRY(process_.refuse_copy());
  auto held = with_reserve([this] { return wipe_journals(); });
  std::set<std::string> runs;
  {
    const Lock lock(dirty_mutex_);
    runs.swap(pruned_runs_);
  }
  for (const std::string& run : runs) static_cast<void>(archive_entries(run));
  PAWL_TRY(wipe_recovery(runs));
  return held;
}

/// Batches and segments that a repair has set aside may contain what was pruned. Nothing else says which checkpoints
/// are in them, so they go as a whole.
Result<void> FilesystemStore::wipe_recovery(const std::set<std::string>& runs) {
  std::vector<RunName> names;
  for (const std::string& run : runs) {
    PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
    if (const auto record = record_of(id)) names.push_back({run, record->uuid});  // otherwise it was erased meanwhile
  }
  PAWL_TRY_ASSIGN(const auto wiped, wipe_set_aside(files_, names, SetAside::by_pawl));
  if (!wiped.empty() && options_.tell)
    options_.tell(fmt::format("removed files that were set aside and may contain pruned checkpoints: {}",
                              fmt::join(wiped, ", ")));
  return {};
}

Result<std::vector<std::string>> FilesystemStore::wipe_journals() {
  PAWL_TRY_ASSIGN(const EraseWork work, erase_work());
  PAWL_TRY_ASSIGN(const auto numbers, list_journals(files_));
  std::vector<std::string> held;
  for (const std::uint64_t number : numbers) {
    const bool is_own = work.own != nullptr && work.own->number() == number;
    if (!is_own) {
      PAWL_TRY_ASSIGN(const bool wiped, wipe_free_journal(work.place, number));
      if (wiped) continue;
    }
    // The process that holds the journal looks for this file when it is idle, and after it has released the journal. So
    // either it finds the file, or the journal is free now.
    PAWL_TRY(files_.open(layout::journal_wipe(number), OpenMode::create));
    if (is_own) {
      PAWL_TRY(wipe_if_asked(*work.own));
      PAWL_TRY_ASSIGN(const bool left, files_.exists(layout::journal_wipe(number)));
      if (left) held.push_back(fmt::format("journal {}, which this process is writing to", number));
      continue;
    }
    PAWL_TRY_ASSIGN(const bool wiped, wipe_free_journal(work.place, number));
    if (wiped) continue;
    const auto owner = files_.open(layout::journal_owner(number), OpenMode::read);
    const auto text = owner ? (*owner)->read_at(0, kWatermarkOffset) : Result<std::string>();
    held.push_back(fmt::format("journal {} of {}", number, describe_owner(text ? *text : std::string())));
  }
  return held;
}

/// The note is removed first: one that is written meanwhile refers to more data.
Result<void> FilesystemStore::wipe_if_asked(JournalWriter& own) {
  const std::string note = layout::journal_wipe(own.number());
  PAWL_TRY_ASSIGN(const bool asked, files_.exists(note));
  if (!asked) return {};
  PAWL_TRY(files_.remove(note));
  const auto wiped = committer_->try_alone([&]() -> Result<void> {
    const Lock lock(publish_mutex_);
    PAWL_TRY(settle_everything(own));
    return own.wipe_unused();
  });
  if (!wiped || !*wiped) PAWL_TRY(files_.open(note, OpenMode::create));
  if (!wiped) return std::unexpected(wiped.error());
  return {};
}

/// Taking over a journal without segments would create one, for which a full disk has no room.
Result<bool> FilesystemStore::journal_has_segments(std::uint64_t journal) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::journal(journal)));
  return std::ranges::any_of(entries, [](const FolderEntry& entry) { return entry.name.ends_with(".log"); });
}

Result<bool> FilesystemStore::wipe_free_journal(const JournalWriter::Place& place, std::uint64_t number) {
  PAWL_TRY_ASSIGN(const bool used, journal_has_segments(number));
  if (!used) return true;
  auto taken = JournalWriter::take_over(place, number);
  if (!taken && !is_refusal(taken.error().code)) return std::unexpected(taken.error());
  if (!taken || !*taken) return false;
  PAWL_TRY(files_.remove(layout::journal_wipe(number)));
  const Lock lock(publish_mutex_);
  PAWL_TRY(empty_free_journal(std::move(*taken)));
  return true;
}

Result<std::string> FilesystemStore::look_at_held_journal(const Uuid& run, std::uint64_t number) {
  for (int look = 0; look < kLooks; ++look) {
    PAWL_TRY_ASSIGN(const bool clean, journal_is_clean(files_, number, run));
    if (clean) return std::string();
    environment_.clock->sleep_us(kLockStepUs);  // a batch that is being written looks like leftover data
  }
  const auto owner = files_.open(layout::journal_owner(number), OpenMode::read);
  const auto text = owner ? (*owner)->read_at(0, kWatermarkOffset) : Result<std::string>();
  return fmt::format("journal {} of {}", number, describe_owner(text ? *text : std::string()));
}

Result<void> FilesystemStore::clean_catalogue(const ErasedRecord& record) {
  if (!has_catalogue()) return {};
  PAWL_TRY_ASSIGN(const auto lock, lock_catalogue());
  const std::string catalogue(layout::kCatalogue);
  PAWL_TRY_ASSIGN(const bool usable, catalogue_.usable());
  if (usable) {
    std::optional<RunInfo> row;
    if (!record.removed) {
      PAWL_TRY_ASSIGN(row, info_of_erased(record));
    }
    auto forgotten = catalogue_.forget(record.run, row);
    if (!forgotten && forgotten.error().code != Code::store_damaged) return forgotten;
    if (!forgotten) PAWL_TRY(rebuild_catalogue_locked());
  } else {
    PAWL_TRY_ASSIGN(const auto old, open_to_wipe(files_, catalogue));
    PAWL_TRY(rebuild_catalogue_locked());
    if (old) PAWL_TRY(overwrite(*old, 0));
    if (old) PAWL_TRY(old->sync(SyncPoint::erased_bytes));
  }
  for (const std::string_view ending : {"-journal", "-wal", "-shm", ".tmp", ".tmp-journal"}) {
    PAWL_TRY(wipe_file(files_, catalogue + std::string(ending)));
  }
  PAWL_TRY_ASSIGN(const auto file, files_.open(catalogue, OpenMode::write));
  PAWL_TRY(file->sync(SyncPoint::erased_bytes));
  return files_.sync_folder("", SyncPoint::erased_names);
}

}  // namespace pawl
