#include "adapters/filesystem/filesystem_store.hpp"

#include <algorithm>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/migrations.hpp"
#include "adapters/filesystem/run_writer.hpp"
#include "base/assert.hpp"
#include "base/confined.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kTakeoverWaitUs = 5'000'000;
constexpr std::int64_t kTakeoverStepUs = 1'000;

Error busy(std::string message) { return Error{Code::store_busy, std::move(message), {}, "try again", 0}; }

}  // namespace

FilesystemStore::FilesystemStore(FileSystem& files, const Environment& environment, const FilesystemOptions& options)
    : files_(files),
      environment_(environment),
      options_(options),
      catalogue_(files, *environment.clock),
      keys_(files, options_),
      opened_at_(environment.clock->now()),
      opened_since_boot_us_(environment.clock->since_boot_us()),
      new_key_(options.new_key),
      publisher_(files, environment, options) {}

Result<std::unique_ptr<FilesystemStore>> FilesystemStore::open(FileSystem& files, const Environment& environment,
                                                               const FilesystemOptions& options) {
  std::unique_ptr<FilesystemStore> store(new FilesystemStore(files, environment, options));
  auto text = files.read_file(layout::kStoreFile, 1ULL << 20);
  if (!text && text.error().code == Code::input_unreadable) {
    // store.json and its name are durable before the first journal segment is created.
    PAWL_TRY_ASSIGN(const bool journals, has_segments(files));
    if (!journals) return store;
    return fail(Error{Code::store_damaged, "store.json is missing but the store has journals",
                      std::string(layout::kStoreFile), "restore the file from a backup", 0});
  }
  if (!text) return std::unexpected(text.error());
  auto record = decode_store(*text);
  if (!record) return fail(at(record.error(), std::string(layout::kStoreFile)));
  const Lock lock(store->open_mutex_);
  store->made_ = record->format == kFormat;  // the first writer migrates an older format
  store->store_id_ = record->id;
  store->keys_.use(*record);
  return store;
}

Result<std::unique_ptr<FilesystemStore>> FilesystemStore::open(std::unique_ptr<FileSystem> files,
                                                               const Environment& environment,
                                                               const FilesystemOptions& options) {
  PAWL_TRY_ASSIGN(auto store, open(*files, environment, options));
  store->owned_files_ = std::move(files);
  return store;
}

FilesystemStore::~FilesystemStore() {
  if (process_.is_copy()) {
    for (std::thread* thread : {&pruning_, &background_}) {
      if (thread->joinable()) thread->detach();
    }
    for (Condition* condition : {&wake_publisher_, &wake_pruning_, &room_}) condition->forget_waiters();
    return;
  }
  {
    const Lock lock(dirty_mutex_);
    stopping_ = true;
    wake_publisher_.notify_all();
    wake_pruning_.notify_all();
  }
  if (pruning_.joinable()) pruning_.join();
  if (background_.joinable()) background_.join();
  if (!journal_) return;
  const JournalWriter::Place at_close = [&] {
    const Lock lock(open_mutex_);
    return place();
  }();
  // Everything acknowledged is already durable. If this fails, the next process that opens the store publishes the
  // rest.
  static_cast<void>(committer_->flush());
  committer_.reset();
  {
    const Lock lock(publish_mutex_);
    if (publish_dirty(Publish::closing) && !behind_) static_cast<void>(journal_->mark_published());
    if (!journal_->full_segments().empty()) static_cast<void>(settle_full(*journal_));
    if (journal_->is_long()) static_cast<void>(settle_everything(*journal_));
    if (journal_->wants_next()) static_cast<void>(journal_->ensure_next());
    static_cast<void>(merge_journals(at_close));
  }
  const std::int64_t end_us = environment_.clock->monotonic_us() + options_.prune_at_close_us;
  prune_grown([&] { return environment_.clock->monotonic_us() >= end_us; });
  // A process that stayed leaves no pruned data in its journal. For a single save that would take too long; the journal
  // is then overwritten by later saves, or by an explicit prune.
  if (has_pruned_ && options_.background == Background::thread) {
    const Lock lock(publish_mutex_);
    if (settle_everything(*journal_)) static_cast<void>(journal_->wipe_unused());
  }
  // Another process may have pruned a run with records in this journal, and has left a note for this one.
  const std::uint64_t number = journal_->number();
  journal_.reset();
  if (files_.exists(layout::journal_wipe(number)).value_or(false))
    static_cast<void>(wipe_free_journal(at_close, number));
  // The same for runs that were erased while this process held its journal.
  static_cast<void>(finish_erasures({at_close, nullptr}));
}

JournalWriter::Place FilesystemStore::place() const { return {&files_, environment_, store_id_, options_}; }

Result<std::unique_ptr<File>> FilesystemStore::lock_store_file() {
  PAWL_TRY_ASSIGN(auto lock, files_.open("store.lock", OpenMode::create));
  for (std::int64_t waited_us = 0;; waited_us += kTakeoverStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, lock->try_lock(layout::kWriterByte));
    if (locked) return lock;
    if (waited_us >= kTakeoverWaitUs)
      return fail(busy("timed out waiting for another process that is changing store.json"));
    environment_.clock->sleep_us(kTakeoverStepUs);
  }
}

/// Creates store.json once; a lock keeps two first writers from creating it twice.
Result<void> FilesystemStore::make_store() {
  if (made_) return {};
  PAWL_TRY_ASSIGN(const auto lock, lock_store_file());
  PAWL_TRY_ASSIGN(const bool exists, files_.exists(layout::kStoreFile));
  StoreRecord record;
  if (exists) {
    PAWL_TRY_ASSIGN(const std::string text, files_.read_file(layout::kStoreFile, 1ULL << 20));
    PAWL_TRY_ASSIGN(record, decode_store(text));
    if (record.format < kFormat) {
      PAWL_TRY_ASSIGN(const std::string migrated, migrate_store(text));
      PAWL_TRY(replace_store_file(migrated));
      PAWL_TRY_ASSIGN(record, decode_store(migrated));
    }
  } else {
    record.id = new_id_ ? *new_id_ : make_uuid(*environment_.random);
    record.created = environment_.clock->now();
    record.keep = kKeepInNewStores;
    if (new_key_) record.key = make_store_key(record.id, new_key_->outer, new_key_->scrypt, *environment_.random);
    PAWL_TRY(write_store_file(encode_store(record)));
    is_new_ = true;
  }
  // Its name is synced together with that of the journals, before the first segment is created.
  made_ = true;
  store_id_ = record.id;
  keys_.use(record);
  return {};
}

Result<void> FilesystemStore::write_store_file(std::string_view text) {
  const std::string temporary = std::string(layout::kStoreFile) + ".tmp";
  // After a power loss, the old name of a renamed file may exist again. Truncating it would truncate store.json.
  PAWL_TRY(files_.remove(temporary));
  PAWL_TRY_ASSIGN(const auto file, files_.open(temporary, OpenMode::create_empty));
  PAWL_TRY(file->write_at(0, text));
  PAWL_TRY(file->sync(SyncPoint::store_file));
  return files_.rename(temporary, layout::kStoreFile);
}

Result<void> FilesystemStore::replace_store_file(std::string_view text) {
  PAWL_TRY(write_store_file(text));
  return files_.sync_folder("", SyncPoint::store_file_name);
}

Result<void> FilesystemStore::create(const Uuid& id, const std::optional<NewStoreKey>& key) {
  PAWL_TRY(process_.refuse_copy());
  const Lock lock(open_mutex_);
  PAWL_TRY_ASSIGN(const bool exists, files_.exists(layout::kStoreFile));
  if (exists) {
    return fail(Error{Code::store_exists, "a store already exists here", std::string(layout::kStoreFile),
                      "use it, or choose another folder with --store", 0});
  }
  new_id_ = id;
  new_key_ = key;
  PAWL_TRY(make_store());
  static_cast<void>(believable_now());  // notes the clocks
  return files_.sync_folder("", SyncPoint::store_file_name);
}

Result<void> FilesystemStore::rekey(const NewStoreKey& key) {
  PAWL_TRY(process_.refuse_copy());
  const Lock lock(open_mutex_);
  PAWL_TRY(make_store());
  if (!keys_.encrypted()) {
    return fail(Error{Code::usage,
                      "the store is not encrypted",
                      std::string(layout::kStoreFile),
                      {},
                      0,
                      Advice::make_other_encrypted_store});
  }
  PAWL_TRY_ASSIGN(const auto file_lock, lock_store_file());
  PAWL_TRY_ASSIGN(const std::string text, files_.read_file(layout::kStoreFile, 1ULL << 20));
  PAWL_TRY_ASSIGN(const std::string changed, keys_.rewrapped(text, key.outer, key.scrypt, *environment_.random));
  PAWL_TRY(replace_store_file(changed));
  PAWL_TRY_ASSIGN(const StoreRecord record, decode_store(changed));
  keys_.use(record);
  return {};
}

Result<StoreRecord> FilesystemStore::store_record() {
  PAWL_TRY_ASSIGN(const std::string text, files_.read_file(layout::kStoreFile, 1ULL << 20));
  return decode_store(text);
}

/// The run is locked: whoever wrote to it before has ended, and all of its batches are in the snapshot.
/// Prefers a free journal with the run's last records, because continuing it costs nothing. Otherwise takes any free
/// journal, or creates one.
Result<std::unique_ptr<JournalWriter>> FilesystemStore::acquire_journal(const RunId& run) {
  PAWL_TRY_ASSIGN(const auto snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
  opening_ = snapshot;
  std::vector<std::uint64_t> candidates;
  if (const RunRecords* records = snapshot->find(run.text()); records != nullptr && !records->checkpoints.empty()) {
    candidates.push_back(records->checkpoints.rbegin()->second.journal);
  }
  for (const JournalView& journal : snapshot->journals()) candidates.push_back(journal.number);
  for (const JournalView& journal : snapshot->journals()) {
    if (journal.damage) std::erase(candidates, journal.number);
  }
  for (const std::uint64_t number : candidates) {
    auto journal = JournalWriter::take_over(place(), number);
    if (!journal && category(journal.error().code) == Category::integrity) continue;  // damaged since
    if (!journal || *journal) return journal;
  }
  return JournalWriter::create(place());
}

Result<void> FilesystemStore::ensure_journal(const RunId& run) {
  opening_.reset();
  if (journal_) return {};
  PAWL_TRY_ASSIGN(journal_, acquire_journal(run));
  journaled_ = journal_->runs_at_takeover();
  make_reserve();
  static_cast<void>(believable_now());  // notes the clocks of this boot before anything can seem old
  committer_ = std::make_unique<Committer>(
      [this](Committer::Bodies bodies, std::uint32_t count) { return append(bodies, count); }, options_,
      *environment_.clock);
  if (options_.background == Background::thread) start_background();
  return {};
}

/// Confirms batches of this run in journals whose writer died: they may be only in the page cache. The holder of the
/// run's lock must do so before it can tell which checkpoint is the run's last.
Result<FilesystemStore::WriterView> FilesystemStore::view_for_writer(const RunId& run) {
  // Reading the own journal takes longer the fuller it is, and it says nothing about a run that it never mentioned.
  std::uint64_t except = journaled_.contains(run.text()) ? 0 : journal_->number();
  for (std::int64_t waited_us = 0;; waited_us += kTakeoverStepUs) {
    std::shared_ptr<JournalSnapshot> snapshot = std::exchange(opening_, nullptr);
    const bool unchanged =
        snapshot && std::ranges::none_of(snapshot->journals(), &JournalView::has_unconfirmed) && !snapshot->damage();
    if (!unchanged) {
      PAWL_TRY_ASSIGN(snapshot,
                      except != 0 ? view_of_others() : JournalSnapshot::take(files_, environment_.owner.boot_id));
    }
    bool is_new = false;
    if (except != 0) {
      const auto record = RunReader(files_, keys_, run.text(), snapshot).run_record();
      is_new = !record && record.error().code == Code::run_not_found;
      if (!is_new && (!record || record->fork_of_run)) {
        except = 0;  // the run that it was forked from may be in the own journal
        PAWL_TRY_ASSIGN(snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
      }
    }
    bool unconfirmed = false;
    for (const JournalView& view : snapshot->journals()) {
      if (view.number == journal_->number() || !view.has_unconfirmed()) continue;
      PAWL_TRY_ASSIGN(const bool mentioned, mentions_unconfirmed(view, run.text()));
      if (!mentioned) continue;
      unconfirmed = true;
      // Taking the journal over confirms its tail. The journal is released at the end of this scope.
      PAWL_TRY_ASSIGN(const auto taken, JournalWriter::take_over(place(), view.number));
    }
    if (!unconfirmed) return WriterView{std::move(snapshot), is_new};
    if (waited_us >= kTakeoverWaitUs)
      return fail(busy("timed out waiting for another process that is taking over a journal"));
    environment_.clock->sleep_us(kTakeoverStepUs);
  }
}

Result<std::optional<RunHead>> FilesystemStore::load_head(const RunId& run, Sequence fall_back_to) {
  PAWL_TRY_ASSIGN(const WriterView view, view_for_writer(run));
  RunReader reader(files_, keys_, run.text(), view.snapshot);
  // Only this process writes to the run now, so apparent damage is real.
  std::optional<RunHead> head;
  if (fall_back_to) {
    PAWL_TRY_ASSIGN(head, reader.head_behind_damage(fall_back_to, environment_.clock->now()));
  } else if (!view.is_new) {
    PAWL_TRY_ASSIGN(head, reader.head());
  }
  if (!head) PAWL_TRY(refuse_missing(run.text()));
  if (head && !head->behind_damage()) PAWL_TRY(refuse_older(run, *head));
  // A folder that was copied into the store: without its rows, a repeated id would be saved twice.
  if (head && view.snapshot->find(run.text()) == nullptr) PAWL_TRY(list_if_missing(run.text()));
  bool elsewhere = false;
  if (const RunRecords* records = view.snapshot->find(run.text())) {
    for (const auto& [sequence, found] : records->checkpoints) elsewhere |= found.journal != journal_->number();
  }
  journaled_.insert(run.text());
  forget_stuck(run.text());
  if (elsewhere) {
    note_unclear(run.text());
  } else {
    const Lock lock(clear_mutex_);
    clear_.insert(run.text());
  }
  return head;
}

/// Does not hold open_mutex_: other threads open their runs while this one creates a folder or waits.
Result<std::unique_ptr<File>> FilesystemStore::lock_run(const RunId& run) {
  auto created = files_.make_folder(layout::run(run.text()));
  if (!created && created.error().code == Code::write_failed) {
    PAWL_TRY(files_.make_folder(layout::kRuns));  // the first run of the store
    created = files_.make_folder(layout::run(run.text()));
  }
  if (!created) return std::unexpected(created.error());
  if (!*created) PAWL_TRY(refuse_erased(files_, run.text()));
  PAWL_TRY_ASSIGN(auto run_lock, files_.open(layout::run_lock(run.text()), OpenMode::create));
  PAWL_TRY(take_writer_lock(run, *run_lock));
  return run_lock;
}

Result<void> FilesystemStore::take_writer_lock(const RunId& run, File& run_lock) {
  constexpr std::int64_t kStepMaxUs = 50'000;
  constexpr int kLooksMax = 3;
  std::int64_t step_us = 1'000;
  int looks = 0;
  bool claimed = false;
  for (std::int64_t waited_us = 0;; waited_us += step_us, step_us = std::min(2 * step_us, kStepMaxUs)) {
    PAWL_TRY_ASSIGN(const bool locked, run_lock.try_lock(layout::kWriterByte));
    if (locked) {
      if (claimed) static_cast<void>(run_lock.unlock(layout::kClaimByte));
      return run_lock.write_at(0, encode_owner(environment_.owner));
    }
    std::int64_t wait_us = options_.lock_wait_us;
    if (waited_us >= wait_us) {
      // A pruner needs the lock only for a moment. It may have released both bytes since the attempt above.
      PAWL_TRY_ASSIGN(const bool closing, run_lock.locked_elsewhere(layout::kClosingByte));
      looks = closing ? 0 : looks + 1;
      if (looks == kLooksMax || waited_us >= kLockWaitUs) break;
      if (!closing) continue;
      wait_us = kLockWaitUs;
    }
    if (!claimed) claimed = run_lock.try_lock_shared(layout::kClaimByte).value_or(false);
    environment_.clock->sleep_us(std::min(step_us, wait_us - waited_us));
  }
  PAWL_TRY_ASSIGN(const std::string owner, run_lock.read_at(0, kWatermarkOffset));
  return fail(Error{Code::run_busy,
                    fmt::format("run '{}' is busy: held by {}", run.text(), describe_owner(owner)),
                    layout::run_lock(run.text()),
                    {},
                    0,
                    Advice::wait_for_run,
                    {.run = run.text()}});
}

Result<std::unique_ptr<RunWriter>> FilesystemStore::open_run(const RunId& run, const RunOptions& options) {
  PAWL_TRY(process_.refuse_copy());
  PAWL_TRY(adopt_if_copied());
  PAWL_TRY(prepare_store(run));
  PAWL_TRY_ASSIGN(auto run_lock, lock_run(run));
  const Lock lock(open_mutex_);
  // It may have been erased while this process waited for the lock. Once there is a journal, load_head looks first.
  if (!journal_) PAWL_TRY(refuse_erased(files_, run.text()));
  PAWL_TRY(ensure_journal(run));
  PAWL_TRY_ASSIGN(auto head, load_head(run, options.fall_back_to));
  return FilesystemRunWriter::make(*this, run, options, std::move(run_lock), std::move(head));
}

/// Does what comes before the first run is locked.
Result<void> FilesystemStore::prepare_store(const RunId& run) {
  const Lock lock(open_mutex_);
  if (journal_) return {};
  PAWL_TRY(refuse_erased(files_, run.text()));
  PAWL_TRY(make_store());
  // The next writer finishes what a killed eraser left. A failure does not keep it from opening the run.
  static_cast<void>(finish_erasures({place(), nullptr}));
  return {};
}

/// Looks only at the marks of the journals, before this process writes to one.
Result<void> FilesystemStore::adopt_if_copied() {
  {
    const Lock lock(open_mutex_);
    if (journal_) return {};
  }
  PAWL_TRY_ASSIGN(const auto numbers, list_journals(files_));
  bool copied = false;
  for (const std::uint64_t number : numbers) {
    PAWL_TRY_ASSIGN(const bool foreign, is_copied_journal(files_, number));
    copied |= foreign;
  }
  if (copied) PAWL_TRY(adopt_copy());
  return {};
}

// ---- The save path --------------------------------------------------------------------------------

Result<void> FilesystemStore::append(Committer::Bodies bodies, std::uint32_t record_count) {
  return with_room([&] { return append_once(bodies, record_count); });
}

Result<void> FilesystemStore::append_once(Committer::Bodies bodies, std::uint32_t record_count) {
  auto appended = journal_->append(bodies, record_count);
  if (!appended && appended.error().code == Code::store_busy) {
    PAWL_TRY(wait_for_room());
    appended = journal_->append(bodies, record_count);
  }
  if (options_.background == Background::thread && journal_->wants_care()) {
    const Lock lock(dirty_mutex_);
    wanted_ = true;
    wake_publisher_.notify_one();
  }
  return appended;
}

/// All segments are full because the publisher is behind. Without a background thread, publishing happens here.
Result<void> FilesystemStore::wait_for_room() {
  if (options_.background == Background::none) {
    const Lock lock(publish_mutex_);
    return settle_full(*journal_);
  }
  Lock lock(dirty_mutex_);
  const std::uint64_t before = recycled_;
  const std::int64_t deadline_us = environment_.clock->monotonic_us() + options_.backlog_wait_us;
  while (recycled_ == before) {
    wanted_ = true;
    wake_publisher_.notify_one();
    if (publish_error_) return std::unexpected(*publish_error_);
    const std::int64_t left_us = deadline_us - environment_.clock->monotonic_us();
    if (left_us <= 0) return fail(busy("the journal is full and publishing makes no progress"));
    room_.wait_us(lock, std::min<std::int64_t>(left_us, 100'000));
  }
  return {};
}

void FilesystemStore::mark_dirty(const std::string& run) {
  const Lock lock(dirty_mutex_);
  dirty_.insert(run);
}

void FilesystemStore::keep_lock(std::unique_ptr<File> lock) {
  const Lock guard(dirty_mutex_);
  kept_locks_.push_back(std::move(lock));
}

// ---- Reading --------------------------------------------------------------------------------------

/// Confirms complete batches of writers that were killed between write and acknowledgement. The next save builds on
/// them, so readers should see them before that. This is the only thing that a reader writes. If it fails, the batches
/// stay invisible. Returns whether any were confirmed.
bool FilesystemStore::confirm_tails_of_the_dead(const JournalSnapshot& snapshot) {
  bool confirmed = false;
  for (const JournalView& journal : snapshot.journals()) {
    if (!journal.has_unconfirmed() || journal.damage) continue;
    const Lock lock(open_mutex_);
    if (!made_ || (journal_ && journal_->number() == journal.number)) continue;
    const auto taken = JournalWriter::take_over(place(), journal.number);
    confirmed |= taken && *taken;
  }
  return confirmed;
}

Result<std::shared_ptr<JournalSnapshot>> FilesystemStore::current_snapshot() {
  std::shared_ptr<JournalSnapshot> last;
  {
    const Lock lock(snapshot_mutex_);
    last = last_snapshot_;
  }
  if (last) {
    PAWL_TRY_ASSIGN(const bool current, last->is_current(files_, environment_.owner.boot_id));
    if (current) return last;
  }
  PAWL_TRY_ASSIGN(auto fresh, JournalSnapshot::take(files_, environment_.owner.boot_id));
  const Lock lock(snapshot_mutex_);
  last_snapshot_ = fresh;
  return fresh;
}

Result<std::shared_ptr<JournalSnapshot>> FilesystemStore::snapshot_for_reader() {
  PAWL_TRY(process_.refuse_copy());
  PAWL_TRY_ASSIGN(auto snapshot, current_snapshot());
  if (snapshot->copied()) {
    const auto adopted = adopt_copy();
    if (!adopted && category(adopted.error().code) != Category::storage) return std::unexpected(adopted.error());
    PAWL_TRY_ASSIGN(snapshot, current_snapshot());
  }
  if (!confirm_tails_of_the_dead(*snapshot)) return snapshot;
  return current_snapshot();
}

namespace {

Error missing(const RunId& run, const Which& which) {
  return Error{
      Code::chain_broken,
      fmt::format("checkpoint {} of run '{}' is missing, but the catalogue lists it", which.sequence.value, run.text()),
      layout::checkpoints(run.text()),
      "restore the folder from a newer backup; to accept the loss, delete catalogue.db",
      0,
      Advice::check_store,
      {.run = run.text()}};
}

}  // namespace

Result<Restored> FilesystemStore::restore(const RunId& run, const Which& which) {
  const auto read = [&] {
    return read_consistently(run.text(), [&](auto snapshot) {
      return RunReader(files_, keys_, run.text(), std::move(snapshot)).restore(which);
    });
  };
  auto restored = read();
  if (restored && newer_in_catalogue(run, which, restored->info.sequence)) {
    restored = read();
    if (!restored) return restored;
    const Sequence newer = newer_in_catalogue(run, which, restored->info.sequence);
    return newer ? fail(missing(run, {.by = Which::By::sequence, .sequence = newer})) : std::move(restored);
  }
  if (restored || !is_in_catalogue(run, which, restored.error())) return restored;
  restored = read();  // it may have been saved in the meantime
  return restored || restored.error().code != Code::checkpoint_not_found ? restored : fail(missing(run, which));
}

/// Returns whether the catalogue lists a checkpoint that was not found.
bool FilesystemStore::is_in_catalogue(const RunId& run, const Which& which, const Error& error) {
  if (error.code != Code::checkpoint_not_found || which.by != Which::By::sequence || !has_catalogue()) return false;
  const auto row = catalogue_.find_run(run.text());
  return row && *row && which.sequence && which.sequence <= (*row)->latest;
}

/// Returns the newest checkpoint that the catalogue lists if it is newer than `found`, which was the newest one: the
/// files were replaced by an older copy, or it was saved in the meantime.
Sequence FilesystemStore::newer_in_catalogue(const RunId& run, const Which& which, Sequence found) {
  if (which.by != Which::By::latest || !has_catalogue()) return {};
  const auto row = catalogue_.find_run(run.text());
  return row && *row && (*row)->status != Status::erased && (*row)->latest > found ? (*row)->latest : Sequence();
}

Result<RunInfo> FilesystemStore::run(const RunId& run) {
  PAWL_TRY(process_.refuse_copy());
  PAWL_TRY(refuse_erased(files_, run.text()));
  PAWL_TRY_ASSIGN(std::optional<Error> absent, absence_of(run));
  if (absent) {
    PAWL_TRY(refuse_missing(run.text()));
    return fail(std::move(*absent));
  }
  auto info = read_consistently(
      run.text(), [&](auto snapshot) { return RunReader(files_, keys_, run.text(), std::move(snapshot)).overview(); });
  if (info || !is_confined(info.error())) return info;
  PAWL_TRY_ASSIGN(const auto snapshot, snapshot_for_reader());
  auto listed = RunReader(files_, keys_, run.text(), snapshot).listing();
  return listed || listed.error().code != Code::run_not_found ? listed : info;
}

Result<CheckpointInfo> FilesystemStore::checkpoint(const RunId& run, const Which& which) {
  const auto read = [&] {
    return read_consistently(run.text(), [&](auto snapshot) {
      return RunReader(files_, keys_, run.text(), std::move(snapshot)).info(which);
    });
  };
  auto info = read();
  if (info && newer_in_catalogue(run, which, info->sequence)) {
    info = read();
    if (!info) return info;
    const Sequence newer = newer_in_catalogue(run, which, info->sequence);
    return newer ? fail(missing(run, {.by = Which::By::sequence, .sequence = newer})) : std::move(info);
  }
  if (info || !is_in_catalogue(run, which, info.error())) return info;
  info = read();
  return info || info.error().code != Code::checkpoint_not_found ? info : fail(missing(run, which));
}

Result<std::vector<CheckpointInfo>> FilesystemStore::checkpoints(const RunId& run, Sequence after, std::size_t limit) {
  return read_consistently(run.text(), [&](auto snapshot) {
    return RunReader(files_, keys_, run.text(), std::move(snapshot)).list(after, limit);
  });
}

Result<std::vector<Event>> FilesystemStore::events(const RunId& run, std::uint64_t after_number, std::size_t limit) {
  return read_consistently(run.text(), [&](auto snapshot) {
    return RunReader(files_, keys_, run.text(), std::move(snapshot)).events(after_number, limit);
  });
}

Result<std::vector<AuditEntry>> FilesystemStore::audit(const RunId& run, std::uint64_t after, std::size_t limit) {
  return read_consistently(run.text(), [&](auto snapshot) {
    return RunReader(files_, keys_, run.text(), std::move(snapshot)).audit(after, limit);
  });
}

}  // namespace pawl
