// FilesystemStore: from the journal to the files, and the recycling of segments.
#include <algorithm>
#include <utility>

#include "adapters/filesystem/failure_log.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "base/confined.hpp"
#include "base/thread_name.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kIdlePublishUs = 1'000'000;

/// Returns a run's records up to the last one in `batch`, from all journals. The writer of a run changes from process
/// to process, and with it the journal that contains its records. Lines are still written in order.
struct Earlier {
  RunBatch batch;
  bool elsewhere = false;  // other journals contain records of this run
};

Earlier with_earlier(const JournalSnapshot& snapshot, std::uint64_t own_journal, const std::string& run,
                     const RunBatch& batch) {
  Earlier result;
  const RunRecords* records = snapshot.find(run);
  if (records == nullptr || batch.checkpoints.empty()) return {batch, false};
  result.batch.run = records->run ? std::optional(records->run->text) : batch.run;
  for (const auto& [sequence, found] : records->checkpoints) {
    result.elsewhere |= found.journal != own_journal;
    if (sequence <= batch.checkpoints.back().sequence.value) result.batch.checkpoints.push_back(found.record);
  }
  for (const auto& [number, record] : records->events) {
    if (record.sequence <= batch.checkpoints.back().sequence) result.batch.events.push_back(record);
  }
  for (const auto& [number, record] : records->audit) {
    if (record.sequence <= batch.checkpoints.back().sequence) result.batch.audit.push_back(record);
  }
  return result;
}

RunBatch in_order(RunBatch batch) {
  std::ranges::sort(batch.checkpoints, {}, [](const JournalRecord& record) { return record.sequence.value; });
  std::ranges::sort(batch.events, {}, &JournalRecord::number);
  std::ranges::sort(batch.audit, {}, &JournalRecord::number);
  return batch;
}

}  // namespace

void FilesystemStore::start_background() {
  background_ = std::thread([this, work = EraseWork{place(), journal_.get()}] { run_background(work); });
  const Lock lock(dirty_mutex_);
  if (!options_.retention.keeps_everything()) start_pruning();
}

void FilesystemStore::run_background(const EraseWork& work) {
  name_this_thread("pawl-publish");
  Lock lock(dirty_mutex_);
  while (!stopping_) {
    if (!wanted_) wake_publisher_.wait_us(lock, kIdlePublishUs);
    if (stopping_) return;
    const bool idle = !wanted_;
    wanted_ = false;
    lock.unlock();
    Result<void> done;
    {
      const Lock publishing(publish_mutex_);
      if (journal_->wants_next()) done = journal_->ensure_next();
      if (done) done = settle_full(*journal_);
      if (done && idle) done = publish_dirty(Publish::lazy);
    }
    // Another process may have erased or pruned a run that has records in this journal. Failures are retried.
    if (idle) static_cast<void>(finish_erasures(work));
    static_cast<void>(wipe_if_asked(*work.own));
    lock.lock();
    publish_error_.reset();
    if (!done) publish_error_ = done.error();
    room_.notify_all();
  }
}

bool FilesystemStore::is_clear(const std::string& run) {
  const Lock lock(clear_mutex_);
  return clear_.contains(run);
}

std::uint64_t FilesystemStore::unclear_count() {
  const Lock lock(clear_mutex_);
  return unclear_;
}

void FilesystemStore::note_unclear(const std::string& run) {
  const Lock lock(clear_mutex_);
  clear_.erase(run);
  ++unclear_;
}

/// A snapshot says nothing about a run that was opened after it was taken, with records of another process.
void FilesystemStore::note_clear(const std::string& run, std::uint64_t count_before_snapshot) {
  const Lock lock(clear_mutex_);
  if (unclear_ == count_before_snapshot) clear_.insert(run);
}

/// Makes the batches of these segments durable in the files of the runs and in the catalogue.
Result<void> FilesystemStore::settle(JournalWriter& journal, const std::vector<FullSegment>& segments) {
  std::vector<std::unique_ptr<SegmentView>> views;
  RunBatches batches;
  for (const FullSegment& segment : segments) {
    PAWL_TRY_ASSIGN(auto view, journal.read(segment));
    PAWL_TRY(collect(*view, batches));
    views.push_back(std::move(view));
  }
  const std::uint64_t before = unclear_count();
  std::shared_ptr<JournalSnapshot> snapshot;
  RunBatches stuck;
  for (const auto& [run, batch] : batches) {
    if (is_clear(run)) {
      PAWL_TRY(publish_or_keep(run, batch, batch, stuck));
      continue;
    }
    if (!snapshot) {
      PAWL_TRY_ASSIGN(snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
    }
    const Earlier earlier = with_earlier(*snapshot, journal.number(), run, batch);
    if (!earlier.elsewhere) note_clear(run, before);
    PAWL_TRY(publish_or_keep(run, earlier.batch, batch, stuck));
  }
  PAWL_TRY(publisher_.sync());
  PAWL_TRY(keep_journaled(journal.place(), stuck));
  for (const auto& [run, batch] : stuck) batches.erase(run);
  return update_catalogue(batches);
}

/// Publishes `batch`. If the files of the run are damaged or not accessible, adds `own` to `stuck` instead: one run
/// must not keep the journal of all others from being recycled.
Result<void> FilesystemStore::publish_or_keep(const std::string& run, const RunBatch& batch, const RunBatch& own,
                                              RunBatches& stuck) {
  const auto published = publisher_.publish(run, batch, Publish::settled);
  if (published) return {};
  if (!is_confined(published.error()) || category(published.error().code) == Category::busy)
    return std::unexpected(published.error());
  behind_ = true;
  note_unclear(run);
  stuck.emplace(run, own);
  const Lock lock(dirty_mutex_);
  if (!stuck_.try_emplace(run, published.error()).second) return {};
  has_stuck_ = true;
  return pawl::log_failure(
      files_, environment_,
      Finding{Finding::Severity::damage,
              published.error().code,
              published.error().where,
              run,
              {},
              fmt::format("the newest checkpoints of run '{}' stay in the journal, because its files can't "
                          "be written: {}",
                          run, published.error().message),
              {}});
}

namespace {

/// The records of a run as they were in its journal: those of a save in one piece.
struct SavedRecords {
  std::string body;
  std::uint32_t count = 0;
};

std::map<std::uint64_t, SavedRecords> by_save(const std::string& run, const RunBatch& batch) {
  std::map<std::uint64_t, SavedRecords> saves;
  const auto add = [&](const JournalRecord& record) {
    SavedRecords& save = saves[record.sequence.value];
    append_record(save.body, record);
    ++save.count;
  };
  if (batch.run && !batch.checkpoints.empty()) {
    const JournalRecord& first = batch.checkpoints.front();
    add({.type = RecordType::run,
         .run_uuid = first.run_uuid,
         .sequence = first.sequence,
         .parent = first.parent,
         .run = run,
         .text = *batch.run});
  }
  for (const auto* records : {&batch.checkpoints, &batch.events, &batch.audit}) std::ranges::for_each(*records, add);
  return saves;
}

/// Takes over a free journal without records of these runs, or creates one: the records of a run stay in order.
Result<std::unique_ptr<JournalWriter>> other_journal(FileSystem& files, const JournalWriter::Place& place,
                                                     const RunBatches& runs) {
  PAWL_TRY_ASSIGN(const auto numbers, list_journals(files));
  for (const std::uint64_t number : numbers) {
    auto journal = JournalWriter::take_over(place, number);
    if (!journal && category(journal.error().code) == Category::integrity) continue;  // fsck names it
    if (!journal) return journal;
    const auto mentioned = [&](const auto& run) { return (*journal)->runs_at_takeover().contains(run.first); };
    if (*journal && std::ranges::none_of(runs, mentioned)) return journal;
  }
  return JournalWriter::create(place);
}

}  // namespace

/// Writes the records of these runs to another journal. They are durable when it returns.
Result<void> FilesystemStore::keep_journaled(const JournalWriter::Place& place, const RunBatches& runs) {
  if (runs.empty()) return {};
  PAWL_TRY_ASSIGN(const auto journal, other_journal(files_, place, runs));
  for (const auto& [run, batch] : runs) {
    std::string body;
    std::uint32_t count = 0;
    const auto write = [&]() -> Result<void> {
      if (count == 0) return {};
      const std::string_view all = body;
      PAWL_TRY(journal->append({&all, 1}, count));
      body.clear();
      count = 0;
      return {};
    };
    for (const auto& [sequence, save] : by_save(run, batch)) {
      if (body.size() + save.body.size() > options_.batch_bytes_max) PAWL_TRY(write());
      body += save.body;
      count += save.count;
    }
    PAWL_TRY(write());
  }
  return {};
}

/// A run whose files can't be written would only fill the journals.
Result<void> FilesystemStore::refuse_stuck(const std::string& run) {
  if (!has_stuck_) return {};
  const Lock lock(dirty_mutex_);
  const auto found = stuck_.find(run);
  return found == stuck_.end() ? Result<void>() : std::unexpected(found->second);
}

void FilesystemStore::forget_stuck(const std::string& run) {
  const Lock lock(dirty_mutex_);
  stuck_.erase(run);
}

/// Settles the full segments together, then recycles them, oldest first.
Result<void> FilesystemStore::settle_full(JournalWriter& journal) {
  const std::vector<FullSegment> segments = journal.full_segments();
  if (segments.empty()) return {};
  PAWL_TRY(settle(journal, segments));
  for (const FullSegment& segment : segments) {
    PAWL_TRY(journal.recycle(segment));
    const Lock lock(dirty_mutex_);
    ++recycled_;
    room_.notify_all();
  }
  return {};
}

Result<void> FilesystemStore::settle_together(std::vector<std::unique_ptr<JournalWriter>>& journals) {
  std::vector<std::unique_ptr<SegmentView>> views;
  RunBatches batches;
  for (const auto& journal : journals) {
    std::vector<FullSegment> segments = journal->full_segments();
    segments.push_back(journal->active());
    for (const FullSegment& segment : segments) {
      PAWL_TRY_ASSIGN(auto view, journal->read(segment));
      PAWL_TRY(collect(*view, batches));
      views.push_back(std::move(view));
    }
  }
  if (batches.empty()) return {};
  PAWL_TRY_ASSIGN(const auto snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
  RunBatches ordered;
  RunBatches stuck;
  for (const auto& [run, batch] : batches) {
    // The records of a run may be in several of these journals, in any order.
    const RunBatch own = in_order(batch);
    RunBatch all = with_earlier(*snapshot, 0, run, own).batch;
    PAWL_TRY(publish_or_keep(run, all, own, stuck));
    if (!stuck.contains(run)) ordered.emplace(run, std::move(all));
  }
  PAWL_TRY(publisher_.sync());
  PAWL_TRY(keep_journaled(journals.front()->place(), stuck));
  return update_catalogue(ordered);
}

Result<void> FilesystemStore::merge_journals(const JournalWriter::Place& place) {
  PAWL_TRY_ASSIGN(auto numbers, list_journals(files_));
  if (numbers.size() <= options_.journals_max) return {};
  std::vector<std::uint64_t> used;
  for (const std::uint64_t number : numbers) {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::journal(number)));
    if (std::ranges::any_of(entries, [](const FolderEntry& entry) { return entry.name.ends_with(".log"); }))
      used.push_back(number);
  }
  if (used.size() <= options_.journals_max) return {};
  // While many processes write, journals that are free for a moment are needed again soon.
  std::size_t held = 0;
  for (const std::uint64_t number : used) {
    const auto owner = files_.open(layout::journal_owner(number), OpenMode::read);
    if (!owner) continue;
    PAWL_TRY_ASSIGN(const bool locked, (*owner)->locked_elsewhere(layout::kWriterByte));
    held += locked ? 1U : 0U;
  }
  const std::size_t kept = std::max<std::size_t>(options_.journals_max, 2 * held);
  if (used.size() <= kept) return {};
  PAWL_TRY_ASSIGN(const auto lock, files_.open(layout::kMergeLock, OpenMode::create));
  PAWL_TRY_ASSIGN(const bool locked, lock->try_lock(layout::kWriterByte));
  if (!locked) return {};
  const std::int64_t end_us = environment_.clock->monotonic_us() + options_.merge_us;
  std::vector<std::unique_ptr<JournalWriter>> taken;
  for (auto number = used.rbegin(); number != used.rend(); ++number) {
    if (used.size() - taken.size() <= kept || environment_.clock->monotonic_us() >= end_us) break;
    if (*number == journal_->number()) continue;
    auto journal = JournalWriter::take_over(place, *number);
    if (journal && *journal) taken.push_back(std::move(*journal));  // a damaged one is left to fsck
  }
  PAWL_TRY(settle_together(taken));
  for (const auto& journal : taken) PAWL_TRY(journal->discard());
  return {};
}

Result<void> FilesystemStore::settle_everything(JournalWriter& journal) {
  // The full segments first: recycling them makes room for the next active one.
  PAWL_TRY(settle_full(journal));
  PAWL_TRY_ASSIGN(const bool retired, journal.retire_active());
  if (retired) return settle_full(journal);
  PAWL_TRY(settle(journal, {journal.active()}));
  return journal.restart_active();
}

Result<void> FilesystemStore::settle_all() {
  PAWL_TRY(process_.refuse_copy());
  if (!journal_) return {};
  PAWL_TRY(committer_->flush());
  const Lock lock(publish_mutex_);
  return settle_everything(*journal_);
}

Result<void> FilesystemStore::publish_lazily() {
  PAWL_TRY(process_.refuse_copy());
  if (!journal_) return {};
  const Lock lock(publish_mutex_);
  return publish_dirty(Publish::lazy);
}

Result<void> FilesystemStore::publish_dirty(Publish mode) {
  std::set<std::string> dirty;
  {
    const Lock lock(dirty_mutex_);
    dirty.swap(dirty_);
  }
  // Roots are for verification. If they were written during saves, they would only be replaced soon after.
  if (mode == Publish::closing) {
    dirty.merge(unrooted_);
  } else {
    unrooted_.insert(dirty.begin(), dirty.end());
  }
  if (dirty.empty()) return {};
  const bool was_behind = std::exchange(behind_, true);
  std::vector<FullSegment> segments = journal_->full_segments();
  segments.push_back(journal_->active());
  std::vector<std::unique_ptr<SegmentView>> views;
  RunBatches batches;
  for (const FullSegment& segment : segments) {
    PAWL_TRY_ASSIGN(auto view, journal_->read(segment));
    PAWL_TRY(collect(*view, batches));
    views.push_back(std::move(view));
  }
  bool all = true;
  for (const std::string& run : dirty) {
    const auto found = batches.find(run);
    if (found == batches.end()) continue;
    const auto published = publisher_.publish(run, found->second, mode);
    if (!published && !is_confined(published.error())) return std::unexpected(published.error());
    all = all && published && *published;
  }
  behind_ = was_behind || !all;
  return {};
}

}  // namespace pawl
