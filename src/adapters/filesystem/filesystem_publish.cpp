// FilesystemStore: from the journal to the files, and the recycling of segments.
#include <algorithm>

#include "adapters/filesystem/filesystem_store.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kIdlePublishUs = 1'000'000;
constexpr int kDrainDepthMax = 8;

}  // namespace

void FilesystemStore::start_background() {
  background_ = std::thread([this] { run_background(); });
}

void FilesystemStore::run_background() {
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
      if (done) {
        const auto settled = settle_full(*journal_, 0);
        if (!settled) done = std::unexpected(settled.error());
      }
      if (done && idle) done = publish_dirty();
    }
    lock.lock();
    publish_error_.reset();
    if (!done) publish_error_ = done.error();
    room_.notify_all();
  }
}

/// Settles and recycles the full segments, oldest first. False: other journals hold earlier records of the
/// same runs, and their owners are at work.
Result<bool> FilesystemStore::settle_full(JournalWriter& journal, int depth) {
  for (const FullSegment& segment : journal.full_segments()) {
    PAWL_TRY_ASSIGN(const auto view, journal.read(segment));
    RunBatches batches;
    PAWL_TRY(collect(*view, batches));
    std::set<std::uint64_t> blockers;
    PAWL_TRY_ASSIGN(const bool waits, blocked(journal, batches, blockers));
    if (waits) {
      if (depth >= kDrainDepthMax) return false;
      for (const std::uint64_t blocker : std::set(blockers)) PAWL_TRY(drain(blocker, depth + 1));
      PAWL_TRY_ASSIGN(const bool still_waits, blocked(journal, batches, blockers));
      if (still_waits) return false;
    }
    PAWL_TRY(settle_segment(journal, segment, batches));
  }
  return true;
}

Result<void> FilesystemStore::settle_segment(JournalWriter& journal, const FullSegment& segment, const RunBatches& batches) {
  for (const auto& [run, batch] : batches) PAWL_TRY(publisher_.publish(run, batch, Publish::settled));
  PAWL_TRY(publisher_.sync());
  PAWL_TRY(update_catalogue(batches));
  PAWL_TRY(journal.recycle(segment));
  const Lock lock(dirty_mutex_);
  ++recycled_;
  room_.notify_all();
  return {};
}

/// Whether a run in `batches` has earlier records in another journal. `blockers`: which journals.
Result<bool> FilesystemStore::blocked(const JournalWriter& journal, const RunBatches& batches, std::set<std::uint64_t>& blockers) {
  blockers.clear();
  const auto is_clear = [&](const auto& entry) { return clear_.contains(entry.first); };
  if (std::ranges::all_of(batches, is_clear)) return false;
  PAWL_TRY_ASSIGN(const auto snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
  for (const JournalView& view : snapshot->journals()) {
    if (view.number == journal.number()) continue;
    if (view.damage) return std::unexpected(*view.damage);
    for (const auto& segment : view.segments) {
      RunBatches others;
      PAWL_TRY(collect(*segment, others));
      for (const auto& [run, other] : others) {
        const auto own = batches.find(run);
        if (own == batches.end() || other.checkpoints.empty() || own->second.checkpoints.empty()) continue;
        if (other.checkpoints.front().sequence < own->second.checkpoints.front().sequence) blockers.insert(view.number);
      }
    }
  }
  if (!blockers.empty()) return true;
  PAWL_TRY_ASSIGN(const bool valid, snapshot->still_valid(files_));
  if (valid) {
    for (const auto& entry : batches) clear_.insert(entry.first);
  }
  return !valid;
}

/// Settles everything in a journal that nobody holds. False: someone does.
Result<bool> FilesystemStore::drain(std::uint64_t journal_number, int depth) {
  PAWL_TRY_ASSIGN(const auto journal, JournalWriter::take_over(place(), journal_number));
  if (!journal) return false;
  PAWL_TRY(journal->retire_active());
  return settle_full(*journal, depth);
}

Result<void> FilesystemStore::settle_all() {
  if (!journal_) return {};
  PAWL_TRY(committer_->flush());
  const Lock lock(publish_mutex_);
  PAWL_TRY(journal_->retire_active());
  PAWL_TRY_ASSIGN(const bool settled, settle_full(*journal_, 0));
  if (!settled) return fail(Code::store_busy, "another process holds what must be published first");
  return {};
}

Result<void> FilesystemStore::publish_lazily() {
  if (!journal_) return {};
  const Lock lock(publish_mutex_);
  return publish_dirty();
}

Result<void> FilesystemStore::publish_dirty() {
  std::set<std::string> dirty;
  {
    const Lock lock(dirty_mutex_);
    dirty.swap(dirty_);
  }
  if (dirty.empty()) return {};
  std::vector<FullSegment> segments = journal_->full_segments();
  segments.push_back(journal_->active());
  std::vector<std::unique_ptr<SegmentView>> views;
  RunBatches batches;
  for (const FullSegment& segment : segments) {
    PAWL_TRY_ASSIGN(auto view, journal_->read(segment));
    PAWL_TRY(collect(*view, batches));
    views.push_back(std::move(view));
  }
  for (const std::string& run : dirty) {
    const auto found = batches.find(run);
    if (found != batches.end()) PAWL_TRY(publisher_.publish(run, found->second, Publish::lazy));
  }
  return {};
}

}  // namespace pawl
