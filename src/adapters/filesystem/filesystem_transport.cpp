// FilesystemStore: runs that leave and arrive as portable files.
#include <algorithm>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_checker.hpp"

namespace pawl {
namespace {

Result<bool> wait_for_lock(File& file, std::uint64_t byte, Clock& clock) {
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, file.try_lock(byte));
    if (locked || waited_us >= kLockWaitUs) return locked;
    clock.sleep_us(kLockStepUs);
  }
}

/// All that the journals hold of a run.
RunBatch whole_batch(const RunRecords& records) {
  RunBatch batch;
  if (records.run) batch.run = records.run->text;
  for (const auto& [sequence, found] : records.checkpoints) batch.checkpoints.push_back(found.record);
  for (const auto& [number, record] : records.events) batch.events.push_back(record);
  for (const auto& [number, record] : records.audit) batch.audit.push_back(record);
  return batch;
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

/// Nobody writes to the run, publishes or prunes it while this is held.
Result<std::unique_ptr<File>> FilesystemStore::lock_for_sending(const RunId& run) {
  PAWL_TRY_ASSIGN(auto lock, files_.open(layout::run_lock(run.text()), OpenMode::create));
  PAWL_TRY_ASSIGN(const bool locked, lock->try_lock(layout::kWriterByte));
  if (!locked) {
    PAWL_TRY_ASSIGN(const std::string owner, lock->read_at(0, kWatermarkOffset));
    return fail(Error{Code::run_busy,
                      fmt::format("run '{}' is busy: held by {}", run.text(), describe_owner(owner)),
                      layout::run_lock(run.text()),
                      "a run that is being written to can't be exported",
                      0,
                      Advice::wait_for_run,
                      {.run = run.text()}});
  }
  PAWL_TRY(lock->write_at(0, encode_owner(environment_.owner)));
  PAWL_TRY_ASSIGN(const bool alone, wait_for_lock(*lock, layout::kPrunerByte, *environment_.clock));
  if (!alone)
    return fail(Error{Code::store_busy, "another process is pruning the run and does not finish", {}, "try again", 0});
  return lock;
}

Result<void> FilesystemStore::settle_run(const std::string& run) {
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_of_everything());
  if (snapshot->damage()) return std::unexpected(*snapshot->damage());
  const RunRecords* records = snapshot->find(run);
  if (records == nullptr) return {};
  const Lock lock(publish_mutex_);
  PAWL_TRY(publisher_.publish(run, whole_batch(*records), Publish::settled));
  return publisher_.sync();
}

Result<SentRun> FilesystemStore::send_run(const RunId& run, SendLogs logs, const FindExportKey& outer,
                                          const std::function<Result<void>(std::string_view)>& write) {
  PAWL_TRY_ASSIGN(const RunRecord record, record_of(run));
  {
    const Lock lock(open_mutex_);
    PAWL_TRY(make_store());
  }
  PAWL_TRY_ASSIGN(const auto lock, lock_for_sending(run));
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
  PAWL_TRY_ASSIGN(const std::vector<std::string> names, files_to_send(files_, run.text(), logs));
  return RunSender(files_, run.text(), write).send(header, names);
}

/// The same run that is there already: answered. Another one of its name: run_exists.
Result<std::optional<ReceivedRun>> FilesystemStore::known_arrival(const ReceivedRun& arrived) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(arrived.run));
  const auto there = run(id);
  if (!there && there.error().code == Code::run_not_found) return std::optional<ReceivedRun>();
  if (!there) return std::unexpected(there.error());
  const auto last = there->uuid == arrived.uuid
                        ? checkpoint(id, {.by = Which::By::sequence, .sequence = arrived.latest})
                        : fail(Code::checkpoint_not_found, "it is another run");
  if (!last || last->checksum != arrived.checksum) {
    return fail(Error{Code::run_exists, fmt::format("run '{}' exists already, with another history", arrived.run),
                      layout::run(arrived.run), "import it into another store: --store FOLDER", 0});
  }
  ReceivedRun repeated = arrived;
  repeated.repeated = true;
  return std::optional(std::move(repeated));
}

/// The catalogue is out of force from before the name is there until it knows the run: journals and catalogue together
/// know every run, whenever the power goes.
Result<void> FilesystemStore::place_run(const std::string& run) {
  std::unique_ptr<File> lock;
  if (has_catalogue()) {
    PAWL_TRY_ASSIGN(lock, lock_catalogue());
  }
  const bool catalogued = has_catalogue() && catalogue_.usable();
  if (catalogued) PAWL_TRY(catalogue_.suspend());
  // A first save that never happened leaves a folder with nothing but a lock.
  PAWL_TRY_ASSIGN(const auto left, files_.list(layout::run(run)));
  std::unique_ptr<File> old_lock;
  if (left.size() == 1 && left.front().name == "lock") {
    PAWL_TRY_ASSIGN(old_lock, files_.open(layout::run_lock(run), OpenMode::write));
    PAWL_TRY_ASSIGN(const bool locked, old_lock->try_lock(layout::kWriterByte));
    if (!locked)
      return fail(Error{Code::run_busy, fmt::format("somebody is making a run '{}' just now", run),
                        layout::run_lock(run), "try again", 0});
    PAWL_TRY(files_.remove(layout::run_lock(run)));
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

Result<void> FilesystemStore::write_arriving_key(const ExportHeader& header, const FindExportKey& outer) {
  PAWL_TRY_ASSIGN(const SecretKey wrapping, outer());
  PAWL_TRY_ASSIGN(const SecretKey key, unwrap_exported(wrapping, *header.key, header.uuid));
  PAWL_TRY_ASSIGN(const std::string text, keys_.arriving_key(key, header.uuid, *environment_.random));
  PAWL_TRY_ASSIGN(const auto file, files_.open(join_path(layout::kArriving, "key.json"), OpenMode::create_empty));
  return file->write_at(0, text);
}

/// A fork shares its past with a run that must be there.
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

/// Under its pruner's lock, and before the fork is there.
Result<std::unique_ptr<File>> FilesystemStore::tell_origin(const ReceivedRun& arrived) {
  if (!arrived.fork) return nullptr;
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(arrived.fork_of));
  PAWL_TRY_ASSIGN(auto pruning, hold_pruning(arrived.fork_of));
  PAWL_TRY(checkpoint(id, {.by = Which::By::sequence, .sequence = arrived.fork->at}));
  PAWL_TRY_ASSIGN(const RunRecord origin, record_of(id));
  PAWL_TRY(write_fork_note(files_, arrived.fork_of, *arrived.fork, seal_seed(origin.uuid), RunFolder::unsynced));
  return pruning;
}

/// As fsck does, before anybody can see it.
Result<ReceivedRun> FilesystemStore::check_arriving(const ExportHeader& header) {
  ReceivedRun arrived{.run = header.run, .uuid = header.uuid};
  ArrivedFiles view(files_, header.run);
  KeyRing keys(view, options_);
  PAWL_TRY_ASSIGN(const StoreRecord store, store_record());
  keys.use(store);
  auto snapshot = std::make_shared<JournalSnapshot>();
  PAWL_TRY_ASSIGN(const RunRecord record, RunReader(view, keys, header.run, snapshot).run_record());
  if (record.fork_of_run) {
    PAWL_TRY(check_origin(record));
    arrived.fork_of = record.fork_of_name;
    arrived.fork = ForkNote{record.run, record.uuid, record.fork_of_sequence};
    PAWL_TRY_ASSIGN(snapshot, snapshot_for_reader());  // what it shares may be in a journal still
  }
  CheckReport report;
  PAWL_TRY(RunChecker(view, keys, header.run, snapshot, report).check({}));
  PAWL_TRY(refuse_findings(report, "in the portable file"));
  arrived.checkpoints = report.checkpoints;
  RunReader reader(view, keys, header.run, snapshot);
  if (record.uuid != header.uuid || record.encrypted != header.key.has_value())
    return fail(Code::export_damaged, "the portable file and the run in it differ");
  PAWL_TRY_ASSIGN(const CheckpointInfo last, reader.info({}));
  arrived.latest = last.sequence;
  arrived.checksum = last.checksum;
  return arrived;
}

Result<ReceivedRun> FilesystemStore::unpack_run(RunReceiver& receiver, const ExportHeader& header,
                                                const FindExportKey& outer) {
  PAWL_TRY_ASSIGN(const std::uint64_t files, receiver.receive());
  if (header.key) PAWL_TRY(write_arriving_key(header, outer));
  PAWL_TRY_ASSIGN(ReceivedRun arrived, check_arriving(header));
  arrived.files = files;
  return arrived;
}

Result<ReceivedRun> FilesystemStore::receive_run(File& file, const FindExportKey& outer) {
  RunReceiver receiver(&files_, file);
  PAWL_TRY_ASSIGN(const ExportHeader header, receiver.begin());
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(header.run));
  {
    const Lock lock(open_mutex_);
    PAWL_TRY(make_store());
    PAWL_TRY(files_.make_folder(layout::kRuns));
    PAWL_TRY(ensure_journal(id));  // a store with runs and no journal has lost something
  }
  if (keys_.encrypted() != header.key.has_value()) {
    return fail(Error{
        Code::not_encrypted,
        header.key ? "the run is encrypted, and this store is not" : "the run is not encrypted, and this store is",
        {},
        header.key ? "" : "import it into a store that is not encrypted",
        0,
        header.key ? Advice::make_encrypted_store : Advice::none});
  }
  PAWL_TRY_ASSIGN(const auto lock, files_.open(layout::kArrivingLock, OpenMode::create));
  PAWL_TRY_ASSIGN(const bool alone, wait_for_lock(*lock, layout::kWriterByte, *environment_.clock));
  if (!alone)
    return fail(Error{Code::store_busy, "another import into this store is going on",
                      std::string(layout::kArrivingLock), "try again when it has ended", 0});
  const std::string arriving(layout::kArriving);
  PAWL_TRY(remove_all(files_, arriving));
  PAWL_TRY(files_.make_folder(arriving));
  const auto arrived = unpack_run(receiver, header, outer);
  const auto known = arrived ? known_arrival(*arrived) : fail(arrived.error());
  if (known && !*known) {
    PAWL_TRY(files_.sync_all(SyncPoint::imported_files));
    PAWL_TRY_ASSIGN(const auto pruning, tell_origin(*arrived));
    PAWL_TRY(place_run(header.run));
    return arrived;
  }
  // The next import removes what can't be removed now.
  static_cast<void>(remove_all(files_, arriving));
  if (!known) return std::unexpected(known.error());
  return **known;
}

}  // namespace pawl
