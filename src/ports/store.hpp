// The store as a port. The clauses (S1..S23, S30..S34, S40..S42, S50..S51) are the contract:
// `testing/store_contract.hpp` tests each one by its number on every adapter.
//
// Saving
//  S1  A saved state is restored byte for byte, by this handle and by any other.
//  S2  A run's sequence numbers are 1, 2, 3, ... in the order in which saves were made; an acknowledged
//      or visible number is never used again.
//  S3  Any earlier checkpoint is restored as it was when it was saved.
//  S4  A state equal to the last one, with the same kind, status, name, stage, step and metadata and no
//      events and no caller's id, is answered with the last checkpoint (`unchanged`) and writes nothing; with
//      Duplicates::write it is written.
//  S5  `expected_parent` other than the last sequence (0: none yet) fails with parent_conflict; nothing is written.
//  S6  A save with a caller's id that was saved before in this run is answered with that checkpoint
//      (`repeated`), whatever was saved in between, and writes nothing. The same id with a different
//      body, form or kind fails with caller_id_reused.
//  S7  A patch is applied to the last state (`{}` where there is none); an inapplicable one fails with
//      invalid_patch and writes nothing.
//  S8  A failed save changes nothing that is visible; the next one gets the same sequence number.
//  S9  Events are kept in order, numbered from 1, with the sequence of their save.
// Runs
//  S10 One writer per run: a second open_run fails with run_busy and names the first; after the first is
//      closed or destroyed it succeeds. Different runs never disturb each other.
//  S11 A run's durability level is recorded when the run is made; opening it with another one fails
//      with durability_fixed.
//  S12 Timestamps never go back within a run, whatever the clock does.
// Reading
//  S13 Reading needs no lock and sees every acknowledged save. A missing run is run_not_found, a missing
//      checkpoint checkpoint_not_found. A run exists from its first save on.
//  S14 Checkpoints are listed in ascending order after a given sequence, at most `limit`.
//  S15 Runs are listed by the time of their last save, newest first, at most `limit`.
//  S16 `latest`, sequence, name, stage, step and UUID address a checkpoint; where several fit, the newest.
// The inbox
//  S17 A posted message is durable when `post` returns, whoever holds the run, and is listed until it is taken
//      away, oldest first. Taking a message away that is not there is fine. A message for a missing run is
//      refused with run_not_found.
//  S18 `owner` says who holds the run's lock, and nothing where nobody does.
// Pruning
//  S19 `prune` takes away the checkpoints that the settings let go (domain/retention), whoever holds the run, and
//      says which. A pruned number fails with checkpoint_pruned, is in no list, is found by no label, never comes
//      back and is never used again; the caller's id of its save is still answered. With dry_run nothing
//      changes, and the report is the same.
//  S20 What is kept is not touched: its state, labels, number and checksum stay, as do all events; saving goes on
//      with the next number. Pruning again with the same settings changes nothing.
// Sizes
//  S21 `footprint` counts the bytes that a run takes up, by what they are, and `shared_bytes` those that belong to no
//      single run; what was saved is in one of them. A message counts until it is taken away. A missing run is
//      run_not_found.
// The audit trail
//  S22 A run's entries are numbered from 1 and listed in ascending order after a given number, at most `limit`; each
//  one's
//      `previous` is the hash of the one before (64 zeros for the first), and no entry ever changes. The first is
//      `run_created`. Each save that is written adds one `checkpoint_saved` with its checksum, behind the entries of
//      its events; one that is answered adds none. A missing run is run_not_found.
//  S23 An audited event has an entry of its own, with the event's type, number, data and agent, and the user and host
//  that saved it.
// Forks
//  S30 A fork shares its parent's past: checkpoints 1 to `at`, and their events, are read as the parent's; its own go
//  on
//      with the next numbers. It exists from its first save on, which is always written and has `at` as its parent.
//      Nothing that is saved to one of the two is seen in the other. A fork of a fork is one, too; a fork of what a
//      fork shares with its parent is a fork of the parent.
//  S31 A missing parent is run_not_found, a checkpoint that it does not have checkpoint_not_found or checkpoint_pruned,
//      a run that is there already run_exists. One writer per run holds for forks, whoever holds the parent.
//  S32 `forks_of` names a run's forks by run, UUID and sequence, oldest point first; `origin_of` the run that it is a
//  fork of. S33 Pruning a run keeps the checkpoints at which it was forked; pruning a fork takes away its own
//  checkpoints only. S34 A caller's id of the past is not answered in a fork: its saves are its own.
// Erasing
//  S40 `erase` destroys what was saved in a run: states, events, labels, messages, local files. From then on it
//      can't be opened, read, posted to or pruned: that fails with run_erased, which says when and why. Only `runs`
//      lists it, as erased, `audit` gives what is left of its trail, and `check` finds nothing wrong. Its id is not
//      given to another run. Erasing it again is answered with the first erasure (`already`).
//  S41 A run that is held is refused with run_busy, and nothing changes. A missing one is run_not_found.
//  S42 Other runs are not touched.
// Recovery
//  S50 `recover` gives the newest whole checkpoint within its scope, as `restore` would, and names what is damaged;
//  with
//      RecoverExtent::all it rebuilds every checkpoint that there is. A scope without one is checkpoint_not_found.
//  S51 Opening a run with `fall_back_to` where nothing is damaged, or where another checkpoint is the newest whole
//      one, fails with parent_conflict.
#pragma once

#include <functional>
#include <memory>
#include <pawl/audit.hpp>
#include <pawl/check.hpp>
#include <pawl/erase.hpp>
#include <pawl/save.hpp>
#include <vector>

#include "base/result.hpp"
#include "domain/retention.hpp"
#include "ports/log_cipher.hpp"
#include "text/appended.hpp"

namespace pawl {

/// The one writer of a run. Thread-safe. Destroying it closes it.
class RunWriter {
 public:
  RunWriter() = default;
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;
  virtual ~RunWriter() = default;

  /// Saves, and returns when the save is as durable as the run's level says. `body` must be valid JSON
  /// (the engine checks it). Fails with outcome_unknown where durability could not be learnt: from then
  /// on this handle refuses with handle_failed.
  virtual Result<Saved> save(const SaveRequest& request) = 0;
  /// Makes everything saved so far durable, at any level.
  virtual Result<void> flush() = 0;
  [[nodiscard]] virtual RunInfo info() const = 0;
  /// For what the run's steps print; null where the run is not encrypted.
  [[nodiscard]] virtual Result<std::shared_ptr<LogCipher>> log_cipher() { return nullptr; }
  /// What `body` appends to an array of the last state, where that is all that it changes: then only this
  /// needs to be checked. A store may always say nothing.
  [[nodiscard]] virtual std::optional<Appended> appended(std::string_view body) const {
    static_cast<void>(body);
    return std::nullopt;
  }
};

/// What someone other than the owner has to say to a run: an approval, a signal, a wish to cancel.
struct Message {
  std::string id = {};  // given by post: sorts by time, unique in the run
  Timestamp at = {};
  std::string body = {};  // JSON
  std::string from = {};  // user@host of the process that posted it; empty in messages of older versions
};

/// How many bytes the parts of a run take up.
struct RunFootprint {
  std::uint64_t checkpoints = 0;
  std::uint64_t events = 0;
  std::uint64_t audit = 0;
  std::uint64_t blobs = 0;
  std::uint64_t logs = 0;
  std::uint64_t inbox = 0;
  std::uint64_t other = 0;  // what describes the run
  [[nodiscard]] std::uint64_t total() const { return checkpoints + events + audit + blobs + logs + inbox + other; }
};

/// One end of a fork: the fork, or the run that it goes on from, and the last checkpoint that both have.
struct ForkInfo {
  RunId run;
  Uuid uuid = {};
  Sequence at = {};
};

enum class PruneMode : std::uint8_t {
  dry_run,  // only says what would go
  remove,
};

/// What a prune of one run did, or would do.
struct PruneReport {
  std::vector<Sequence> dropped = {};  // by this prune, ascending
  std::uint64_t kept = 0;              // checkpoints that are left
  /// Of files: what went, less what had to be written. Space of what is hidden among checkpoints that are still
  /// needed comes back with a later prune. In a dry run as exact as can be known before.
  std::int64_t freed_bytes = 0;
};

enum class RecoverExtent : std::uint8_t {
  newest,  // looks back only until it finds one that is whole
  all,     // rebuilds everything and checks every sum
};

/// Which of a run's checkpoints may be taken.
struct RecoverScope {
  RecoverExtent extent = RecoverExtent::newest;
  Sequence up_to = {};  // 0: no bound
  std::optional<Timestamp> not_after = {};
};

struct Recovered {
  Restored checkpoint = {};        // the newest whole one within the scope
  std::uint64_t rebuilt = 0;       // checkpoints whose state was rebuilt and checked
  Sequence highest = {};           // the highest number that anything of the run knows of
  std::vector<Error> damage = {};  // within the scope, the newest first; of RecoverExtent::newest only what is newer
};

/// A line for recovery/failures.jsonl.
struct RecoveryFailure {
  Code code{};
  std::string run = {};
  std::string what = {};
  std::string file = {};
};

/// Thread-safe. No exception leaves it. Writers must be destroyed before their store.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual Result<std::unique_ptr<RunWriter>> open_run(const RunId& run, const RunOptions& options) = 0;

  /// A new run that shares the past of `parent` up to checkpoint `at`; nothing of it is copied. Durable with its first
  /// save. The parent knows of it before that, so that it keeps what the fork needs. Options that are empty are the
  /// parent's.
  virtual Result<std::unique_ptr<RunWriter>> fork(const RunId& parent, Sequence at, const RunId& run,
                                                  const RunOptions& options) = 0;
  /// The forks that go on from this run's checkpoints: those that are there, and those that are being made.
  virtual Result<std::vector<ForkInfo>> forks_of(const RunId& run) = 0;
  /// What a fork goes on from; nothing where the run is none.
  virtual Result<std::optional<ForkInfo>> origin_of(const RunId& run) = 0;

  virtual Result<Restored> restore(const RunId& run, const Which& which) = 0;
  virtual Result<RunInfo> run(const RunId& run) = 0;
  virtual Result<std::vector<RunInfo>> runs(std::size_t limit) = 0;
  virtual Result<CheckpointInfo> checkpoint(const RunId& run, const Which& which) = 0;
  virtual Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run, Sequence after, std::size_t limit) = 0;
  virtual Result<std::vector<Event>> events(const RunId& run, std::uint64_t after_number, std::size_t limit) = 0;

  /// Linear in the run's trail.
  virtual Result<std::vector<AuditEntry>> audit(const RunId& run, std::uint64_t after, std::size_t limit) = 0;

  /// Durable when it returns. `body` is JSON on one line. Gives the message's id.
  virtual Result<std::string> post(const RunId& run, std::string_view body) = 0;
  /// Oldest first. A message that is damaged is an error that names it: nothing is skipped.
  virtual Result<std::vector<Message>> inbox(const RunId& run) = 0;
  /// Takes a message away, for good. Only the run's owner does, after what it made of it is durable.
  virtual Result<void> take(const RunId& run, std::string_view message_id) = 0;
  /// Who holds the run's lock, for people; nothing where nobody does.
  virtual Result<std::optional<std::string>> owner(const RunId& run) = 0;
  /// An absolute path of a local folder for the files of this run's execution (logs, inputs of steps), made
  /// if missing. Nothing in it is needed to resume.
  virtual Result<std::string> local_folder(const RunId& run) = 0;
  /// To read the logs there; null where the run is not encrypted.
  [[nodiscard]] virtual Result<std::shared_ptr<LogCipher>> log_cipher(const RunId& run) {
    static_cast<void>(run);
    return nullptr;
  }

  /// Linear in the number of the run's files. What is not yet in files of its own counts to shared_bytes.
  virtual Result<RunFootprint> footprint(const RunId& run) = 0;
  /// The bytes that belong to no single run: journals and the catalogue.
  virtual Result<std::uint64_t> shared_bytes() = 0;
  /// Removes what `settings` let go of the run's checkpoints. Durable when it returns; whoever saves meanwhile goes on.
  /// Killed in the middle, everything kept is there, and the next prune finishes.
  virtual Result<PruneReport> prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) = 0;

  /// Destroys what was saved in the run. Durable when it returns; killed in the middle, the run is erased for whoever
  /// reads, and the next erase, fsck or writer finishes. `pending` where a journal of a living process may hold
  /// something of it. Fails with run_has_forks where a run that is not erased was forked from it, unless told to
  /// cascade.
  virtual Result<Erasure> erase(const RunId& run, const EraseRequest& request) = 0;
  /// The newest checkpoint that can be trusted, whatever is damaged: see S50. Fails with no_valid_checkpoint where
  /// there is damage and nothing whole, and with what makes the run unreadable as a whole. Linear in what it looks at.
  virtual Result<Recovered> recover(const RunId& run, const RecoverScope& scope) = 0;
  /// Durable when it returns. For people: nothing depends on it.
  virtual Result<void> log_failure(const RecoveryFailure& failure) = 0;

  /// Looks at everything in `scope` and names what is damaged; with repair, mends what can be mended
  /// without losing anything that was acknowledged.
  virtual Result<CheckReport> check(const CheckScope& scope, Repair repair) = 0;
};

}  // namespace pawl
