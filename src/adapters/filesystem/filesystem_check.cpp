// FilesystemStore: fsck.
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/run_checker.hpp"
#include "base/confined.hpp"
#include "codec/sealed_text.hpp"
#include "domain/erasure.hpp"

namespace pawl {
namespace {

constexpr int kAttempts = 20;
constexpr int kRunAttempts = 3;

using Severity = Finding::Severity;

Result<void> check_store_file(FileSystem& files, CheckReport& report) {
  const auto text = files.read_file(layout::kStoreFile, 1ULL << 20);
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  if (!text) {
    PAWL_TRY_ASSIGN(const bool journals, has_segments(files));
    if (!journals) return {};  // nothing was ever saved
  }
  ++report.files;
  const auto record = text ? decode_store(*text) : fail(Code::store_damaged, "the file is missing");
  if (!record) {
    report.findings.push_back({Severity::damage,
                               record.error().code,
                               std::string(layout::kStoreFile),
                               {},
                               {},
                               record.error().message,
                               "restore the file from a backup"});
  }
  return {};
}

/// A lock that can't be opened stops everybody who needs it. A missing one is created.
Result<void> check_lock(FileSystem& files, const std::string& path, const std::string& run, CheckReport& report) {
  const auto lock = files.open(path, OpenMode::read);
  if (lock || lock.error().code == Code::input_unreadable) return {};
  const int problem = lock.error().os_error;
  if (problem == EACCES || problem == EPERM || problem == EROFS) return {};  // the store is only readable here
  if (!is_confined(lock.error())) return std::unexpected(lock.error());
  report.findings.push_back({Severity::damage,
                             lock.error().code,
                             path,
                             run,
                             {},
                             lock.error().message,
                             "move it out of the store; the file is created again"});
  return {};
}

Result<void> check_locks(FileSystem& files, CheckReport& report) {
  for (const std::string_view path :
       {layout::kCatalogueLock, layout::kArrivingLock, std::string_view("store.lock"), layout::kMergeLock})
    PAWL_TRY(check_lock(files, std::string(path), {}, report));
  PAWL_TRY_ASSIGN(const auto journals, list_journals(files));
  for (const std::uint64_t number : journals) PAWL_TRY(check_lock(files, layout::journal_owner(number), {}, report));
  return {};
}

/// Reports temporary files in a folder that does not belong to a run.
Result<void> find_leftovers(FileSystem& files, const std::string& folder, CheckReport& report) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(folder));
  for (const FolderEntry& entry : entries) {
    const bool rebuilt = entry.name.starts_with(layout::kCatalogue);  // replaced with the catalogue
    if (entry.is_folder || rebuilt || !entry.name.ends_with(".tmp")) continue;
    report.findings.push_back({Severity::note,
                               Code::store_damaged,
                               folder.empty() ? entry.name : join_path(folder, entry.name),
                               {},
                               {},
                               "left over from an interrupted write",
                               {}});
  }
  return {};
}

Finding of_journal(Severity severity, std::string file, std::string what, std::string advice, Advice action) {
  return {severity, Code::journal_corrupt, std::move(file), {}, {}, std::move(what), std::move(advice), action};
}

/// Returns the runs whose newest checkpoints may be lost, for a message.
std::string affected_text(const LostBatches& lost, const std::set<std::string>& runs) {
  constexpr std::size_t kNamedMax = 10;
  std::vector<std::string> named;
  std::size_t more = 0;
  for (const std::string& run : runs) {
    const auto highest = lost.highest_lost(run);
    if (!highest) continue;
    if (named.size() == kNamedMax) {
      ++more;
    } else {
      named.push_back(*highest == kUnknownSequence ? run : fmt::format("{}@{}", run, *highest));
    }
  }
  if (named.empty()) return "no existing run is affected";
  std::string text =
      fmt::format("{}{}", lost.any_run ? "any of these runs may be affected: " : "affected: ", fmt::join(named, ", "));
  if (more > 0) text += fmt::format(" and {} more", more);
  return text;
}

void check_lost(const JournalView& journal, const CheckScope& scope, const std::set<std::string>& runs,
                CheckReport& report) {
  for (const LostBatches& lost : journal.lost) {
    if (scope.run && !lost.highest_lost(scope.run->text())) continue;
    Finding finding = of_journal(Severity::damage, lost.file, lost.error.message,
                                 "restore the file from a backup, or set the batch aside", Advice::repair_store);
    finding.code = lost.error.code;
    if (lost.nothing_lost) {
      finding.severity = Severity::mendable;
      finding.what += "; nothing is lost";
      finding.advice.clear();
    } else {
      finding.what += "; " + affected_text(lost, runs);
    }
    if (lost.runs.size() == 1 && lost.filters.empty() && !lost.any_run) {
      finding.run = lost.runs.begin()->first;
      finding.sequence = {lost.runs.begin()->second};
    }
    report.findings.push_back(std::move(finding));
  }
  if (scope.run) return;
  for (const auto& wreck : journal.wrecks) {
    const std::string path = layout::segment(journal.number, wreck->slot);
    ++report.files;
    if (std::ranges::find(journal.lost, path, &LostBatches::file) != journal.lost.end()) continue;
    report.findings.push_back(of_journal(Severity::mendable, path,
                                         "the header of this segment is damaged; its batches can be read, and nothing "
                                         "is lost",
                                         {}, Advice::repair_store));
  }
}

Result<void> check_journal(FileSystem& files, const JournalView& journal, const CheckScope& scope,
                           const std::set<std::string>& runs, CheckReport& report) {
  check_lost(journal, scope, runs, report);
  if (scope.run) return {};
  PAWL_TRY(find_leftovers(files, layout::journal(journal.number), report));
  for (const auto& segment : journal.segments) {
    ++report.files;
    const std::string path = layout::segment(journal.number, segment->slot);
    const bool named = std::ranges::find(report.findings, path, &Finding::file) != report.findings.end();
    if (segment->scan.bad_batch && !journal.damage) {
      report.findings.push_back(
          of_journal(Severity::note, path,
                     "incomplete batch: its writer stopped while writing it, and it was never acknowledged; nothing is "
                     "lost",
                     journal.torn ? "the next writer sets it aside" : "", Advice::none));
    } else if (segment->scan.bad_batch && !named) {
      report.findings.push_back(of_journal(Severity::damage, path,
                                           fmt::format("the batch at byte {} is damaged", segment->scan.end),
                                           "restore the file from a backup", Advice::repair_store));
    }
    const auto read = files.read_file(path);
    if (!read && read.error().code == Code::input_unreadable) continue;  // removed meanwhile: the check is repeated
    if (!read) return std::unexpected(read.error());
    const std::string& bytes = *read;
    std::uint64_t header_offset = 0;
    bool other_is_damaged = false;
    static_cast<void>(choose_segment_header(bytes, header_offset, other_is_damaged));
    if (journal.damage && other_is_damaged && !named) {
      report.findings.push_back(of_journal(Severity::damage, path,
                                           "one of the two copies of its header is damaged, possibly the current one",
                                           "restore the file from a backup", Advice::repair_store));
    }
    const bool hidden = !segment->scan.bad_batch && hidden_batch(bytes, segment->scan, segment->header.generation);
    if ((hidden || segment->has_remains) && journal.copied) {
      report.findings.push_back(of_journal(Severity::note, path,
                                           "this copy was made while the store was in use; batches that were written "
                                           "meanwhile are ignored",
                                           "the next writer removes them", Advice::none));
    } else if (hidden && !journal.damage) {
      report.findings.push_back(
          of_journal(Severity::damage, path,
                     fmt::format("the batch at byte {} is damaged but valid batches follow it", segment->scan.end),
                     "restore the file from a backup", Advice::none));
    }
  }
  return {};
}

Result<void> check_failure_log(FileSystem& files, CheckReport& report) {
  const auto text = files.read_file(layout::kFailures);
  if (!text) return {};
  ++report.files;
  std::uint64_t number = 0;
  for_each_line(*text, [&](std::string_view line, bool complete) {
    ++number;
    if (!complete || !unseal(line)) {
      report.findings.push_back({Severity::note,
                                 Code::checksum_mismatch,
                                 std::string(layout::kFailures),
                                 {},
                                 {},
                                 fmt::format("line {} is damaged", number),
                                 "this log is only informational; nothing depends on it"});
    }
    return true;
  });
  return {};
}

}  // namespace

Result<CheckReport> FilesystemStore::find_faults(const CheckScope& scope) {
  std::optional<std::string> stamp;
  for (int attempt = 1;; ++attempt) {
    CheckReport report;
    PAWL_TRY_ASSIGN(const auto snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
    if (!scope.run) PAWL_TRY(check_store_file(files_, report));
    if (!scope.run) PAWL_TRY(find_leftovers(files_, "", report));
    std::set<std::string> runs;
    if (scope.run) {
      runs.insert(scope.run->text());
    } else {
      PAWL_TRY(check_failure_log(files_, report));
      PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
      for (const FolderEntry& entry : entries) {
        if (entry.is_folder && RunId::parse(entry.name)) {
          runs.insert(entry.name);
        } else if (join_path(layout::kRuns, entry.name) != layout::kArriving) {
          report.findings.push_back({Severity::note,
                                     Code::store_damaged,
                                     join_path(layout::kRuns, entry.name),
                                     {},
                                     {},
                                     "not a run; it is ignored",
                                     "move it out of the store"});
        }
        if (join_path(layout::kRuns, entry.name) != layout::kArriving) continue;
        report.findings.push_back({Severity::note,
                                   Code::store_damaged,
                                   std::string(layout::kArriving),
                                   {},
                                   {},
                                   "an import is in progress or was interrupted",
                                   "the next import removes the leftover files"});
      }
      for (const auto& [run, records] : snapshot->runs()) runs.insert(run);
    }
    for (const JournalView& journal : snapshot->journals())
      PAWL_TRY(check_journal(files_, journal, scope, runs, report));
    if (!scope.run) PAWL_TRY(check_locks(files_, report));
    for (const std::string& run : runs) PAWL_TRY(check_lock(files_, layout::run_lock(run), run, report));
    for (const std::string& run : runs) PAWL_TRY(check_run(run, scope.sequence, snapshot, report));
    if (!scope.run && snapshot->journals().empty() && report.runs > 0) {
      report.findings.push_back({Severity::damage,
                                 Code::journal_corrupt,
                                 std::string(layout::kJournals),
                                 {},
                                 {},
                                 "the journals are missing; data that only they contained is lost",
                                 "restore the folder from a backup"});
    }
    PAWL_TRY(scope.run ? find_missing(*scope.run, snapshot, report) : find_missing_runs(runs, snapshot, report));
    PAWL_TRY_ASSIGN(const bool catalogue_exists, files_.exists(layout::kCatalogue));
    if (!scope.run && has_catalogue() && catalogue_exists) {
      ++report.files;
      PAWL_TRY(check_catalogue(report));
    }
    PAWL_TRY_ASSIGN(const bool valid, snapshot->still_valid(files_));
    // While a writer is active, the check may see a published file that is newer than the journal it has read.
    if ((valid && !report.damaged()) || attempt == kAttempts) return report;
    PAWL_TRY_ASSIGN(const auto now, JournalSnapshot::take(files_, environment_.owner.boot_id));
    // The run may also be in the middle of being pruned.
    PAWL_TRY_ASSIGN(std::string stamp_now, prune_stamp(scope.run ? scope.run->text() : std::string(), now));
    if (valid && now->last_batches() == snapshot->last_batches() && stamp == stamp_now) return report;
    stamp = std::move(stamp_now);
  }
}

Result<void> FilesystemStore::check_run(const std::string& run, Sequence only,
                                        std::shared_ptr<const JournalSnapshot> snapshot, CheckReport& report) {
  for (int attempt = 1;; ++attempt) {
    CheckReport of_run;
    const auto checked = RunChecker(files_, keys_, run, snapshot, of_run).check(only);
    // It was removed meanwhile; now its remains are checked.
    if (!checked && is_gone_or_missing(checked.error().code) && attempt < kRunAttempts) continue;
    if (!checked && !is_confined(checked.error())) return std::unexpected(checked.error());
    if (!checked) {
      const bool denied = checked.error().os_error == EACCES || checked.error().os_error == EPERM;
      of_run.findings.push_back(
          {Severity::damage,
           checked.error().code,
           checked.error().where,
           run,
           {},
           checked.error().message,
           denied ? checked.error().hint : "move it out of the store, then restore the file from a backup"});
    }
    if (of_run.damaged()) {
      // A writer may have started since: its lines are in the files, but the snapshot does not have its journal.
      PAWL_TRY_ASSIGN(const auto now, JournalSnapshot::take(files_, environment_.owner.boot_id));
      const bool changed = now->last_batches() != snapshot->last_batches();
      snapshot = now;
      if (changed && attempt < kRunAttempts) continue;
    }
    report.runs += of_run.runs;
    report.erased += of_run.erased;
    report.checkpoints += of_run.checkpoints;
    report.files += of_run.files;
    std::ranges::move(of_run.findings, std::back_inserter(report.findings));
    return {};
  }
}

/// A folder that was replaced by an older copy of itself is complete, but lacks checkpoints that were acknowledged.
Result<void> FilesystemStore::find_older_run(const RunInfo& row, const std::shared_ptr<JournalSnapshot>& snapshot,
                                             CheckReport& report) {
  if (row.status == Status::erased) return {};
  const std::string& run = row.id.text();
  auto described = RunReader(files_, keys_, run, snapshot).run_record();
  if (!described && described.error().code == Code::run_not_found) {
    report.findings.push_back({Severity::damage, Code::run_not_found, layout::run(run), run, row.latest,
                               "the catalogue lists this run but its files are missing",
                               "restore the folder from a backup; if it was removed on purpose, delete catalogue.db"});
    return {};
  }
  if (!described) return {};  // erased, or reported as damaged
  if (described->uuid != row.uuid && row.uuid != Uuid()) {
    report.findings.push_back({Severity::damage, Code::store_damaged, layout::run(run), run, row.latest,
                               "its files belong to another run with this id than the catalogue lists",
                               "restore the folder from a backup; to accept these files, delete catalogue.db"});
    return {};
  }
  const auto newest = RunReader(files_, keys_, run, snapshot).latest();
  if (!newest || *newest >= row.latest) return {};
  report.findings.push_back(
      {Severity::damage, Code::chain_broken, layout::checkpoints(run), run, row.latest,
       fmt::format("the catalogue lists checkpoint {}, but the newest one here is {}", row.latest.value, newest->value),
       "restore the folder from a newer backup; to accept the loss, delete catalogue.db"});
  return {};
}

Result<void> FilesystemStore::check_catalogue(CheckReport& report) {
  PAWL_TRY_ASSIGN(const bool is_suspended, catalogue_.is_suspended());
  if (is_suspended) {
    report.findings.push_back({Severity::note,
                               Code::store_damaged,
                               std::string(layout::kCatalogue),
                               {},
                               {},
                               "an import is in progress or was interrupted",
                               "the next command that needs the catalogue rebuilds it"});
    return {};
  }
  PAWL_TRY_ASSIGN(const bool usable, catalogue_.usable());
  std::string fault = "unreadable or incomplete";
  if (usable) {
    PAWL_TRY_ASSIGN(fault, catalogue_.find_fault());
  }
  if (fault.empty()) return {};
  report.findings.push_back({Severity::mendable,
                             Code::store_damaged,
                             std::string(layout::kCatalogue),
                             {},
                             {},
                             fault,
                             "or delete the file; it is rebuilt from the runs' files",
                             Advice::repair_store});
  return {};
}

/// The same for the check of one run.
Result<void> FilesystemStore::find_missing(const RunId& run, const std::shared_ptr<JournalSnapshot>& snapshot,
                                           CheckReport& report) {
  if (!has_catalogue()) return {};
  const auto row = catalogue_.find_run(run.text());
  return row && *row ? find_older_run(**row, snapshot, report) : Result<void>();
}

/// The catalogue is not authoritative, but it lists runs whose folders are missing. A settled run that it does not list
/// is missing from `pawl list`.
Result<void> FilesystemStore::find_missing_runs(const std::set<std::string>& runs,
                                                const std::shared_ptr<JournalSnapshot>& snapshot, CheckReport& report) {
  if (!has_catalogue()) return {};
  const auto known = catalogue_.newest(SIZE_MAX);
  if (!known) return {};                                                // missing, or damaged, which is reported
  PAWL_TRY_ASSIGN(const bool is_suspended, catalogue_.is_suspended());  // it may lack the imported run
  std::set<std::string> listed;
  for (const RunInfo& run : *known) listed.insert(run.id.text());
  for (const std::string& run : runs) {
    if (is_suspended || listed.contains(run) || snapshot->find(run) != nullptr) continue;
    const auto described = files_.exists(layout::run_file(run));
    if (!described && !is_confined(described.error())) return std::unexpected(described.error());
    if (!described || !*described) continue;  // reported as that; or its first save never happened, or it was removed
    const auto erased = load_erased(files_, run);
    if (erased && *erased && !(*erased)->finished) continue;  // reported as that; finishing it lists the run
    report.findings.push_back({Severity::mendable,
                               Code::store_damaged,
                               std::string(layout::kCatalogue),
                               run,
                               {},
                               "the catalogue does not list this run",
                               "or delete the file; it is rebuilt from the runs' files",
                               Advice::repair_store});
  }
  for (const RunInfo& run : *known) {
    if (runs.contains(run.id.text())) {
      PAWL_TRY(find_older_run(run, snapshot, report));
      continue;
    }
    report.findings.push_back({Severity::damage, Code::run_not_found, layout::run(run.id.text()), run.id.text(),
                               run.latest, "the catalogue lists this run but its folder is missing",
                               "restore the folder from a backup; if it was removed on purpose, delete catalogue.db"});
  }
  return {};
}

/// Rejects an unknown run or number as a usage error; it is not damage.
Result<void> FilesystemStore::check_scope(const CheckScope& scope) {
  if (!scope.run) return {};
  const auto info = run(*scope.run);
  if (!info && info.error().code == Code::run_not_found) return std::unexpected(info.error());
  if (!scope.sequence) return {};
  const auto found = checkpoint(*scope.run, {.by = Which::By::sequence, .sequence = scope.sequence});
  if (found) return {};
  const Code code = found.error().code;
  if (code == Code::checkpoint_pruned || code == Code::checkpoint_not_found) return std::unexpected(found.error());
  return {};
}

/// Writes the Merkle roots of runs again whose file is missing or damaged. If anything else of the run is damaged, its
/// audit trail may be incomplete, and new roots would hide that.
Result<void> FilesystemStore::mend_roots(const CheckReport& report) {
  for (const Finding& finding : report.findings) {
    if (finding.severity != Severity::mendable || finding.file != layout::roots(finding.run)) continue;
    const bool damaged = std::ranges::any_of(report.findings, [&](const Finding& other) {
      return other.run == finding.run && other.severity == Severity::damage;
    });
    if (damaged) continue;
    const Lock lock(publish_mutex_);
    PAWL_TRY(publisher_.rewrite_roots(finding.run));
  }
  return {};
}

/// Repairs only by doing what a healthy store does anyway: takes over free journals, publishes their records and
/// rebuilds the catalogue.
Result<void> FilesystemStore::mend(const CheckReport& report, std::vector<Finding>& findings) {
  PAWL_TRY_ASSIGN(const auto numbers, list_journals(files_));
  std::map<std::string, Restored> complete;
  {
    const Lock opening(open_mutex_);
    PAWL_TRY(make_store());
    // The damaged journals first: what they contain of a run must be published before what others contain.
    for (const std::uint64_t number : numbers) {
      if (!journal_ || journal_->number() != number) PAWL_TRY(repair_journal(number, findings, complete));
    }
    for (const std::uint64_t number : numbers) {
      if (journal_ && journal_->number() == number) continue;
      const Lock lock(publish_mutex_);
      const auto journal = JournalWriter::take_over(place(), number);
      if (!journal && category(journal.error().code) == Category::integrity) continue;
      if (!journal) return std::unexpected(journal.error());
      if (*journal) PAWL_TRY(settle_everything(**journal));
    }
    PAWL_TRY(settle_all());
    PAWL_TRY(remove_leftovers(report));
    PAWL_TRY(mend_erasures(report));
    PAWL_TRY(mend_roots(report));
    PAWL_TRY(rebuild_catalogue());
    PAWL_TRY(find_unrecorded(findings, complete));
  }
  return save_again(complete);
}

Result<CheckReport> FilesystemStore::check(const CheckScope& scope, Repair repair) {
  PAWL_TRY(check_scope(scope));
  PAWL_TRY(snapshot_for_reader());  // confirms the batches that a killed writer left
  PAWL_TRY_ASSIGN(CheckReport report, find_faults(scope));
  if (repair == Repair::no) return report;
  std::vector<Finding> lost;
  PAWL_TRY(mend(report, lost));
  PAWL_TRY(mend_forks());
  PAWL_TRY_ASSIGN(CheckReport after, find_faults(scope));
  for (Finding& finding : report.findings) {
    const auto same = [&](const Finding& other) {
      return other.file == finding.file && other.sequence == finding.sequence && other.code == finding.code;
    };
    if (std::ranges::any_of(after.findings, same)) continue;
    finding.severity = Severity::mended;
    finding.advice.clear();
    after.findings.insert(after.findings.begin(), std::move(finding));
  }
  for (Finding& finding : lost) after.findings.push_back(std::move(finding));
  return after;
}

}  // namespace pawl
