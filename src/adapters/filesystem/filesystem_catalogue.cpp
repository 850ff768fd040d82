// FilesystemStore: queries over all runs, and the catalogue that makes them fast.
#include <algorithm>
#include <ranges>
#include <span>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "base/confined.hpp"
#include "domain/erasure.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kRebuildWaitUs = 60'000'000;
constexpr std::size_t kRebuildStep = 1000;
constexpr std::size_t kCheckedRowsMax = 1000;  // longer lists show the catalogue's rows without reading each run.json

CatalogueSave save_of(const std::string& run, const CheckpointInfo& info, std::string fingerprint) {
  return {run, info.caller_id, info.sequence, info.id, info.checksum, info.kind, std::move(fingerprint)};
}

/// The most recently saved runs in the journals, by the time in their records. Parses nothing else.
std::vector<std::string> newest_in_journals(const JournalSnapshot& snapshot, std::size_t limit) {
  constexpr std::string_view kTimeKey = "\"at\":\"";
  constexpr std::size_t kTimeBytes = 27;
  std::vector<std::pair<std::string_view, const std::string*>> found;
  for (const auto& [run, records] : snapshot.runs()) {
    if (records.checkpoints.empty()) continue;
    const std::string_view text = records.checkpoints.rbegin()->second.record.text;
    const auto key = text.find(kTimeKey);
    found.emplace_back(
        key == std::string_view::npos ? text.substr(0, 0) : text.substr(key + kTimeKey.size(), kTimeBytes), &run);
  }
  const std::size_t count = std::min(limit, found.size());
  std::ranges::partial_sort(
      found, found.begin() + static_cast<std::ptrdiff_t>(count),
      [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : *a.second < *b.second; });
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < count; ++i) runs.push_back(*found[i].second);
  return runs;
}

/// Adds the rows of a run. A damaged run is listed as damaged. If its saves can't be read, those that the old catalogue
/// has are kept, with a note that there may be more. Fails only on errors that say nothing about the run, such as too
/// many open files.
Result<void> add_rows(RunReader reader, const Catalogue& old, CatalogueUpdate& update) {
  auto info = reader.listing();
  if (!info && (info.error().code == Code::run_not_found || is_gone(info.error().code))) return {};
  if (!info && !is_confined(info.error())) return std::unexpected(info.error());
  if (info) update.runs.push_back(std::move(*info));
  const auto saves = reader.saves_with_caller_id();
  if (!saves && is_gone(saves.error().code)) return {};
  if (!saves && is_confined(saves.error())) {
    const std::string run(reader.run());
    if (auto kept = old.saves_of(run)) {
      for (CatalogueSave& save : *kept) update.saves.push_back(std::move(save));
    }
    update.saves.emplace_back().run = run;
    return {};
  }
  if (!saves) return std::unexpected(saves.error());
  for (const auto& [saved, fingerprint] : *saves)
    update.saves.push_back(save_of(std::string(reader.run()), saved, fingerprint));
  return {};
}

/// A cheap test that needs no decoding: most saves have no caller's id. May be wrong about a state with such a member.
/// Labels come before the payload, and records without them are short there.
bool may_have_caller(std::string_view record) {
  const std::size_t size = record.find("\"size\":");
  return record.substr(0, size).find("\"caller\":") != std::string_view::npos;
}

/// Adds the row of a run whose last checkpoint is among these, and those of its saves.
Result<void> add_rows(const std::string& run, const RunRecord& record, std::span<const JournalRecord> checkpoints,
                      CatalogueUpdate& update) {
  for (const JournalRecord& checkpoint : checkpoints) {
    const bool last = &checkpoint == &checkpoints.back();
    if (!last && !may_have_caller(checkpoint.text)) continue;
    PAWL_TRY_ASSIGN(const RecordView view, decode_checkpoint(without_newline(checkpoint.text), seal_seed(record.uuid)));
    PAWL_TRY_ASSIGN(const CheckpointInfo saved, decode_info(view));
    if (!saved.caller_id.empty()) update.saves.push_back(save_of(run, saved, decode_fingerprint(view)));
    if (last) {
      PAWL_TRY_ASSIGN(RunInfo info, run_info(run, record, saved));
      update.runs.push_back(std::move(info));
    }
  }
  return {};
}

/// Adds the rows of a run of which the journals contain everything, without reading its checkpoints from the files.
/// Returns false for any other run.
Result<bool> add_journal_rows(RunReader& reader, const JournalSnapshot& snapshot, CatalogueUpdate& update) {
  const std::string run(reader.name());
  const RunRecords* const records = snapshot.find(run);
  if (records == nullptr || !records->run || records->checkpoints.empty() || snapshot.doubt(run)) return false;
  const Sequence last{records->checkpoints.rbegin()->first};
  if (last.value != records->checkpoints.size()) return false;  // something is missing between 1 and the last one
  const auto record = reader.run_record();
  if (!record || record->fork_of_run) return false;
  const auto latest = reader.latest();  // another process may have settled more
  if (!latest || *latest != last) return false;
  const auto list = reader.pruned();
  if (!list || !(*list)->dropped.empty() || !(*list)->closed.empty()) return false;
  CatalogueUpdate rows;
  if (!add_rows(run, *record, whole_batch(*records).checkpoints, rows)) return false;
  std::ranges::move(rows.runs, std::back_inserter(update.runs));
  std::ranges::move(rows.saves, std::back_inserter(update.saves));
  return true;
}

/// Returns whether the catalogue must be rebuilt: a page or row is damaged, or somebody removed the file.
bool is_lost_catalogue(const Error& error) {
  return error.code == Code::store_damaged || error.code == Code::input_unreadable;
}

}  // namespace

Result<std::unique_ptr<File>> FilesystemStore::lock_catalogue() {
  PAWL_TRY_ASSIGN(auto lock, files_.open(layout::kCatalogueLock, OpenMode::create));
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, lock->try_lock(layout::kWriterByte));
    if (locked) return lock;
    if (waited_us >= kRebuildWaitUs)
      return fail(Code::store_busy, "timed out waiting for another process that is rebuilding the catalogue");
    environment_.clock->sleep_us(kLockStepUs);
  }
}

/// Called after the files are synced and before the journal discards the records. The catalogue and the journal
/// together therefore always know everything.
Result<void> FilesystemStore::update_catalogue(const RunBatches& batches) {
  if (!has_catalogue()) return {};
  PAWL_TRY_ASSIGN(const auto lock, lock_catalogue());
  PAWL_TRY_ASSIGN(const bool usable, catalogue_.usable());
  if (!usable) return rebuild_catalogue_locked();
  const auto nothing = std::make_shared<JournalSnapshot>();
  CatalogueUpdate update;
  for (const auto& [run, batch] : batches) {
    const auto described = [&]() -> Result<RunRecord> {
      if (!batch.run) return RunReader(files_, keys_, run, nothing).run_record();
      PAWL_TRY(refuse_erased(files_, run));
      return decode_run(*batch.run);
    }();
    if (!described && is_gone(described.error().code)) continue;  // its row, if any, already says so
    if (!described) return std::unexpected(described.error());
    PAWL_TRY(add_rows(run, *described, batch.checkpoints, update));
  }
  auto recorded = catalogue_.record(update);
  if (!recorded && is_lost_catalogue(recorded.error())) return rebuild_catalogue_locked();
  return recorded;
}

namespace {

Error missing_files(const std::string& run) {
  return Error{Code::store_damaged,
               fmt::format("the files of run '{}' are missing, but the catalogue lists it", run),
               layout::run(run),
               "restore the folder from a backup; if it was removed on purpose, delete catalogue.db",
               0,
               Advice::check_store,
               {.run = run}};
}

Error files_of_other_run(const std::string& run) {
  return Error{Code::store_damaged,
               fmt::format("the files of run '{}' belong to another run with this id than the catalogue lists", run),
               layout::run(run),
               "restore the folder from a backup; to accept these files, delete catalogue.db",
               0,
               Advice::check_store,
               {.run = run}};
}

}  // namespace

/// A lost run is not begun again: its completed steps would run again. A catalogue that can't be read says nothing.
Result<void> FilesystemStore::refuse_missing(const std::string& run) {
  if (!has_catalogue()) return {};
  const auto row = catalogue_.find_run(run);
  if (!row || !*row || (*row)->status == Status::erased) return {};
  PAWL_TRY_ASSIGN(const auto going, runs_being_erased());
  if (going.contains(run)) return {};
  return fail(missing_files(run));
}

Result<void> FilesystemStore::list_if_missing(const std::string& run) {
  if (!has_catalogue()) return {};
  const auto row = catalogue_.find_run(run);
  return row && !*row ? rebuild_catalogue() : Result<void>();
}

/// Files that were replaced by an older copy are not continued: numbers that were acknowledged would be used again.
Result<void> FilesystemStore::refuse_older(const RunId& run, const RunHead& head) {
  if (!has_catalogue()) return {};
  const auto row = catalogue_.find_run(run.text());
  if (!row || !*row || (*row)->status == Status::erased) return {};
  if ((*row)->uuid != head.run.uuid && (*row)->uuid != Uuid()) return fail(files_of_other_run(run.text()));
  if ((*row)->latest <= head.latest.sequence) return {};
  return fail(Error{Code::chain_broken,
                    fmt::format("the catalogue lists checkpoint {} of run '{}', but the newest one here is {}",
                                (*row)->latest.value, run.text(), head.latest.sequence.value),
                    layout::checkpoints(run.text()),
                    "restore the folder from a newer backup; to accept the loss, delete catalogue.db",
                    0,
                    Advice::check_store,
                    {.run = run.text()}});
}

Result<void> FilesystemStore::rebuild_catalogue() {
  if (!has_catalogue()) return {};
  PAWL_TRY_ASSIGN(const auto lock, lock_catalogue());
  return rebuild_catalogue_locked();
}

/// Returns the rows of runs whose files are gone, older than the row or those of another run, or whose run.json is
/// damaged: only the catalogue knows what was lost. `folders` are those of the runs.
Result<std::vector<RunInfo>> FilesystemStore::missing_runs(const std::shared_ptr<JournalSnapshot>& snapshot,
                                                           const std::set<std::string>& folders) {
  const auto usable = catalogue_.usable();
  auto rows = usable && *usable ? catalogue_.newest(SIZE_MAX) : std::vector<RunInfo>();
  if (!rows) return std::vector<RunInfo>();
  PAWL_TRY_ASSIGN(const auto going, runs_being_erased());
  std::vector<RunInfo> missing;
  for (RunInfo& row : *rows) {
    const std::string& run = row.id.text();
    if (row.status == Status::erased || going.contains(run) || snapshot->find(run) != nullptr) continue;
    RunReader reader(files_, keys_, run, snapshot);
    const auto described = reader.run_record();
    if (!described && is_gone(described.error().code)) continue;  // it was erased or removed
    const auto newest = described ? reader.latest() : fail(Code::run_not_found, "it is gone");
    // A file or a link is no folder, although what a link leads to can be read.
    const bool is_gone_here = !folders.contains(run) || (!described && described.error().code == Code::run_not_found);
    const bool is_other = described && described->uuid != row.uuid && row.uuid != Uuid();
    const bool is_older = newest && *newest < row.latest;
    const bool is_damaged = !described && is_confined(described.error()) && row.uuid != Uuid();
    if (is_gone_here || is_other || is_older || is_damaged) missing.push_back(std::move(row));
  }
  return missing;
}

/// A folder is made before the first save, which may be refused.
Result<bool> FilesystemStore::nothing_was_saved(const std::string& run, const JournalSnapshot& snapshot) {
  if (snapshot.find(run) != nullptr) return false;
  const auto described = files_.exists(layout::run_file(run));
  const auto erased = files_.exists(layout::erased(run));
  if (!described || *described || !erased || *erased) return false;
  const auto checkpoints = files_.list(layout::checkpoints(run));
  return checkpoints && checkpoints->empty();
}

Result<void> FilesystemStore::rebuild_catalogue_locked() {
  // The journals too: without them, the end of a file may be incomplete.
  PAWL_TRY_ASSIGN(const auto snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  std::set<std::string> folders;
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder && RunId::parse(entry.name)) folders.insert(entry.name);
  }
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> missing, missing_runs(snapshot, folders));
  return catalogue_.rebuild([&](const auto& add) -> Result<void> {
    CatalogueUpdate update;
    update.runs = missing;
    // Once the right files are back, their saves must be looked up: see add_rows.
    for (const RunInfo& row : missing) update.saves.emplace_back().run = row.id.text();
    for (const std::string& run : folders) {
      PAWL_TRY_ASSIGN(const bool nothing, nothing_was_saved(run, *snapshot));
      if (nothing) continue;
      RunReader reader(files_, keys_, run, snapshot);
      PAWL_TRY_ASSIGN(const bool added, add_journal_rows(reader, *snapshot, update));
      const auto read = added ? Result<void>() : add_rows(std::move(reader), catalogue_, update);
      // If it was erased in the meantime, whoever did it removes its rows after this.
      if (!read && refuse_erased(files_, run)) return read;
      const auto lost = std::ranges::find(missing, run, [](const RunInfo& row) { return row.id.text(); });
      if (lost != missing.end() && !update.runs.empty() && update.runs.back().id == lost->id)
        update.runs.back() = *lost;
      if (update.runs.size() < kRebuildStep) continue;
      PAWL_TRY(add(update));
      update = {};
    }
    return add(update);
  });
}

/// Finds the save with this caller's id in the journals, in the catalogue or, if these may not know it, in the files.
Result<std::optional<CatalogueSave>> FilesystemStore::find_save(const std::string& run, const std::string& caller_id) {
  return read_consistently(run, [&](const auto& snapshot) { return find_save_in(snapshot, run, caller_id); });
}

Result<bool> FilesystemStore::is_undone(const std::string& run, Sequence saved) {
  return read_consistently(
      run, [&](const auto& snapshot) { return RunReader(files_, keys_, run, snapshot).is_undone(saved); });
}

Result<std::optional<CatalogueSave>> FilesystemStore::find_save_in(const std::shared_ptr<JournalSnapshot>& snapshot,
                                                                   const std::string& run,
                                                                   const std::string& caller_id) {
  RunReader reader(files_, keys_, run, snapshot);
  PAWL_TRY_ASSIGN(const auto unsettled, reader.journal_saves_with_caller_id());
  for (const auto& [saved, fingerprint] : unsettled | std::views::reverse) {
    if (saved.caller_id == caller_id) return std::optional(save_of(run, saved, fingerprint));
  }
  // A damaged batch may be in the files without being settled.
  const bool may_hide = snapshot->may_hide(run);
  if (has_catalogue()) {
    PAWL_TRY_ASSIGN(const bool usable, catalogue_.usable());
    if (!usable) PAWL_TRY(rebuild_catalogue());
    auto found = catalogue_.find_save(run, caller_id);
    if (!found && is_lost_catalogue(found.error())) {
      PAWL_TRY(rebuild_catalogue());
      found = catalogue_.find_save(run, caller_id);
    }
    if (!found || (*found && !(*found)->caller_id.empty())) return found;
    if (!*found && !may_hide) return found;
    // Not knowing a save is not the same as knowing that there is none.
    if (*found) {
      PAWL_TRY(reader.saves_with_caller_id());
      PAWL_TRY(rebuild_catalogue());
    }
  }
  PAWL_TRY_ASSIGN(const auto settled, reader.saves_with_caller_id());
  for (const auto& [saved, fingerprint] : settled | std::views::reverse) {
    if (saved.caller_id == caller_id) return std::optional(save_of(run, saved, fingerprint));
  }
  if (may_hide) PAWL_TRY(reader.refuse_unknown_saves());
  return std::optional<CatalogueSave>();
}

Result<std::vector<RunInfo>> FilesystemStore::runs_from_files() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  const auto nothing = std::make_shared<JournalSnapshot>();
  std::vector<RunInfo> runs;
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder) continue;
    if (auto info = RunReader(files_, keys_, entry.name, nothing).listing()) runs.push_back(std::move(*info));
  }
  return runs;
}

Result<std::vector<RunInfo>> FilesystemStore::runs(std::size_t limit) {
  auto listed = read_consistently({}, [&](const auto& snapshot) { return list_runs(snapshot, limit, Damaged::stops); });
  if (listed || !is_confined(listed.error())) return listed;
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_for_reader());
  return list_runs(snapshot, limit, Damaged::is_listed);
}

/// Returns settled runs, newest first, from the catalogue, which is rebuilt if it is missing or damaged. Reads the
/// files if the catalogue can't be written, as in a read-only store.
Result<std::vector<RunInfo>> FilesystemStore::settled_runs(std::size_t limit) {
  if (!has_catalogue()) return runs_from_files();
  PAWL_TRY_ASSIGN(const bool usable, catalogue_.usable());
  if (!usable && !rebuild_catalogue()) return runs_from_files();
  auto runs = catalogue_.newest(limit);
  if (!runs && is_lost_catalogue(runs.error()) && rebuild_catalogue()) runs = catalogue_.newest(limit);
  return runs;
}

/// Returns the runs noted in `erasing/`, with or without a mark.
Result<std::set<std::string>> FilesystemStore::runs_being_erased() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kErasing));
  std::set<std::string> runs;
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder && RunId::parse(entry.name)) runs.insert(entry.name);
  }
  return runs;
}

namespace {

/// Returns the newest runs. A damaged run is never cut as long as there are others: nobody would look for it. If
/// nothing is known about its time, it is first.
std::vector<RunInfo> cut_list(std::vector<RunInfo> runs, std::size_t limit) {
  const auto is_damaged = [](const RunInfo& run) { return run.status == Status::damaged; };
  const auto sort = [&](auto rank) {
    std::ranges::sort(runs, [&](const RunInfo& a, const RunInfo& b) {
      const auto key = [&](const RunInfo& run) {
        const bool unknown = is_damaged(run) && run.updated == Timestamp();
        return std::tuple(rank(run), !unknown, Timestamp{-run.updated.us});
      };
      return std::tuple(key(a), a.id) < std::tuple(key(b), b.id);
    });
  };
  if (runs.size() > limit) {
    sort([&](const RunInfo& run) { return !is_damaged(run); });
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(limit), runs.end());
  }
  sort([](const RunInfo&) { return false; });
  return runs;
}

}  // namespace

/// Returns the runs with files of which damaged journals may have contained saves. Neither the catalogue nor the
/// journals need know them.
Result<std::set<std::string>> FilesystemStore::hidden_runs(const JournalSnapshot& snapshot) {
  std::set<std::string> runs;
  if (!snapshot.may_hide_any()) return runs;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder && RunId::parse(entry.name) && snapshot.may_hide(entry.name)) runs.insert(entry.name);
  }
  return runs;
}

/// For runs that they still contain, the journals are more recent than the catalogue.
Result<std::vector<RunInfo>> FilesystemStore::list_runs(const std::shared_ptr<JournalSnapshot>& snapshot,
                                                        std::size_t limit, Damaged damaged) {
  const std::size_t unsettled = snapshot->runs().size();
  // The catalogue and the journals may still contain runs whose erasure is not finished.
  PAWL_TRY_ASSIGN(const std::set<std::string> going, runs_being_erased());
  const std::size_t more = unsettled + going.size();
  PAWL_TRY_ASSIGN(const auto settled, settled_runs(limit > SIZE_MAX - more ? SIZE_MAX : limit + more));
  std::vector<RunInfo> merged;
  std::set<std::string> others = going;
  std::map<std::string, RunInfo> rows;  // of runs whose files must be read
  for (const RunInfo& run : settled) {
    const RunRecords* records = snapshot->find(run.id.text());
    const bool in_journal = records != nullptr && !records->checkpoints.empty();
    if (in_journal || going.contains(run.id.text())) continue;
    const bool checked = settled.size() > kCheckedRowsMax || run.status == Status::erased ||
                         RunReader(files_, keys_, run.id.text(), snapshot).run_record();
    if (!checked || snapshot->doubt(run.id.text()) || snapshot->may_hide(run.id.text())) {
      others.insert(run.id.text());
      rows.emplace(run.id.text(), run);
    } else {
      merged.push_back(run);
    }
  }
  for (const JournalView& journal : snapshot->journals()) {
    for (const LostBatches& lost : journal.lost) {
      if (lost.nothing_lost) continue;
      for (const auto& [run, sequence] : lost.runs) others.insert(run);
    }
  }
  PAWL_TRY_ASSIGN(std::set<std::string> hidden, hidden_runs(*snapshot));
  std::erase_if(hidden, [&](const std::string& run) { return others.contains(run); });
  others.insert(hidden.begin(), hidden.end());
  for (std::string& run : newest_in_journals(*snapshot, limit > SIZE_MAX - more ? SIZE_MAX : limit + going.size()))
    others.insert(std::move(run));
  for (const std::string& run : others) {
    RunReader reader(files_, keys_, run, snapshot);
    auto info = damaged == Damaged::stops ? reader.overview() : reader.listing();
    if (!info && (is_gone(info.error().code) || (going.contains(run) && info.error().code == Code::run_not_found)))
      continue;
    if (const auto row = rows.find(run); !info && info.error().code == Code::run_not_found && row != rows.end()) {
      if (damaged == Damaged::stops) return fail(missing_files(run));
      row->second.status = Status::damaged;
      info = row->second;
    }
    // A folder in which nothing was saved.
    const bool is_empty = hidden.contains(run) && snapshot->find(run) == nullptr;
    if (!info && info.error().code == Code::run_not_found && is_empty) continue;
    if (!info) return std::unexpected(info.error());
    // Of a damaged run, the catalogue may know better when it was saved.
    if (const auto row = rows.find(run); info->status == Status::damaged && row != rows.end())
      info->updated = std::max(info->updated, row->second.updated);
    merged.push_back(std::move(*info));
  }
  return cut_list(std::move(merged), limit);
}

}  // namespace pawl
