// The embedded default store: a folder with a journal in front of readable files.
//
// Which call makes what durable:
//   a save       the fdatasync of its journal batch (SyncPoint::journal_batch), and nothing else
//   a large save its blob is synced and renamed, and its name synced, before that batch is written
//   a message    its file is synced, then its name; the journal is not involved
//   the files    synced before their journal segment is recycled; until then the journal is authoritative
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "adapters/filesystem/catalogue.hpp"
#include "adapters/filesystem/committer.hpp"
#include "adapters/filesystem/journal_writer.hpp"
#include "adapters/filesystem/options.hpp"
#include "adapters/filesystem/publisher.hpp"
#include "adapters/filesystem/run_export.hpp"
#include "adapters/filesystem/run_reader.hpp"
#include "base/mutex.hpp"
#include "codec/erased_text.hpp"
#include "ports/backup.hpp"
#include "ports/store.hpp"

namespace pawl {

class FilesystemStore final : public Store {
 public:
  /// Opens the store in `files`, which must outlive it. Only reads; the first open_run creates the files of a new
  /// store.
  [[nodiscard]] static Result<std::unique_ptr<FilesystemStore>> open(FileSystem& files, const Environment& environment,
                                                                     const FilesystemOptions& options);
  /// Opens a store that owns `files`.
  [[nodiscard]] static Result<std::unique_ptr<FilesystemStore>> open(std::unique_ptr<FileSystem> files,
                                                                     const Environment& environment,
                                                                     const FilesystemOptions& options);
  /// Commits and publishes everything that is pending. In a forked child, it touches nothing.
  ~FilesystemStore() override;

  Result<std::unique_ptr<RunWriter>> open_run(const RunId& run, const RunOptions& options) override;
  Result<std::unique_ptr<RunClaim>> claim(const RunId& run) override;
  Result<std::unique_ptr<RunWriter>> fork(const RunId& parent, Sequence at, const RunId& run,
                                          const RunOptions& options) override;
  Result<std::vector<ForkInfo>> forks_of(const RunId& run) override;
  Result<std::optional<ForkInfo>> origin_of(const RunId& run) override;
  Result<Restored> restore(const RunId& run, const Which& which) override;
  Result<RunInfo> run(const RunId& run) override;
  Result<std::vector<RunInfo>> runs(std::size_t limit) override;
  Result<CheckpointInfo> checkpoint(const RunId& run, const Which& which) override;
  Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run, Sequence after, std::size_t limit) override;
  Result<std::vector<Event>> events(const RunId& run, std::uint64_t after_number, std::size_t limit) override;
  Result<std::vector<AuditEntry>> audit(const RunId& run, std::uint64_t after, std::size_t limit) override;
  Result<std::string> post(const RunId& run, std::string_view body) override;
  Result<std::vector<Message>> inbox(const RunId& run) override;
  Result<void> take(const RunId& run, std::string_view message_id) override;
  Result<bool> inbox_sealed(const RunId& run) override;
  Result<std::optional<std::string>> owner(const RunId& run) override;
  Result<std::string> local_folder(const RunId& run) override;
  Result<std::vector<std::string>> held_locks(const RunId& run) override;
  Result<std::shared_ptr<LogCipher>> log_cipher(const RunId& run) override;
  std::unique_ptr<Limits> limits() override;
  std::unique_ptr<ResultCache> result_cache() override;
  Result<RunFootprint> footprint(const RunId& run) override;
  Result<std::uint64_t> shared_bytes() override;
  Result<PruneReport> prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) override;
  Timestamp believable_now() override;
  Result<std::vector<std::string>> wipe_pruned() override;
  Result<Erasure> erase(const RunId& run, const EraseRequest& request) override;
  Result<void> check_removal(const RunId& run) override;
  Result<std::vector<Erasure>> removed(std::size_t limit) override;
  Result<Recovered> recover(const RunId& run, const RecoverScope& scope) override;
  Result<void> log_failure(const RecoveryFailure& failure) override;
  Result<CheckReport> check(const CheckScope& scope, Repair repair) override;

  /// Returns the key that encrypts the key of an encrypted run in an export.
  using FindExportKey = std::function<Result<SecretKey>()>;
  /// Passes an export of the run (docs/formats/export.md) to `write`, piece by piece. Fails with run_busy while
  /// somebody writes to the run.
  Result<ExportedRun> export_run(const RunId& run, ExportLogs logs, const FindExportKey& outer,
                                 const std::function<Result<void>(std::string_view)>& write);
  /// Imports an export. When it returns, the run is complete and durable; after an error nothing of it is visible. A
  /// run that the store already contains with the same history is reported as repeated. Fails with run_exists,
  /// export_damaged, or the error that a check of the run finds.
  Result<ImportedExport> import_run(File& file, const FindExportKey& outer);

  /// Makes an ordinary store of a copy that was made while the store was in use, as reading or opening a run does.
  /// Leaves a copy as it is if it can't be written.
  Result<void> take_over_copy();

  /// Writes a backup of the whole store to `file`, without syncing it (see store_backup.hpp). Does not block writers.
  Result<WrittenBackup> back_up(File& file, const ShowBackupProgress& show);

  /// Publishes and syncs everything in the journal of this store, and recycles the journal.
  Result<void> settle_all();
  /// Creates the store, encrypted if a key is given. Fails with store_exists if a store exists.
  Result<void> create(const Uuid& id, const std::optional<NewStoreKey>& key);
  /// Finds the key of an encrypted store.
  Result<void> unlock() { return keys_.unlock(); }
  /// Changes the outer key. Writes only store.json. Afterwards only the new key opens the store.
  Result<void> rekey(const NewStoreKey& key);
  [[nodiscard]] Result<StoreRecord> store_record();
  /// Appends saved records to the readable files, without syncing.
  Result<void> publish_lazily();
  /// Rebuilds the catalogue from the files. Linear in the size of the store.
  Result<void> rebuild_catalogue();

 private:
  friend class FilesystemRunWriter;
  FilesystemStore(FileSystem& files, const Environment& environment, const FilesystemOptions& options);

  /// What an erasure uses, so that it does not hold a lock of this object while it waits for others.
  struct EraseWork {
    JournalWriter::Place place;
    JournalWriter* own = nullptr;  // this store's journal, if it has one
  };

  // Writing.
  Result<void> make_store() PAWL_REQUIRES(open_mutex_);
  Result<std::unique_ptr<File>> lock_store_file() PAWL_REQUIRES(open_mutex_);
  Result<void> write_store_file(std::string_view text);
  Result<void> replace_store_file(std::string_view text);
  Result<void> ensure_journal(const RunId& run) PAWL_REQUIRES(open_mutex_);
  Result<std::unique_ptr<JournalWriter>> acquire_journal(const RunId& run) PAWL_REQUIRES(open_mutex_);
  struct WriterView {
    std::shared_ptr<JournalSnapshot> snapshot;
    bool is_new = false;  // certainly: there is nothing of the run in files or journals
  };
  Result<std::shared_ptr<JournalSnapshot>> view_of_others() PAWL_REQUIRES(open_mutex_);
  /// Returns the error of a run that certainly does not exist; nothing if that is unknown. Does not read the own
  /// journal.
  Result<std::optional<Error>> absence_of(const RunId& run);
  Result<void> prepare_store(const RunId& run);
  Result<WriterView> view_for_writer(const RunId& run) PAWL_REQUIRES(open_mutex_);
  Result<std::optional<RunHead>> load_head(const RunId& run, Sequence fall_back_to) PAWL_REQUIRES(open_mutex_);
  Result<std::unique_ptr<File>> lock_run(const RunId& run);
  /// Takes the run's lock for writing and records this process in it. Waits for another process as long as the options
  /// allow, then fails with run_busy and names that process.
  [[nodiscard]] Result<void> take_writer_lock(const RunId& run, File& run_lock);
  Result<std::unique_ptr<File>> hold_new_run(const RunId& run);
  Result<std::unique_ptr<File>> hold_pruning(const std::string& run);
  Result<void> append(Committer::Bodies bodies, std::uint32_t record_count);
  Result<void> append_once(Committer::Bodies bodies, std::uint32_t record_count);
  Result<void> wait_for_room();
  [[nodiscard]] JournalWriter::Place place() const PAWL_REQUIRES(open_mutex_);

  // Publishing.
  void start_background() PAWL_REQUIRES(open_mutex_);
  void run_background(const EraseWork& work);
  Result<void> settle(JournalWriter& journal, const std::vector<FullSegment>& segments) PAWL_REQUIRES(publish_mutex_);
  Result<void> settle_full(JournalWriter& journal) PAWL_REQUIRES(publish_mutex_);
  Result<void> settle_everything(JournalWriter& journal) PAWL_REQUIRES(publish_mutex_);
  Result<void> publish_dirty(Publish mode) PAWL_REQUIRES(publish_mutex_);
  /// Settles the journals of processes that ended and removes their segments, until few are left. Many processes at a
  /// time leave many journals, and every open reads all of them.
  Result<void> merge_journals(const JournalWriter::Place& place) PAWL_REQUIRES(publish_mutex_);
  Result<void> settle_together(std::vector<std::unique_ptr<JournalWriter>>& journals) PAWL_REQUIRES(publish_mutex_);
  Result<void> publish_or_keep(const std::string& run, const RunBatch& batch, const RunBatch& own, RunBatches& stuck)
      PAWL_REQUIRES(publish_mutex_);
  Result<void> keep_journaled(const JournalWriter::Place& place, const RunBatches& runs) PAWL_REQUIRES(publish_mutex_);
  /// Fails if the files of the run could not be written.
  Result<void> refuse_stuck(const std::string& run);
  void forget_stuck(const std::string& run);
  void mark_dirty(const std::string& run);
  [[nodiscard]] bool is_clear(const std::string& run);
  [[nodiscard]] std::uint64_t unclear_count();
  void note_clear(const std::string& run, std::uint64_t count_before_snapshot);
  void note_unclear(const std::string& run);
  // Pruning.
  /// Called when a new group of checkpoints has started, so that the previous one can be closed.
  void mark_grown(const std::string& run);
  /// Called after every save: notes every now and then that the run should be pruned.
  void mark_saved(const std::string& run, Sequence latest);
  /// Called when a writer was closed; `latest` is 0 if it saved nothing.
  void mark_closed(const std::string& run, Sequence latest);
  void keep_newest(const RunId& run, std::uint64_t count);
  [[nodiscard]] RetentionSettings retention_of(const std::string& run);
  void start_pruning() PAWL_REQUIRES(dirty_mutex_);
  void run_pruning();
  void prune_grown(const std::function<bool()>& stop);
  Result<PruneReport> prune_until(const RunId& run, const RetentionSettings& settings, PruneMode mode,
                                  const std::function<bool()>& stop);
  /// Returns the checkpoints of a run that other runs were forked from, as the catalogue lists them.
  [[nodiscard]] std::vector<Sequence> known_fork_points(const Uuid& run) const;
  /// Archives audit entries of a pruned run that no journal contains any more.
  Result<void> archive_entries(const std::string& run);
  Result<bool> has_writer(const RunId& run);
  Result<bool> lock_closed_run(File& lock);
  /// Releases the data of checkpoints of `run` that another process pruned while this one had the run open.
  void release_pruned(const std::string& run);
  /// Overwrites the own journal if another process has asked for that.
  Result<void> wipe_if_asked(JournalWriter& own);
  Result<std::vector<std::string>> wipe_journals();
  Result<void> wipe_recovery(const std::set<std::string>& runs);
  Result<bool> journal_has_segments(std::uint64_t journal);
  /// Settles a journal and overwrites it. If the disk has no room for a new segment, removes the segments instead.
  Result<void> empty_free_journal(std::unique_ptr<JournalWriter> journal) PAWL_REQUIRES(publish_mutex_);
  /// Overwrites a journal that nobody holds. Returns false if somebody does, or if it is damaged.
  Result<bool> wipe_free_journal(const JournalWriter::Place& place, std::uint64_t number);
  [[nodiscard]] Timestamp limited_now(Timestamp now, Timestamp then, std::int64_t then_since_boot_us) const;
  /// The same, not limited by what this process knows about the clocks.
  Timestamp believable_by_note();
  /// Returns the time of the newest save in the store; nothing if it has none or can't be read.
  std::optional<Timestamp> newest_save();
  Result<std::shared_ptr<JournalSnapshot>> snapshot_of_everything();
  /// Repeats `work` once without the reserve if the disk is full, and creates the reserve again if there is room.
  template <class Work>
  auto with_reserve(Work work) -> decltype(work());
  bool give_up_reserve();
  void make_reserve();
  /// Repeats `write` after pruning as long as the disk is full.
  Result<void> with_room(const std::function<Result<void>()>& write);
  void make_room();
  /// Keeps a run's lock until the store is closed. The outcome of its last save is unknown, and nobody may continue the
  /// run before the journal was taken over.
  void keep_lock(std::unique_ptr<File> lock);

  // Erasing.
  Result<EraseWork> erase_work();
  Result<RunInfo> identity_of(const RunId& run, const JournalSnapshot& snapshot);
  Result<Uuid> uuid_to_erase(const RunId& run);
  Result<std::vector<RunId>> forks_of(const RunId& run, const Uuid& uuid);
  Result<std::vector<RunId>> erase_forks(const RunId& run, const Uuid& uuid, const EraseRequest& request);
  Result<std::unique_ptr<File>> lock_for_erasure(const RunId& run);
  Result<std::unique_ptr<File>> lock_unused(const RunId& run);
  Result<ErasedRecord> plan_erasure(const RunId& run, const EraseRequest& request);
  Result<ErasedRecord> plan_removal(ErasedRecord record, const EraseRequest& request);
  Result<Erasure> erase_now(const RunId& run, const EraseRequest& request);
  Result<Erasure> answer_erased(const ErasedRecord& record);
  Result<Erasure> finish_erasure(const EraseWork& work, ErasedRecord record, File& lock);
  Result<void> finish_if_free(const EraseWork& work, const std::string& run);
  /// Finishes the erasures that are noted in `erasing/`.
  Result<void> finish_erasures(const EraseWork& work);
  Result<void> clean_journals(const EraseWork& work, const ErasedRecord& record, std::vector<std::string>& waiting_for);
  Result<void> mend_erasures(const CheckReport& report) PAWL_REQUIRES(open_mutex_);
  Result<bool> clean_own_journal(JournalWriter& own, const Uuid& run);
  Result<std::string> clean_free_journal(const EraseWork& work, const Uuid& run, std::uint64_t number);
  Result<std::string> look_at_held_journal(const Uuid& run, std::uint64_t number);
  Result<void> clean_catalogue(const ErasedRecord& record);

  // Export.
  Result<std::unique_ptr<File>> lock_for_export(const RunId& run);
  Result<void> settle_run(const std::string& run);
  Result<UnpackedRun> unpack_run(ExportReader& reader, const ExportHeader& header, const FindExportKey& outer);
  Result<void> write_unpacked_key(const ExportHeader& header, const FindExportKey& outer);
  Result<void> check_origin(const RunRecord& fork);
  Result<std::unique_ptr<File>> tell_origin(const UnpackedRun& unpacked);
  Result<UnpackedRun> check_unpacked(const ExportHeader& header);
  Result<void> place_run(const std::string& run);
  Result<std::optional<UnpackedRun>> known_import(const UnpackedRun& unpacked);

  // Checking.
  bool is_in_catalogue(const RunId& run, const Which& which, const Error& error);
  Sequence newer_in_catalogue(const RunId& run, const Which& which, Sequence found);
  Result<void> check_scope(const CheckScope& scope);
  Result<CheckReport> find_faults(const CheckScope& scope);
  Result<void> check_run(const std::string& run, Sequence only, std::shared_ptr<const JournalSnapshot> snapshot,
                         CheckReport& report);
  Result<void> find_older_run(const RunInfo& row, const std::shared_ptr<JournalSnapshot>& snapshot,
                              CheckReport& report);
  Result<void> check_catalogue(CheckReport& report);
  Result<void> find_missing_runs(const std::set<std::string>& runs, const std::shared_ptr<JournalSnapshot>& snapshot,
                                 CheckReport& report);
  Result<void> find_missing(const RunId& run, const std::shared_ptr<JournalSnapshot>& snapshot, CheckReport& report);
  Result<void> mend(const CheckReport& report, std::vector<Finding>& findings);
  Result<std::unique_ptr<File>> lock_unused_files(const std::string& run);
  Result<std::unique_ptr<File>> lock_temporary(const std::string& path, const std::string& run)
      PAWL_REQUIRES(open_mutex_);
  Result<void> remove_leftovers(const CheckReport& report) PAWL_REQUIRES(open_mutex_);
  Result<void> mend_roots(const CheckReport& report) PAWL_REQUIRES(open_mutex_);
  Result<void> repair_journal(std::uint64_t number, std::vector<Finding>& findings,
                              std::map<std::string, Restored>& complete) PAWL_REQUIRES(open_mutex_);
  Result<std::uint64_t> publish_connected(const std::string& run, const std::shared_ptr<JournalSnapshot>& snapshot);
  Result<std::optional<Finding>> list_lost(const std::string& run, std::uint64_t highest, const LostBatches& lost,
                                           const std::string& kept, std::map<std::string, Restored>& complete);
  std::optional<Restored> newest_complete(const std::string& run, const std::shared_ptr<JournalSnapshot>& snapshot);
  Result<void> empty_journal(const JournalView& journal, File& owner) PAWL_REQUIRES(open_mutex_);
  Result<void> find_unrecorded(std::vector<Finding>& findings, std::map<std::string, Restored>& complete);
  Result<void> save_again(const std::map<std::string, Restored>& complete);
  Result<void> mend_forks();

  // Reading.
  /// Reads concurrently with writers. Reads again if apparent damage may be a write in progress.
  template <class Read>
  auto read_consistently(const std::string& run, Read read) -> decltype(read(std::shared_ptr<JournalSnapshot>()));
  /// What pruning changes concurrently with readers: the list and the file names of the run and of the runs that it was
  /// forked from. Covers all runs if `run` is empty.
  Result<std::string> prune_stamp(const std::string& run, const std::shared_ptr<JournalSnapshot>& snapshot);
  bool confirm_tails_of_the_dead(const JournalSnapshot& snapshot);
  /// Makes an ordinary store of a copy that was made while the store was in use.
  Result<bool> adopt_copy();
  Result<void> settle_copy(const std::shared_ptr<JournalSnapshot>& snapshot) PAWL_REQUIRES(open_mutex_);
  Result<void> adopt_if_copied();
  std::string end_of_copied(const std::string& run);
  /// Returns the previous snapshot if nothing has changed.
  Result<std::shared_ptr<JournalSnapshot>> current_snapshot();
  /// The same, after unconfirmed batches of dead writers were confirmed.
  Result<std::shared_ptr<JournalSnapshot>> snapshot_for_reader();
  Result<std::optional<CatalogueSave>> find_save(const std::string& run, const std::string& caller_id);
  Result<bool> is_undone(const std::string& run, Sequence saved);
  Result<std::optional<CatalogueSave>> find_save_in(const std::shared_ptr<JournalSnapshot>& snapshot,
                                                    const std::string& run, const std::string& caller_id);
  enum class Damaged : std::uint8_t { stops, is_listed };
  Result<std::vector<RunInfo>> list_runs(const std::shared_ptr<JournalSnapshot>& snapshot, std::size_t limit,
                                         Damaged damaged);
  Result<std::vector<RunInfo>> settled_runs(std::size_t limit);
  Result<std::vector<RunInfo>> runs_from_files();
  Result<std::set<std::string>> runs_being_erased();
  Result<std::set<std::string>> hidden_runs(const JournalSnapshot& snapshot);
  /// Fails with run_not_found if the run does not exist.
  Result<RunRecord> record_of(const RunId& run);

  // Catalogue.
  Result<void> update_catalogue(const RunBatches& batches);
  Result<std::unique_ptr<File>> lock_catalogue();
  Result<void> rebuild_catalogue_locked();
  Result<bool> nothing_was_saved(const std::string& run, const JournalSnapshot& snapshot);
  Result<std::vector<RunInfo>> missing_runs(const std::shared_ptr<JournalSnapshot>& snapshot,
                                            const std::set<std::string>& folders);
  /// Fails if the catalogue lists the run, which has no files.
  Result<void> refuse_missing(const std::string& run);
  /// Rebuilds the catalogue if it does not list the run.
  Result<void> list_if_missing(const std::string& run);
  Result<void> refuse_older(const RunId& run, const RunHead& head);
  [[nodiscard]] bool has_catalogue() const { return options_.catalogue; }

  const ProcessBound process_;
  std::unique_ptr<FileSystem> owned_files_;  // null if the caller owns the files; destroyed last
  FileSystem& files_;
  const Environment environment_;
  const FilesystemOptions options_;
  Catalogue catalogue_;
  KeyRing keys_;
  const Timestamp opened_at_;
  const std::int64_t opened_since_boot_us_;

  Mutex open_mutex_;  // taken before publish_mutex_
  bool made_ PAWL_GUARDED_BY(open_mutex_) = false;
  Uuid store_id_ PAWL_GUARDED_BY(open_mutex_);
  std::optional<Uuid> new_id_ PAWL_GUARDED_BY(open_mutex_);          // of a store that will be created
  std::optional<NewStoreKey> new_key_ PAWL_GUARDED_BY(open_mutex_);  // the same
  // Set once under open_mutex_ before any run is open; used by run writers and the publisher afterwards.
  std::unique_ptr<JournalWriter> journal_;
  std::unique_ptr<Committer> committer_;

  std::set<std::string, std::less<>> journaled_ PAWL_GUARDED_BY(open_mutex_);  // runs that this store's journal may
                                                                               // mention

  // Taken by acquire_journal after the run was locked, and used once: reading all journals again would find the same.
  std::shared_ptr<JournalSnapshot> opening_ PAWL_GUARDED_BY(open_mutex_);

  // The journals of others when a run was last opened, if all of their batches were confirmed.
  std::shared_ptr<JournalSnapshot> others_ PAWL_GUARDED_BY(open_mutex_);

  Mutex snapshot_mutex_;
  std::shared_ptr<JournalSnapshot> last_snapshot_ PAWL_GUARDED_BY(snapshot_mutex_);

  Mutex inbox_mutex_;
  std::set<std::string> named_inboxes_ PAWL_GUARDED_BY(inbox_mutex_);  // runs whose folders' names were synced

  // Opening a run must not wait until a publication ends, so this is not publish_mutex_.
  Mutex clear_mutex_;
  std::set<std::string> clear_ PAWL_GUARDED_BY(clear_mutex_);  // runs without earlier records in other journals
  std::uint64_t unclear_ PAWL_GUARDED_BY(clear_mutex_) = 0;    // how often a run turned out to have such records

  Mutex publish_mutex_;
  Publisher publisher_ PAWL_GUARDED_BY(publish_mutex_);
  std::set<std::string> unrooted_ PAWL_GUARDED_BY(publish_mutex_);  // published without roots
  bool behind_ PAWL_GUARDED_BY(publish_mutex_) = false;             // records of a dirty run may be missing in its
                                                                    // files

  std::atomic<bool> is_new_ = false;  // this object created store.json

  std::atomic<bool> wipe_again_ =
      false;  // whether this store's journal must be overwritten again: an attempt may have failed

  Mutex dirty_mutex_;
  std::set<std::string> dirty_ PAWL_GUARDED_BY(dirty_mutex_);  // runs with records that are not yet in their files
  std::optional<Error> publish_error_ PAWL_GUARDED_BY(dirty_mutex_);
  std::map<std::string, Error> stuck_ PAWL_GUARDED_BY(dirty_mutex_);  // runs whose files can't be written, and why
  std::atomic<bool> has_stuck_ = false;
  std::uint64_t recycled_ PAWL_GUARDED_BY(dirty_mutex_) = 0;
  std::vector<std::unique_ptr<File>> kept_locks_ PAWL_GUARDED_BY(dirty_mutex_);
  bool stopping_ PAWL_GUARDED_BY(dirty_mutex_) = false;
  bool wanted_ PAWL_GUARDED_BY(dirty_mutex_) = false;
  std::set<std::string> grown_ PAWL_GUARDED_BY(dirty_mutex_);                    // runs to be pruned
  std::set<std::string> pruned_runs_ PAWL_GUARDED_BY(dirty_mutex_);              // whose audit entries may be archived
  std::map<std::string, std::uint64_t> own_keep_ PAWL_GUARDED_BY(dirty_mutex_);  // of runs with a limit of their own
  std::atomic<bool> has_own_keep_ = false;
  std::atomic<bool> has_pruned_ = false;                      // this process removed checkpoints in the background
  bool pruning_waits_ PAWL_GUARDED_BY(dirty_mutex_) = false;  // waiting until a run grows
  Condition wake_publisher_;
  Condition wake_pruning_;
  Condition room_;
  std::thread background_;
  std::thread pruning_;
};

template <class Work>
auto FilesystemStore::with_reserve(Work work) -> decltype(work()) {
  auto done = work();
  if (!done && done.error().code == Code::disk_full && give_up_reserve()) done = work();
  make_reserve();
  return done;
}

constexpr int kReadAttemptsMax = 1000;

template <class Read>
auto FilesystemStore::read_consistently(const std::string& run, Read read)
    -> decltype(read(std::shared_ptr<JournalSnapshot>())) {
  std::optional<std::string> stamp;
  for (int attempt = 0; attempt < kReadAttemptsMax; ++attempt) {
    PAWL_TRY_ASSIGN(auto snapshot, snapshot_for_reader());
    auto result = read(snapshot);
    if (!result && result.error().code == Code::run_not_found) PAWL_TRY(refuse_missing(run));
    if (result || !is_refusal(result.error().code)) return result;
    // Apparent damage may be a line that is being published, a record saved after the snapshot was taken, or a file
    // that has just been pruned.
    PAWL_TRY_ASSIGN(const auto now, JournalSnapshot::take(files_, environment_.owner.boot_id));
    PAWL_TRY_ASSIGN(std::string stamp_now, prune_stamp(run, now));
    if (now->last_batches() == snapshot->last_batches() && stamp == stamp_now) return result;
    stamp = std::move(stamp_now);
  }
  return fail(Code::store_busy, "the store changes faster than it can be read");
}

}  // namespace pawl
