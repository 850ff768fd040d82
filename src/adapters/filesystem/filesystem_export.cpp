// FilesystemStore: exporting and importing runs, and backups.
#include <algorithm>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_checker.hpp"
#include "adapters/filesystem/run_pruner.hpp"
#include "adapters/filesystem/store_backup.hpp"
#include "domain/erasure.hpp"

namespace pawl {
namespace {

Result<bool> wait_for_lock(File& file, std::uint64_t byte, Clock& clock) {
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, file.try_lock(byte));
    if (locked || waited_us >= kLockWaitUs) return locked;
    clock.sleep_us(kLockStepUs);
  }
}

Result<void> refuse_findings(const CheckReport& report, std::string_view where) {
  for (const Finding& finding : report.findings) {
    if (finding.severity != Finding::Severity::damage && finding.severity != Finding::Severity::mendable) continue;
    return fail(Error{finding.code, fmt::format("the run {} is damaged: {}", where, finding.what), finding.file,
                      "check the run in the store that it comes from", 0, Advice::check_store});
  }
  return {};
}

}  // namespace

/// While the caller holds the lock, nobody writes to the run, publishes it or prunes it.
Result<std::unique_ptr<File>> FilesystemStore::lock_for_export(const RunId& run) {
  PAWL_TRY_ASSIGN(auto lock, files_.open(layout::run_lock(run.text()), OpenMode::create));
  PAWL_TRY(take_writer_lock(run, *lock));
  PAWL_TRY_ASSIGN(const std::vector<std::string> held, held_locks(run));
  if (!held.empty()) return fail(step_running_error(run, held.front()));
  PAWL_TRY_ASSIGN(const bool alone, wait_for_lock(*lock, layout::kPrunerByte, *environment_.clock));
  if (!alone) return fail(Error{Code::store_busy, "another process is still pruning the run", {}, "try again", 0});
  return lock;
}

Result<void> FilesystemStore::settle_run(const std::string& run) {
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_of_everything());
  if (snapshot->doubt(run)) PAWL_TRY(RunReader(files_, keys_, run, snapshot).refuse_doubt());
  const RunRecords* records = snapshot->find(run);
  if (records == nullptr) return {};
  const Lock lock(publish_mutex_);
  PAWL_TRY(publisher_.publish(run, whole_batch(*records), Publish::settled));
  return publisher_.sync();
}

Result<ExportedRun> FilesystemStore::export_run(const RunId& run, ExportLogs logs, const FindExportKey& outer,
                                                const std::function<Result<void>(std::string_view)>& write) {
  PAWL_TRY_ASSIGN(const RunRecord record, record_of(run));
  {
    const Lock lock(open_mutex_);
    PAWL_TRY(make_store());
  }
  PAWL_TRY_ASSIGN(const auto lock, lock_for_export(run));
  PAWL_TRY(settle_run(run.text()));
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_of_everything());
  CheckReport report;
  PAWL_TRY(RunChecker(files_, keys_, run.text(), snapshot, report).check({}));
  PAWL_TRY(refuse_findings(report, "to be exported"));
  ExportHeader header{.run = run.text(), .uuid = record.uuid, .key = {}};
  if (record.encrypted) {
    PAWL_TRY_ASSIGN(const SecretKey key, keys_.key_of(run.text(), record.uuid));
    PAWL_TRY_ASSIGN(const SecretKey wrapping, outer());
    header.key = wrap_for_export(wrapping, key, record.uuid);
  }
  PAWL_TRY_ASSIGN(const std::vector<std::string> names, files_to_export(files_, run.text(), logs));
  // From here on it only reads, and whoever takes the file may be slow. Others may save meanwhile; the files do not
  // change while nobody publishes or prunes.
  PAWL_TRY_ASSIGN(const bool quiet, wait_for_lock(*lock, layout::kPublisherByte, *environment_.clock));
  if (quiet) PAWL_TRY(lock->unlock(layout::kWriterByte));
  return ExportWriter(files_, run.text(), write).write_all(header, names);
}

/// Returns the run if the store already contains it with the same history. Fails with run_exists if the store contains
/// a different run of this name.
Result<std::optional<UnpackedRun>> FilesystemStore::known_import(const UnpackedRun& unpacked) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(unpacked.imported.run));
  const auto there = run(id);
  if (!there && there.error().code == Code::run_not_found) return std::optional<UnpackedRun>();
  // The catalogue lists a run whose files are gone: the import brings them back.
  const auto folder = files_.exists(layout::run(unpacked.imported.run));
  if (!there && folder && !*folder) return std::optional<UnpackedRun>();
  if (!there) return std::unexpected(there.error());
  const auto last = there->uuid == unpacked.imported.uuid
                        ? checkpoint(id, {.by = Which::By::sequence, .sequence = unpacked.imported.latest})
                        : fail(Code::checkpoint_not_found, "it is another run");
  if (!last || last->checksum != unpacked.checksum) {
    return fail(Error{Code::run_exists,
                      fmt::format("run '{}' already exists with a different history", unpacked.imported.run),
                      layout::run(unpacked.imported.run), "import it into another store: --store FOLDER", 0});
  }
  UnpackedRun repeated = unpacked;
  repeated.imported.repeated = true;
  return std::optional(std::move(repeated));
}

/// Suspends the catalogue before it renames the folder, until the catalogue contains the run. Journals and catalogue
/// together therefore know every run, even after a power failure.
Result<void> FilesystemStore::place_run(const std::string& run) {
  std::unique_ptr<File> lock;
  bool catalogued = false;
  if (has_catalogue()) {
    PAWL_TRY_ASSIGN(lock, lock_catalogue());
    PAWL_TRY_ASSIGN(catalogued, catalogue_.usable());
  }
  if (catalogued) PAWL_TRY(catalogue_.suspend());
  // A first save that failed leaves a folder that contains only a lock.
  PAWL_TRY_ASSIGN(const auto left, files_.list(layout::run(run)));
  std::unique_ptr<File> old_lock;
  if (left.size() == 1 && left.front().name == "lock") {
    PAWL_TRY_ASSIGN(old_lock, files_.open(layout::run_lock(run), OpenMode::write));
    PAWL_TRY_ASSIGN(const bool locked, old_lock->try_lock(layout::kWriterByte));
    if (!locked)
      return fail(Error{Code::run_busy, fmt::format("another process is creating run '{}'", run), layout::run_lock(run),
                        "try again", 0});
    // The file itself moves: a process that waits for its lock must not be left with a file that nobody else uses.
    PAWL_TRY(files_.rename(layout::run_lock(run), join_path(layout::kArriving, "lock")));
  }
  PAWL_TRY(files_.rename(layout::kArriving, layout::run(run)));
  PAWL_TRY(files_.sync_folder(layout::kRuns, SyncPoint::imported_name));
  PAWL_TRY(files_.sync_folder("", SyncPoint::imported_name));
  if (!catalogued) return {};
  RunReader reader(files_, keys_, run, std::make_shared<JournalSnapshot>());
  CatalogueUpdate update;
  PAWL_TRY_ASSIGN(RunInfo info, reader.overview());
  update.runs.push_back(std::move(info));
  PAWL_TRY_ASSIGN(const auto saves, reader.saves_with_caller_id());
  for (const auto& [saved, fingerprint] : saves) {
    update.saves.push_back({run, saved.caller_id, saved.sequence, saved.id, saved.checksum, saved.kind, fingerprint});
  }
  PAWL_TRY(catalogue_.record(update));
  return catalogue_.resume();
}

Result<void> FilesystemStore::write_unpacked_key(const ExportHeader& header, const FindExportKey& outer) {
  PAWL_TRY_ASSIGN(const SecretKey wrapping, outer());
  PAWL_TRY_ASSIGN(const SecretKey key, unwrap_exported(wrapping, *header.key, header.uuid));
  PAWL_TRY_ASSIGN(const std::string text, keys_.arriving_key(key, header.uuid, *environment_.random));
  PAWL_TRY_ASSIGN(const auto file, files_.open(join_path(layout::kArriving, "key.json"), OpenMode::create_empty));
  return file->write_at(0, text);
}

/// Fails with not_portable if the store does not contain the parent of a fork.
Result<void> FilesystemStore::check_origin(const RunRecord& fork) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(fork.fork_of_name));
  const auto origin = record_of(id);
  if (origin && origin->uuid == *fork.fork_of_run) return {};
  if (!origin && origin.error().code != Code::run_not_found) return std::unexpected(origin.error());
  return fail(Error{Code::not_portable,
                    fmt::format("run '{}' is a fork of run '{}' ({}), which is not in this store", fork.run,
                                fork.fork_of_name, fork.fork_of_run->text()),
                    {},
                    fmt::format("export run '{}' as well, and import it first", fork.fork_of_name),
                    0});
}

/// Writes the fork note of the parent and returns the parent's pruner lock. Must be called before the fork is visible.
Result<std::unique_ptr<File>> FilesystemStore::tell_origin(const UnpackedRun& unpacked) {
  if (!unpacked.fork) return nullptr;
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(unpacked.fork_of));
  PAWL_TRY_ASSIGN(auto pruning, hold_pruning(unpacked.fork_of));
  PAWL_TRY(checkpoint(id, {.by = Which::By::sequence, .sequence = unpacked.fork->at}));
  PAWL_TRY_ASSIGN(const RunRecord origin, record_of(id));
  PAWL_TRY(write_fork_note(files_, unpacked.fork_of, *unpacked.fork, seal_seed(origin.uuid), RunFolder::unsynced));
  return pruning;
}

/// Checks the run as fsck does, before it becomes visible.
Result<UnpackedRun> FilesystemStore::check_unpacked(const ExportHeader& header) {
  UnpackedRun unpacked{.imported = {.run = header.run, .uuid = header.uuid}};
  UnpackedFiles view(files_, header.run);
  KeyRing keys(view, options_);
  PAWL_TRY_ASSIGN(const StoreRecord store, store_record());
  keys.use(store);
  auto snapshot = std::make_shared<JournalSnapshot>();
  PAWL_TRY_ASSIGN(const RunRecord record, RunReader(view, keys, header.run, snapshot).run_record());
  if (record.fork_of_run) {
    PAWL_TRY(check_origin(record));
    unpacked.fork_of = record.fork_of_name;
    unpacked.fork = ForkNote{record.run, record.uuid, record.fork_of_sequence};
    PAWL_TRY_ASSIGN(snapshot, snapshot_for_reader());  // shared history may still be only in a journal
  }
  CheckReport report;
  PAWL_TRY(RunChecker(view, keys, header.run, snapshot, report).check({}));
  if (record.fork_of_run) {
    // A fork that was made in another store is noted in its parent here before it becomes visible.
    const std::string note = layout::fork(record.fork_of_name, record.uuid.text());
    std::erase_if(report.findings, [&](const Finding& finding) { return finding.file == note; });
  }
  PAWL_TRY(refuse_findings(report, "in the export"));
  unpacked.imported.checkpoints = report.checkpoints;
  RunReader reader(view, keys, header.run, snapshot);
  if (record.uuid != header.uuid || record.encrypted != header.key.has_value())
    return fail(Code::export_damaged, "the header of the export does not match the run in it");
  PAWL_TRY_ASSIGN(const CheckpointInfo last, reader.info({}));
  unpacked.imported.latest = last.sequence;
  unpacked.checksum = last.checksum;
  return unpacked;
}

Result<UnpackedRun> FilesystemStore::unpack_run(ExportReader& reader, const ExportHeader& header,
                                                const FindExportKey& outer) {
  PAWL_TRY_ASSIGN(const std::uint64_t files, reader.read_files());
  if (header.key) PAWL_TRY(write_unpacked_key(header, outer));
  PAWL_TRY_ASSIGN(UnpackedRun unpacked, check_unpacked(header));
  unpacked.imported.files = files;
  return unpacked;
}

Result<ImportedExport> FilesystemStore::import_run(File& file, const FindExportKey& outer) {
  ExportReader reader(&files_, file);
  PAWL_TRY_ASSIGN(const ExportHeader header, reader.begin());
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(header.run));
  {
    const Lock lock(open_mutex_);
    PAWL_TRY(make_store());
    PAWL_TRY(files_.make_folder(layout::kRuns));
    PAWL_TRY(ensure_journal(id));  // runs without a journal count as data loss
  }
  if (keys_.encrypted() != header.key.has_value()) {
    return fail(
        Error{Code::not_encrypted,
              header.key ? "the run is encrypted but this store is not" : "the run is not encrypted but this store is",
              {},
              header.key ? "import it into an encrypted store" : "import it into a store that is not encrypted",
              0,
              header.key ? Advice::make_other_encrypted_store : Advice::none});
  }
  PAWL_TRY_ASSIGN(const auto lock, files_.open(layout::kArrivingLock, OpenMode::create));
  PAWL_TRY_ASSIGN(const bool alone, wait_for_lock(*lock, layout::kWriterByte, *environment_.clock));
  if (!alone)
    return fail(Error{Code::store_busy, "another import into this store is running", std::string(layout::kArrivingLock),
                      "try again when it has finished", 0});
  const std::string unpacking(layout::kArriving);
  PAWL_TRY(remove_all(files_, unpacking));
  PAWL_TRY(files_.make_folder(unpacking));
  const auto unpacked = unpack_run(reader, header, outer);
  const auto known = unpacked ? known_import(*unpacked) : fail(unpacked.error());
  if (known && !*known) {
    PAWL_TRY(files_.sync_all(SyncPoint::imported_files));
    PAWL_TRY_ASSIGN(const auto pruning, tell_origin(*unpacked));
    PAWL_TRY(place_run(header.run));
    return unpacked->imported;
  }
  // The next import removes what can't be removed now.
  static_cast<void>(remove_all(files_, unpacking));
  if (!known) return std::unexpected(known.error());
  return (*known)->imported;
}

Result<WrittenBackup> FilesystemStore::back_up(File& file, const ShowBackupProgress& show) {
  PAWL_TRY(take_over_copy());
  // A killed eraser may have left data. It is not copied in any case; finishing the erasure here is only better.
  // Copying a store of an older format does not migrate it.
  const bool is_current = [&] {
    const Lock lock(open_mutex_);
    return made_;
  }();
  const auto work = is_current ? erase_work() : fail(Code::unsupported_version, "an older format");
  if (work) static_cast<void>(finish_erasures(*work));
  const auto image = [this](const std::string& run, std::shared_ptr<JournalSnapshot> snapshot) {
    return RunPruner({&files_, &keys_, environment_, options_, {}, {}, {}}, run, std::move(snapshot),
                     RunPruner::Newest::is_closed)
        .image();
  };
  constexpr int kBackupAttempts = 5;
  for (int attempt = 1; attempt <= kBackupAttempts; ++attempt) {
    PAWL_TRY(file.resize(0));
    StoreBackup backup({&files_, environment_, options_.segment_bytes, [this] { return snapshot_of_everything(); },
                        image, keys_.known_outer_key()},
                       file, show);
    PAWL_TRY_ASSIGN(auto written, backup.write());
    if (written) return std::move(*written);
  }
  return fail(Error{Code::store_busy, "runs are being erased all the time", {}, "try again", 0});
}

}  // namespace pawl
