// FilesystemStore: pruning.
#include <algorithm>

#include "adapters/filesystem/filesystem_store.hpp"
#include "base/thread_name.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_pruner.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kBetweenPrunesUs = 200'000;

}  // namespace

Result<std::string> FilesystemStore::prune_stamp(const std::string& run,
                                                 const std::shared_ptr<JournalSnapshot>& snapshot) {
  std::vector<std::string> runs;
  if (!run.empty()) {
    auto lineage = RunReader(files_, keys_, run, snapshot).lineage();
    runs = lineage ? std::move(*lineage) : std::vector<std::string>{run};
  } else {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
    for (const FolderEntry& entry : entries) runs.push_back(entry.name);
    std::ranges::sort(runs);
  }
  std::string stamp;
  for (const std::string& one : runs) {
    const auto list = files_.read_file(layout::pruned(one));
    stamp += list ? *list : "-";
    const auto aside = files_.read_file(layout::aside(one));
    stamp += aside ? *aside : "-";
    PAWL_TRY_ASSIGN(auto entries, files_.list(layout::checkpoints(one)));
    std::ranges::sort(entries, {}, &FolderEntry::name);
    for (const FolderEntry& entry : entries) stamp += entry.name + '\n';
  }
  return stamp;
}

Result<PruneReport> FilesystemStore::prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) {
  PAWL_TRY(process_.refuse_copy());
  return prune_until(run, settings, mode, {});
}

Result<PruneReport> FilesystemStore::prune_until(const RunId& run, const RetentionSettings& settings, PruneMode mode,
                                                 const std::function<bool()>& stop) {
  bool newest_is_left = false;
  const auto pass = [&](std::shared_ptr<JournalSnapshot> snapshot, RunPruner::Newest newest) -> Result<PruneReport> {
    RunPruner pruner({&files_, &keys_, environment_, options_, [this] { return snapshot_of_everything(); }, stop},
                     run.text(), std::move(snapshot), newest);
    PAWL_TRY_ASSIGN(PruneReport report, pruner.prune(settings, mode));
    PAWL_TRY_ASSIGN(newest_is_left, pruner.newest_has_dropped());
    return report;
  };
  if (mode == PruneMode::dry_run) {
    PAWL_TRY_ASSIGN(const bool open, has_writer(run));
    const auto newest = open ? RunPruner::Newest::stays : RunPruner::Newest::is_closed;
    return read_consistently(run.text(), [&](auto snapshot) { return pass(std::move(snapshot), newest); });
  }
  PAWL_TRY_ASSIGN(PruneReport report, read_consistently(run.text(), [&](auto snapshot) {
                    return pass(std::move(snapshot), RunPruner::Newest::stays);
                  }));
  if (!newest_is_left || (stop && stop())) return report;
  PAWL_TRY_ASSIGN(const auto lock, files_.open(layout::run_lock(run.text()), OpenMode::create));
  // A writer that comes now waits for this byte. It is taken first and released last.
  PAWL_TRY_ASSIGN(const bool alone, lock->try_lock(layout::kClosingByte));
  if (!alone) return report;
  PAWL_TRY_ASSIGN(const bool closed, lock->try_lock(layout::kWriterByte));
  if (!closed) return report;
  PAWL_TRY_ASSIGN(auto snapshot, snapshot_of_everything());
  const auto rest = pass(std::move(snapshot), RunPruner::Newest::is_closed);
  PAWL_TRY(lock->unlock(layout::kWriterByte));
  if (!rest) return std::unexpected(rest.error());
  report.freed_bytes += rest->freed_bytes;
  return report;
}

Result<bool> FilesystemStore::has_writer(const RunId& run) {
  const auto lock = files_.open(layout::run_lock(run.text()), OpenMode::read);
  if (!lock) return false;
  return (*lock)->locked_elsewhere(layout::kWriterByte);
}

/// Always takes a new snapshot: a batch that a killed writer left after the watermark does not invalidate the cached
/// one, and may refer to a blob.
Result<std::shared_ptr<JournalSnapshot>> FilesystemStore::snapshot_of_everything() {
  PAWL_TRY_ASSIGN(auto fresh, JournalSnapshot::take(files_, environment_.owner.boot_id));
  if (!confirm_tails_of_the_dead(*fresh)) return fresh;
  return JournalSnapshot::take(files_, environment_.owner.boot_id);
}

void FilesystemStore::mark_grown(const std::string& run) {
  if (options_.retention.keeps_everything()) return;
  const Lock lock(dirty_mutex_);
  grown_.insert(run);
  if (pruning_waits_) wake_pruning_.notify_one();
}

void FilesystemStore::run_pruning() {
  name_this_thread("pawl-prune");
  const auto stop = [this] {
    const Lock lock(dirty_mutex_);
    return stopping_;
  };
  while (!stop()) {
    {
      Lock lock(dirty_mutex_);
      pruning_waits_ = true;
      if (grown_.empty() && !stopping_) wake_pruning_.wait(lock);
      pruning_waits_ = false;
    }
    prune_grown(stop);
    // Syncs of pruning and of saves wait for each other, so pruning pauses to delay only a few saves.
    Lock lock(dirty_mutex_);
    if (!stopping_) wake_pruning_.wait_us(lock, kBetweenPrunesUs);
  }
}

/// Ignores errors: the prune is repeated when the run has grown further, and an explicit prune reports them.
void FilesystemStore::prune_grown(const std::function<bool()>& stop) {
  std::set<std::string> grown;
  {
    const Lock lock(dirty_mutex_);
    grown.swap(grown_);
  }
  for (const std::string& run : grown) {
    if (stop()) return;
    if (const auto id = RunId::parse(run))
      static_cast<void>(prune_until(*id, options_.retention, PruneMode::remove, stop));
  }
}

/// Prunes every run by the settings. On a full disk, pruning one run may fail because it must write first; space freed
/// by another run can help.
void FilesystemStore::make_room() {
  const auto entries = files_.list(layout::kRuns);
  if (!entries) return;
  for (const FolderEntry& entry : *entries) {
    if (const auto id = RunId::parse(entry.name)) static_cast<void>(prune(*id, options_.retention, PruneMode::remove));
  }
}

Result<void> FilesystemStore::with_room(const std::function<Result<void>()>& write) {
  const RetryPolicy& policy = options_.disk_full_policy;
  for (std::uint32_t attempt = 1;; ++attempt) {
    auto written = write();
    if (written || written.error().code != Code::disk_full) return written;
    if (options_.retention.keeps_everything() || !policy.allows_after(attempt)) return written;
    make_room();
    const double fraction = static_cast<double>(environment_.random->next() >> 11U) * 0x1.0p-53;
    environment_.clock->sleep_us(static_cast<std::int64_t>(policy.delay_ms(attempt, fraction)) * 1000);
  }
}

}  // namespace pawl
