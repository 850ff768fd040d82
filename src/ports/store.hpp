// The store as a port. The clauses (S1..S26, S30..S34, S40..S44, S50..S51) are its contract.
// `testing/store_contract.hpp` tests each clause by its number on every adapter.
//
// Saving
//  S1  A saved state is restored byte for byte, by this handle and by any other.
//  S2  The sequence numbers of a run are 1, 2, 3, ... in the order of its saves. A number that was acknowledged or
//      visible is never used again.
//  S3  Any earlier checkpoint is restored as it was saved.
//  S4  A state equal to the last one, with the same kind, status, labels and metadata, without events and without a
//      caller ID, writes nothing and is answered with the last checkpoint (`unchanged`). With
//      Duplicates::write it is written.
//  S5  An `expected_parent` other than the last sequence (0: none yet) fails with parent_conflict. Nothing is
//      written.
//  S6  A save with a caller ID that was saved before in this run writes nothing and is answered with that
//      checkpoint (`repeated`), whatever was saved in between. The same ID with a different body, form or kind
//      fails with caller_id_reused. An ID is free again if a rollback to an earlier checkpoint followed, or if its
//      checkpoint was damaged and set aside.
//  S7  A patch is applied to the last state (`{}` if there is none). One that can't be applied fails with
//      invalid_patch and writes nothing.
//  S8  A failed save changes nothing that is visible; the next one gets the same sequence number.
//  S9  Events are kept in order, numbered from 1, with the sequence of their save.
// Runs
//  S10 A run has one writer: a second open_run fails with run_busy and names the first. It succeeds after the first
//      is closed or destroyed. Different runs never affect each other.
//  S11 The durability level of a run is fixed when the run is created. Opening it with another one fails with
//      durability_fixed.
//  S12 Timestamps never decrease within a run, unless the last one is more than a day ahead of the clock: then the
//      clock was wrong at that time, and the next one is that of the clock (docs/adr/0023-age-of-checkpoints.md).
// Reading
//  S13 Reading needs no lock and sees every acknowledged save. A missing run is run_not_found, a missing checkpoint
//      is checkpoint_not_found. A run exists from its first save on.
//  S14 Checkpoints are listed in ascending order after a given sequence, at most `limit`.
//  S15 Runs are listed by the time of their last save, newest first, at most `limit`.
//  S16 `latest`, sequence, name, stage, step and UUID address a checkpoint. A stage or step may be in any of its
//      labels. If several checkpoints match, the newest is used.
// The inbox
//  S17 A posted message is durable when `post` returns, whoever holds the run. It is listed until it is removed,
//      oldest first. Removing a message that does not exist is fine. A message for a missing run fails with
//      run_not_found.
//  S18 `owner` returns who holds the lock of the run, or nothing if nobody does.
//  S24 `inbox_sealed` returns true for every handle from `seal_inbox` of the writer of the run until `unseal_inbox` or
//      the end of the writer, also if its process dies. A sealed inbox accepts messages: whoever posts one learns that
//      the run is ending. A message that was posted before the inbox was sealed is listed from then on. Sealing it
//      twice, and unsealing one that is not sealed, is fine. Other runs are not affected.
// Pruning
//  S19 `prune` removes the checkpoints that the settings do not keep (domain/retention), whoever holds the run, and
//      reports them. A pruned number fails with checkpoint_pruned, is in no list, is found by no label, and is
//      never used again. The caller ID of its save is still answered. A dry run changes nothing and has the same
//      report.
//  S20 Checkpoints that are kept do not change: state, labels, number and checksum. All events are kept. Saving
//      continues with the next number. Pruning again with the same settings changes nothing.
// Sizes
//  S21 `footprint` returns the bytes of a run by kind, and `shared_bytes` those that belong to no single run.
//      Everything that was saved is in one of them. A message counts until it is removed. A missing run is
//      run_not_found.
// The audit trail
//  S22 The entries of a run are numbered from 1 and listed in ascending order after a given number, at most
//      `limit`. The `previous` of each entry is the hash of the one before (64 zeros for the first), and no entry
//      ever changes. The first is `run_created`. Each written save adds one `checkpoint_saved` with its checksum,
//      after the entries of its events. A save that is answered adds none. A missing run is run_not_found.
//  S23 An audited event has its own entry with the type, number, data and agent of the event, and the user and host
//      that saved it.
// Changes
//  S26 `save_change` has the result of `save` with the last state after the change: the same checkpoint, the same
//      record and the same answers (S4 to S6). `expected_parent` must be the last sequence, otherwise it fails with
//      parent_conflict. A change that does not fit the last state fails with invalid_patch. Nothing is written then. A
//      repeated caller ID must come with the same change.
//  S25 While a claim of a run exists, `is_wanted` of its writer is true. A claim takes nothing: the writer decides when
//      it closes.
// Forks
//  S30 A fork shares the history of its parent: checkpoints 1 to `at` and their events are read as those of the
//      parent; its own continue with the next numbers. It exists from its first save on, which is always written
//      and has `at` as its parent. Nothing that is saved to one of the two is visible in the other. A fork can be
//      forked; a fork of the part that a fork shares with its parent is a fork of the parent.
//  S31 A missing parent is run_not_found, a missing checkpoint is checkpoint_not_found or checkpoint_pruned, an
//      existing run is run_exists. A fork has one writer, whoever holds the parent.
//  S32 `forks_of` lists the forks of a run by run, UUID and sequence, lowest sequence first; `origin_of` returns
//      the parent of a fork.
//  S33 Pruning a run keeps the checkpoints at which it was forked, unless the fork was erased; pruning a fork removes
//      only its own checkpoints.
//  S34 A caller ID of the shared history is not answered in a fork.
// Erasing
//  S40 `erase` destroys the data of a run: states, events, labels, messages, local files. From then on opening,
//      reading, posting and pruning fail with run_erased, which says when and why. Only `runs` lists it, as erased;
//      `audit` returns the rest of its trail, and `check` finds no error. Its id is not used again. Erasing it
//      again is answered with the first erasure (`already`).
//  S41 A run that is held is refused with run_busy, and nothing changes. A missing one is run_not_found.
//  S42 Other runs do not change.
// Removing
//  S43 With Remains::tombstone, `erase` removes a run: as S40, but the error is run_removed, which says when and by
//      whom; the audit trail is gone and `runs` does not list it. `removed` does, newest first, with UUID, last
//      sequence, number of audit entries and hash of the last one. Its id is never given to another run.
//      Removing it again is answered with the first removal (`already`). An erased run can be removed; its tombstone
//      says when, by whom and why it was erased.
//  S44 A run that is held is refused with run_busy, one that others were forked from with run_has_forks; nothing
//      changes. Other runs do not change.
// Recovery
//  S50 `recover` returns the newest intact checkpoint within its scope, as `restore` would, and reports damage.
//      With RecoverExtent::all it rebuilds every checkpoint. A scope without a checkpoint is checkpoint_not_found.
//  S51 Opening a run with `fall_back_to` fails with parent_conflict if nothing is damaged, or if another checkpoint
//      is the newest intact one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <pawl/audit.hpp>
#include <pawl/check.hpp>
#include <pawl/erase.hpp>
#include <pawl/save.hpp>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "domain/retention.hpp"
#include "ports/limits.hpp"
#include "ports/log_cipher.hpp"
#include "ports/result_cache.hpp"
#include "text/appended.hpp"
#include "text/text_diff.hpp"

namespace pawl {

/// The only writer of a run. Thread-safe. Destroying it closes it.
class RunWriter {
 public:
  RunWriter() = default;
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;
  virtual ~RunWriter() = default;

  /// Saves, and returns when the save is as durable as the durability level of the run requires. `body` must be valid
  /// JSON (the engine checks it). Fails with outcome_unknown if it is unknown whether the save is durable; from then on
  /// this handle fails with handle_failed.
  virtual Result<Saved> save(const SaveRequest& request) = 0;
  /// Saves the last state with `change` applied (S26): ascending splices that do not overlap, as `diff_text` returns
  /// them. Costs as much as the change, however large the state is, unless a full checkpoint is due. The body of the
  /// request is ignored. The caller knows that the new state is valid JSON, and each `inserted` must be valid UTF-8.
  virtual Result<Saved> save_change(const SaveRequest& request, std::span<const Splice> change) = 0;
  /// Makes everything saved so far durable, at any level.
  virtual Result<void> flush() = 0;
  [[nodiscard]] virtual RunInfo info() const = 0;
  /// Tells whoever posts messages that the run is ending (S24). An execution seals the inbox, reads it once more, saves
  /// its end durably, removes what it consumed, and closes the writer. If it then has to go on, it unseals the inbox.
  /// Only the lock of the writer makes the seal: it needs no sync, and ends with the process.
  virtual Result<void> seal_inbox() = 0;
  virtual Result<void> unseal_inbox() = 0;
  /// Returns the state that the next save builds on: that of the last save, or the one that was found when the run was
  /// opened. Empty if there is none. Reads nothing.
  [[nodiscard]] virtual std::string last_state() const = 0;
  /// Returns whether a claim of the run exists (Store::claim). Cheap.
  [[nodiscard]] virtual bool is_wanted() const = 0;
  /// Limits how many of the newest checkpoints are kept, while this writer is open and when it is closed, instead of
  /// what the settings of the store say. Named ones and ends of stages are kept in addition. A store may ignore it.
  virtual void keep_newest(std::uint64_t count) { static_cast<void>(count); }
  /// Returns the cipher for the output of the steps, or null if the run is not encrypted.
  [[nodiscard]] virtual Result<std::shared_ptr<LogCipher>> log_cipher() { return nullptr; }
  /// Returns what `body` appends to an array of the last state, if it changes nothing else: then only this must be
  /// checked. A store may always return nothing.
  [[nodiscard]] virtual std::optional<Appended> appended(std::string_view body) const {
    static_cast<void>(body);
    return std::nullopt;
  }
};

/// Tells the writer of a run that somebody waits for it, until this is destroyed or its process ends.
class RunClaim {
 public:
  RunClaim() = default;
  RunClaim(const RunClaim&) = delete;
  RunClaim& operator=(const RunClaim&) = delete;
  virtual ~RunClaim() = default;
  /// Returns whether somebody else claims the run as well.
  [[nodiscard]] virtual bool has_rivals() const = 0;
};

/// A message to a run from somebody other than its owner: an approval, a signal, a request to cancel.
struct Message {
  std::string id = {};  // assigned by post; sorts by time, unique in the run
  Timestamp at = {};
  std::string body = {};  // JSON
  std::string from = {};  // user@host of the process that posted it; empty in messages of older versions
};

/// The sizes of the parts of a run, in bytes.
struct RunFootprint {
  std::uint64_t checkpoints = 0;
  std::uint64_t events = 0;
  std::uint64_t audit = 0;
  std::uint64_t blobs = 0;
  std::uint64_t logs = 0;
  std::uint64_t inbox = 0;
  std::uint64_t other = 0;  // files that describe the run
  [[nodiscard]] std::uint64_t total() const { return checkpoints + events + audit + blobs + logs + inbox + other; }
};

/// One end of a fork: the fork or its parent run, and the last checkpoint that both have.
struct ForkInfo {
  RunId run;
  Uuid uuid = {};
  Sequence at = {};
};

enum class PruneMode : std::uint8_t {
  dry_run,  // only reports what would be removed
  remove,
};

/// The result of pruning one run.
struct PruneReport {
  std::vector<Sequence> dropped = {};  // by this prune, ascending
  std::uint64_t kept = 0;              // number of checkpoints that are left
  /// The size of removed files, minus the size of new ones. The space of checkpoints between others that are still
  /// needed is freed by a later prune. In a dry run this is an estimate.
  std::int64_t freed_bytes = 0;
  std::map<Sequence, KeptWhy> exempt = {};  // those that exceed a limit and are kept nevertheless
  /// For people: the process that has the run open, if data of removed checkpoints is left in the files until it
  /// closes the run; otherwise empty.
  std::string held_by = {};
};

enum class RecoverExtent : std::uint8_t {
  newest,  // searches backwards for the newest intact checkpoint
  all,     // rebuilds every checkpoint and checks its checksum
};

/// Which checkpoints of a run may be used.
struct RecoverScope {
  RecoverExtent extent = RecoverExtent::newest;
  Sequence up_to = {};  // 0: no limit
  std::optional<Timestamp> not_after = {};
};

struct Recovered {
  Restored checkpoint = {};        // the newest intact one within the scope
  std::uint64_t rebuilt = 0;       // number of checkpoints whose state was rebuilt and checked
  Sequence highest = {};           // the highest sequence that occurs anywhere in the run
  std::vector<Error> damage = {};  // within the scope, newest first; for RecoverExtent::newest only what is newer
};

/// A line for recovery/failures.jsonl.
struct RecoveryFailure {
  Code code{};
  std::string run = {};
  std::string what = {};
  std::string file = {};
};

/// Thread-safe. Throws no exceptions. Writers must be destroyed before their store.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual Result<std::unique_ptr<RunWriter>> open_run(const RunId& run, const RunOptions& options) = 0;
  /// Asks the writer of the run to close it soon. Only writers that hold a run for longer than they use it do so.
  virtual Result<std::unique_ptr<RunClaim>> claim(const RunId& run) = 0;

  /// Creates a run that shares the history of `parent` up to checkpoint `at`, without copying it. It becomes durable
  /// with its first save. The parent is notified before that, so that it keeps what the fork needs. Empty options are
  /// taken from the parent.
  virtual Result<std::unique_ptr<RunWriter>> fork(const RunId& parent, Sequence at, const RunId& run,
                                                  const RunOptions& options) = 0;
  /// Returns the forks of this run, including those that are being created.
  virtual Result<std::vector<ForkInfo>> forks_of(const RunId& run) = 0;
  /// Returns the parent of a fork, or nothing if the run is not a fork.
  virtual Result<std::optional<ForkInfo>> origin_of(const RunId& run) = 0;

  virtual Result<Restored> restore(const RunId& run, const Which& which) = 0;
  virtual Result<RunInfo> run(const RunId& run) = 0;
  virtual Result<std::vector<RunInfo>> runs(std::size_t limit) = 0;
  virtual Result<CheckpointInfo> checkpoint(const RunId& run, const Which& which) = 0;
  virtual Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run, Sequence after, std::size_t limit) = 0;
  virtual Result<std::vector<Event>> events(const RunId& run, std::uint64_t after_number, std::size_t limit) = 0;

  /// Linear in the length of the audit trail.
  virtual Result<std::vector<AuditEntry>> audit(const RunId& run, std::uint64_t after, std::size_t limit) = 0;

  /// Posts a message, which is durable when this returns. `body` is JSON on one line. Returns the id of the message.
  virtual Result<std::string> post(const RunId& run, std::string_view body) = 0;
  /// Returns the messages, oldest first. Fails with an error that names the message if one is damaged; none is skipped.
  virtual Result<std::vector<Message>> inbox(const RunId& run) = 0;
  /// Removes a message. Only the owner of the run does that, after the effect of the message is durable.
  virtual Result<void> take(const RunId& run, std::string_view message_id) = 0;
  /// Returns whether a live writer has sealed the inbox.
  virtual Result<bool> inbox_sealed(const RunId& run) = 0;
  /// Returns who holds the lock of the run, for people, or nothing if nobody does.
  virtual Result<std::optional<std::string>> owner(const RunId& run) = 0;
  /// Returns the absolute path of a local folder for files of the execution (logs, inputs of steps). Creates it if it
  /// is missing. Resuming needs nothing in it.
  virtual Result<std::string> local_folder(const RunId& run) = 0;
  /// Returns the names of the files `*.lock` in that folder whose first byte a live process has locked, sorted: each is
  /// work in progress on the run by a process that does not hold the lock of the run. `erase` refuses such a run.
  virtual Result<std::vector<std::string>> held_locks(const RunId& run) {
    static_cast<void>(run);
    return std::vector<std::string>();
  }
  /// Returns the cipher for reading the logs, or null if the run is not encrypted.
  [[nodiscard]] virtual Result<std::shared_ptr<LogCipher>> log_cipher(const RunId& run) {
    static_cast<void>(run);
    return nullptr;
  }

  /// Returns a new handle of the limits that all runs of the store share. Must not outlive the store.
  virtual std::unique_ptr<Limits> limits() = 0;
  /// Returns a new handle of the index of results that all runs of the store share. Must not outlive the store.
  virtual std::unique_ptr<ResultCache> result_cache() = 0;

  /// Linear in the number of files of the run. Records that are not published yet count as shared_bytes.
  virtual Result<RunFootprint> footprint(const RunId& run) = 0;
  /// Returns the bytes that belong to no single run: journals, the catalogue, limits and the index of results.
  virtual Result<std::uint64_t> shared_bytes() = 0;
  /// Removes the checkpoints that `settings` do not keep. Durable when it returns; saves continue meanwhile. If it is
  /// killed, everything that is kept is intact, and the next prune finishes the work.
  virtual Result<PruneReport> prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) = 0;

  /// Returns the time by which ages are judged before something is deleted. It is that of the wall clock, unless this
  /// clock has jumped ahead since the machine was started (docs/adr/0023-age-of-checkpoints.md).
  [[nodiscard]] virtual Timestamp believable_now() = 0;

  /// Overwrites what the journals still contain of pruned checkpoints. Returns the journals that running processes
  /// write to, as text for people. These processes overwrite their journals when they are idle or close the store.
  virtual Result<std::vector<std::string>> wipe_pruned() { return std::vector<std::string>(); }

  /// Destroys the data of the run. Durable when it returns. If it is killed, the run is already erased for readers, and
  /// the next erase, fsck or writer finishes the work. The result is `pending` if the journal of a running process may
  /// still contain data of the run. Fails with run_busy if a process holds the run or one of its held_locks, and with
  /// run_has_forks if the run has forks that are not erased, unless it should erase them as well.
  virtual Result<Erasure> erase(const RunId& run, const EraseRequest& request) = 0;
  /// Fails with audit_damaged if `erase` would refuse to remove the run because its audit trail is damaged. Changes
  /// nothing. Linear in the size of the trail.
  virtual Result<void> check_removal(const RunId& run) {
    static_cast<void>(run);
    return {};
  }
  /// Returns removed runs, newest first, at most `limit`. One is `pending` if some of its data is left. Linear in the
  /// number of runs, including removed ones.
  virtual Result<std::vector<Erasure>> removed(std::size_t limit) = 0;
  /// Returns the newest intact checkpoint, whatever is damaged (see S50). Fails with no_valid_checkpoint if there is
  /// damage and nothing intact, or with the error that makes the whole run unreadable. Linear in what it reads.
  virtual Result<Recovered> recover(const RunId& run, const RecoverScope& scope) = 0;
  /// Appends to the log of failures, durably. The log is for people; nothing depends on it.
  virtual Result<void> log_failure(const RecoveryFailure& failure) = 0;

  /// Checks everything in `scope` and reports damage. With repair, fixes what can be fixed without losing an
  /// acknowledged save.
  virtual Result<CheckReport> check(const CheckScope& scope, Repair repair) = 0;
};

}  // namespace pawl
