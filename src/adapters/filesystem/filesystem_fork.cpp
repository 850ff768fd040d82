// FilesystemStore: forks.
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/fork_notes.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_writer.hpp"
#include "base/confined.hpp"
#include "domain/erasure.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kPrunerWaitUs = 5'000'000;
constexpr std::int64_t kPrunerStepUs = 1'000;

Error exists_already(const RunId& run) {
  return Error{
      Code::run_exists, fmt::format("run '{}' already exists", run.text()), {}, "choose another id for the fork", 0};
}

}  // namespace

/// Nothing that the fork needs may be pruned before its note exists.
Result<std::unique_ptr<File>> FilesystemStore::hold_pruning(const std::string& run) {
  for (const std::string& folder : {std::string(layout::kRuns), layout::run(run)}) PAWL_TRY(files_.make_folder(folder));
  PAWL_TRY_ASSIGN(auto lock, files_.open(layout::run_lock(run), OpenMode::create));
  for (std::int64_t waited_us = 0;; waited_us += kPrunerStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, lock->try_lock(layout::kPrunerByte));
    if (locked) return lock;
    if (waited_us >= kPrunerWaitUs) {
      return fail(Error{Code::store_busy,
                        fmt::format("timed out waiting for another process that is pruning run '{}'", run),
                        {},
                        "try again",
                        0});
    }
    environment_.clock->sleep_us(kPrunerStepUs);
  }
}

Result<std::unique_ptr<File>> FilesystemStore::hold_new_run(const RunId& run) {
  {
    const Lock lock(open_mutex_);
    PAWL_TRY(make_store());
  }
  PAWL_TRY_ASSIGN(auto run_lock, lock_run(run));
  const Lock lock(open_mutex_);
  PAWL_TRY(ensure_journal(run));
  PAWL_TRY_ASSIGN(const auto head, load_head(run, {}));
  if (head) return fail(exists_already(run));
  return run_lock;
}

/// The order is: lock the fork, take the parent's pruner lock, read the parent, write the note. A kill at any point
/// leaves at most a note of a fork that does not exist.
Result<std::unique_ptr<RunWriter>> FilesystemStore::fork(const RunId& parent, Sequence at, const RunId& run,
                                                         const RunOptions& options) {
  PAWL_TRY(process_.refuse_copy());
  // A fork at a shared checkpoint of another fork is a fork of the original run.
  PAWL_TRY_ASSIGN(const std::string home, read_consistently(parent.text(), [&](auto snapshot) -> Result<std::string> {
                    RunReader reader(files_, keys_, parent.text(), std::move(snapshot));
                    PAWL_TRY(reader.info({.by = Which::By::sequence, .sequence = at}));
                    PAWL_TRY_ASSIGN(const RunReader* const found, reader.home_of(at));
                    return found->name();
                  }));
  const auto known = record_of(run);
  if (known) return fail(exists_already(run));
  if (known.error().code != Code::run_not_found) return std::unexpected(known.error());
  PAWL_TRY_ASSIGN(auto run_lock, hold_new_run(run));
  PAWL_TRY_ASSIGN(const auto pruning, hold_pruning(home));
  RunFolder folder = RunFolder::unsynced;
  PAWL_TRY_ASSIGN(RunHead head, read_consistently(home, [&](auto snapshot) {
                    // The journal discards the record of a run only after its files and the names of all parent folders
                    // are durable.
                    const RunRecords* const records = snapshot->find(home);
                    folder = records == nullptr || !records->run ? RunFolder::durable : RunFolder::unsynced;
                    return RunReader(files_, keys_, home, std::move(snapshot)).fork_head(at);
                  }));
  const std::uint32_t seed = seal_seed(*head.run.fork_of_run);
  PAWL_TRY_ASSIGN(auto writer,
                  FilesystemRunWriter::make_fork(*this, run, options, std::move(run_lock), std::move(head)));
  PAWL_TRY(write_fork_note(files_, home, {run.text(), writer->info().uuid, at}, seed, folder));
  return writer;
}

/// A note counts if its fork exists, or if a process that is creating the fork holds its lock.
Result<std::vector<ForkInfo>> FilesystemStore::forks_of(const RunId& run) {
  const auto record = record_of(run);
  std::vector<ForkInfo> forks;
  if (!record && record.error().code == Code::store_damaged) {
    // The notes can't be checked without run.json, but the forks themselves name the run.
    PAWL_TRY_ASSIGN(const Uuid uuid, uuid_to_erase(run));
    PAWL_TRY_ASSIGN(const std::vector<RunId> found, forks_of(run, uuid));
    for (const RunId& id : found) {
      PAWL_TRY_ASSIGN(const RunRecord fork, record_of(id));
      forks.push_back({id, fork.uuid, fork.fork_of_sequence});
    }
    return forks;
  }
  if (!record) return std::unexpected(record.error());
  PAWL_TRY_ASSIGN(const auto notes, load_fork_notes(files_, run.text(), seal_seed(record->uuid)));
  for (const ForkNote& note : notes) {
    PAWL_TRY_ASSIGN(const RunId id, RunId::parse(note.fork));
    const auto fork = record_of(id);
    if (!fork && is_gone(fork.error().code)) continue;
    if (!fork && fork.error().code != Code::run_not_found) return std::unexpected(fork.error());
    if (fork && fork->uuid != note.uuid) continue;
    if (!fork) {
      PAWL_TRY_ASSIGN(const auto holder, owner(id));
      if (!holder) continue;
    }
    forks.push_back({id, note.uuid, note.at});
  }
  return forks;
}

Result<std::optional<ForkInfo>> FilesystemStore::origin_of(const RunId& run) {
  PAWL_TRY_ASSIGN(const RunRecord record, record_of(run));
  if (!record.fork_of_run) return std::optional<ForkInfo>();
  PAWL_TRY_ASSIGN(RunId id, RunId::parse(record.fork_of_name));
  return std::optional(ForkInfo{std::move(id), *record.fork_of_run, record.fork_of_sequence});
}

/// Removes the notes of forks that were never created, and rewrites missing notes of existing forks.
Result<void> FilesystemStore::mend_forks() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  for (const FolderEntry& entry : entries) {
    const auto id = RunId::parse(entry.name);
    const auto record = id ? record_of(*id) : std::unexpected(id.error());
    if (!record) continue;  // not a run, or damaged, which was already reported
    if (const auto noted = restore_fork_note(files_, *record); !noted && !is_confined(noted.error())) return noted;
    const auto notes = load_fork_notes(files_, entry.name, seal_seed(record->uuid));
    if (!notes) continue;
    for (const ForkNote& note : *notes) {
      const auto fork_id = RunId::parse(note.fork);
      const auto fork = record_of(*fork_id);
      if (fork ? fork->uuid == note.uuid : fork.error().code != Code::run_not_found) continue;
      const auto lock = files_.open(layout::run_lock(note.fork), OpenMode::write);
      if (lock) {
        PAWL_TRY_ASSIGN(const bool locked, (*lock)->try_lock(layout::kWriterByte));
        if (!locked) continue;  // the fork is being created
      }
      PAWL_TRY(files_.remove(layout::fork(entry.name, note.uuid.text())));
    }
  }
  return {};
}

}  // namespace pawl
