// FilesystemStore: pruning.
#include <algorithm>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/run_pruner.hpp"
#include "adapters/filesystem/trail_archiver.hpp"
#include "adapters/filesystem/whole_file.hpp"
#include "base/confined.hpp"
#include "base/thread_name.hpp"
#include "codec/object_members.hpp"
#include "codec/sealed_text.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kBetweenPrunesUs = 200'000;
constexpr std::int64_t kClockSlackUs = 3'600'000'000;  // clocks are set by seconds all the time
constexpr std::uint64_t kClockNoteMax = 4096;

}  // namespace

Result<std::string> FilesystemStore::prune_stamp(const std::string& run,
                                                 const std::shared_ptr<JournalSnapshot>& snapshot) {
  std::vector<std::string> runs;
  if (!run.empty()) {
    auto lineage = RunReader(files_, keys_, run, snapshot).lineage();
    runs = lineage ? std::move(*lineage) : std::vector<std::string>{run};
  } else {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
    for (const FolderEntry& entry : entries) {
      if (entry.is_folder) runs.push_back(entry.name);
    }
    std::ranges::sort(runs);
  }
  std::string stamp;
  for (const std::string& one : runs) {
    const auto list = files_.read_file(layout::pruned(one));
    stamp += list ? *list : "-";
    const auto aside = files_.read_file(layout::aside(one));
    stamp += aside ? *aside : "-";
    auto entries = files_.list(layout::checkpoints(one));
    if (!entries && !is_confined(entries.error())) return std::unexpected(entries.error());
    if (!entries) continue;
    std::ranges::sort(*entries, {}, &FolderEntry::name);
    for (const FolderEntry& entry : *entries) stamp += entry.name + '\n';
  }
  return stamp;
}

Result<PruneReport> FilesystemStore::prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) {
  PAWL_TRY(process_.refuse_copy());
  if (mode == PruneMode::dry_run) return prune_until(run, settings, mode, {});
  auto report = with_reserve([&] { return prune_until(run, settings, mode, {}); });
  if (report) static_cast<void>(archive_entries(run.text()));
  return report;
}

/// The audit trail of a pruned run would otherwise soon be larger than the run. If this fails, the next prune does it.
Result<void> FilesystemStore::archive_entries(const std::string& run) {
  PAWL_TRY_ASSIGN(const bool pruned, files_.exists(layout::pruned(run)));
  if (!pruned) return {};
  {
    const Lock lock(dirty_mutex_);
    pruned_runs_.insert(run);
  }
  PAWL_TRY_ASSIGN(const auto lock, hold_pruning(run));
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_of_everything());
  PAWL_TRY_ASSIGN(const bool erased, files_.exists(layout::erased(run)));
  if (erased || snapshot->doubt(run)) return {};
  TrailLimits limits{.keep = options_.trail_lines_kept, .at_least = options_.trail_lines_archived_min};
  if (const RunRecords* const records = snapshot->find(run); records != nullptr && !records->audit.empty())
    limits.first_in_journal = records->audit.begin()->first;
  return archive_trail(files_, run, limits, *lock, *environment_.clock);
}

namespace {

/// A save that failed may have left a complete batch. The next process that opens the journal confirms it, and then its
/// checkpoint needs the group that it was saved in.
Result<bool> has_unconfirmed(const JournalSnapshot& snapshot, const std::string& run) {
  for (const JournalView& journal : snapshot.journals()) {
    if (!journal.has_unconfirmed()) continue;
    PAWL_TRY_ASSIGN(const bool mentioned, mentions_unconfirmed(journal, run));
    if (mentioned) return true;
  }
  return false;
}

}  // namespace

/// Without a usable catalogue, the notes of the forks must do.
std::vector<Sequence> FilesystemStore::known_fork_points(const Uuid& run) const {
  std::vector<Sequence> points;
  if (!has_catalogue() || !catalogue_.usable().value_or(false)) return points;
  const auto forks = catalogue_.forks_of(run);
  if (!forks) return points;
  for (const RunInfo& fork : *forks) {
    if (fork.status != Status::erased) points.push_back(fork.fork_of_sequence);
  }
  return points;
}

Result<PruneReport> FilesystemStore::prune_until(const RunId& run, const RetentionSettings& settings, PruneMode mode,
                                                 const std::function<bool()>& stop) {
  bool newest_is_left = false;
  const Timestamp now = settings.keep_days ? believable_now() : environment_.clock->now();
  const auto pass = [&](std::shared_ptr<JournalSnapshot> snapshot, RunPruner::Newest newest) -> Result<PruneReport> {
    RunPruner pruner({&files_, &keys_, environment_, options_, [this] { return snapshot_of_everything(); }, stop, now,
                      [this](const Uuid& uuid) { return known_fork_points(uuid); }},
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
  PAWL_TRY_ASSIGN(bool closed, lock_closed_run(*lock));
  if (!closed && !stop) {
    // Whoever holds the run looks for this file after it has released the run. So either it finds the file, or the
    // run is free now.
    PAWL_TRY(files_.open(layout::prune_at_close(run.text()), OpenMode::create));
    PAWL_TRY_ASSIGN(closed, lock_closed_run(*lock));
    if (closed) PAWL_TRY(files_.remove(layout::prune_at_close(run.text())));
  }
  if (!closed) {
    PAWL_TRY_ASSIGN(const std::string owner, lock->read_at(0, kWatermarkOffset));
    report.held_by = describe_owner(owner);
    return report;
  }
  PAWL_TRY_ASSIGN(auto snapshot, snapshot_of_everything());
  PAWL_TRY_ASSIGN(const bool may_grow, has_unconfirmed(*snapshot, run.text()));
  const auto rest = may_grow ? PruneReport() : pass(std::move(snapshot), RunPruner::Newest::is_closed);
  PAWL_TRY(lock->unlock(layout::kWriterByte));
  if (!rest) return std::unexpected(rest.error());
  report.freed_bytes += rest->freed_bytes;
  return report;
}

/// Returns false if a process has the run open. A writer that comes now waits for the closing byte, which is taken
/// first and released last, with the file.
Result<bool> FilesystemStore::lock_closed_run(File& lock) {
  PAWL_TRY_ASSIGN(const bool alone, lock.try_lock(layout::kClosingByte));
  if (!alone) return false;
  PAWL_TRY_ASSIGN(const bool closed, lock.try_lock(layout::kWriterByte));
  if (!closed) PAWL_TRY(lock.unlock(layout::kClosingByte));
  return closed;
}

Result<bool> FilesystemStore::has_writer(const RunId& run) {
  const auto lock = files_.open(layout::run_lock(run.text()), OpenMode::read);
  if (!lock) return false;
  return (*lock)->locked_elsewhere(layout::kWriterByte);
}

/// Returns the wall clock, but at most `then` plus what has passed since and some slack.
Timestamp FilesystemStore::limited_now(Timestamp now, Timestamp then, std::int64_t then_since_boot_us) const {
  const std::int64_t passed_us = environment_.clock->since_boot_us() - then_since_boot_us;
  if (passed_us >= 0) now.us = std::min(now.us, then.us + passed_us + kClockSlackUs);
  return now;
}

/// The wall clock may have jumped ahead, which must not make young checkpoints old. The clock that counts since the
/// boot says how much time has really passed since this object was created, and since the first process of this boot
/// noted both clocks. The earliest of the three times counts (docs/adr/0023-age-of-checkpoints.md).
Timestamp FilesystemStore::believable_now() {
  return limited_now(believable_by_note(), opened_at_, opened_since_boot_us_);
}

Timestamp FilesystemStore::believable_by_note() {
  Timestamp now = environment_.clock->now();
  const auto text = files_.read_file(layout::kClockNote, kClockNoteMax);
  const auto body = text ? unseal(without_newline(*text)) : std::nullopt;
  const auto members = body ? ObjectMembers::parse(body->substr(1)) : fail(Code::store_damaged, "no note");
  const auto at = members ? Timestamp::parse(members->text("at")) : std::nullopt;
  if (at && members->text("boot") == environment_.owner.boot_id)
    return limited_now(now, *at, static_cast<std::int64_t>(members->number("monotonic_us")));
  // A store without any note is of an older version, or a restored one. Nothing shows whether its clock has jumped
  // since the last save.
  if (!at && !is_new_) {
    if (const auto newest = newest_save()) now.us = std::min(now.us, newest->us + kClockSlackUs);
  }
  std::string note = fmt::format(R"({{"boot":{},"monotonic_us":{},"at":"{}")", escape_json(environment_.owner.boot_id),
                                 environment_.clock->since_boot_us(), now.text());
  seal(note);
  // Best effort, and not synced: after a power loss it is worthless.
  static_cast<void>(write_whole_file(files_, std::string(layout::kClockNote), note + "\n", std::nullopt));
  return now;
}

std::optional<Timestamp> FilesystemStore::newest_save() {
  const auto snapshot = JournalSnapshot::take(files_, environment_.owner.boot_id);
  if (!snapshot) return std::nullopt;
  constexpr std::size_t kRunsLookedAt = 100;  // damaged runs may come first
  const auto runs = list_runs(*snapshot, kRunsLookedAt, Damaged::is_listed);
  if (!runs || runs->empty()) return std::nullopt;
  return std::ranges::max(*runs, {}, &RunInfo::updated).updated;
}

/// Always takes a new snapshot: a batch that a killed writer left after the watermark does not invalidate the cached
/// one, and may refer to a blob.
Result<std::shared_ptr<JournalSnapshot>> FilesystemStore::snapshot_of_everything() {
  PAWL_TRY_ASSIGN(auto fresh, JournalSnapshot::take(files_, environment_.owner.boot_id));
  if (!confirm_tails_of_the_dead(*fresh)) return fresh;
  return JournalSnapshot::take(files_, environment_.owner.boot_id);
}

RetentionSettings FilesystemStore::retention_of(const std::string& run) {
  RetentionSettings settings = options_.retention;
  if (!has_own_keep_) return settings;
  const Lock lock(dirty_mutex_);
  if (const auto own = own_keep_.find(run); own != own_keep_.end()) {
    settings.keep = own->second;
    settings.keep_stage_ends = true;
  }
  return settings;
}

void FilesystemStore::keep_newest(const RunId& run, std::uint64_t count) {
  const Lock lock(dirty_mutex_);
  own_keep_[run.text()] = count;
  has_own_keep_ = true;
  start_pruning();
}

void FilesystemStore::start_pruning() {
  if (options_.background != Background::thread || pruning_.joinable() || stopping_) return;
  pruning_ = std::thread([this] { run_pruning(); });
}

void FilesystemStore::mark_saved(const std::string& run, Sequence latest) {
  if (!options_.retention.keep && !has_own_keep_) return;
  const auto keep = retention_of(run).keep;
  if (keep && latest.value > *keep && latest.value % saves_between_prunes(*keep) == 0) mark_grown(run);
}

/// A process that stays prunes what is left when it closes the run. A single save does not.
void FilesystemStore::mark_closed(const std::string& run, Sequence latest) {
  release_pruned(run);
  if (options_.background != Background::thread || !latest) return;
  const auto keep = retention_of(run).keep;
  if (keep && latest.value > *keep) mark_grown(run);
}

/// Ignores errors: the next prune of the run does the same.
void FilesystemStore::release_pruned(const std::string& run) {
  const std::string note = layout::prune_at_close(run);
  if (!files_.exists(note).value_or(false) || !files_.remove(note)) return;
  if (const auto id = RunId::parse(run)) static_cast<void>(prune_until(*id, {}, PruneMode::remove, {}));
}

void FilesystemStore::mark_grown(const std::string& run) {
  if (retention_of(run).keeps_everything()) return;
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
    const auto id = RunId::parse(run);
    if (!id) continue;
    const auto report = prune_until(*id, retention_of(run), PruneMode::remove, stop);
    if (!report || report->dropped.empty()) continue;
    has_pruned_ = true;
    static_cast<void>(archive_entries(run));
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

bool FilesystemStore::give_up_reserve() {
  const auto exists = files_.exists(layout::kReserve);
  return exists && *exists && files_.remove(layout::kReserve).has_value();
}

/// Best effort: without it, a full disk is only harder to get out of. Its bytes are random, so that a file system that
/// compresses really stores them.
void FilesystemStore::make_reserve() {
  if (options_.reserve_bytes == 0) return;
  const auto exists = files_.exists(layout::kReserve);
  if (!exists || *exists) return;
  std::string bytes;
  while (bytes.size() < options_.reserve_bytes) {
    const std::uint64_t word = environment_.random->next();
    bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  static_cast<void>(write_whole_file(files_, std::string(layout::kReserve), bytes, std::nullopt));
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
