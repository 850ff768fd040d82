// Reads one run from a journal snapshot and the published files.
//
// Safe concurrently with writers: a record that the journals no longer contain was in the files before they discarded
// it.
#pragma once

#include <memory>
#include <pawl/save.hpp>
#include <vector>

#include "adapters/filesystem/aside_file.hpp"
#include "adapters/filesystem/chain_reader.hpp"
#include "adapters/filesystem/key_ring.hpp"
#include "ports/store.hpp"

namespace pawl {

/// Returns the overview of a run whose last checkpoint is `last`.
[[nodiscard]] Result<RunInfo> run_info(std::string_view run, const RunRecord& record, const CheckpointInfo& last);

/// What a writer needs to continue a run.
struct RunHead {
  RunRecord run;
  CheckpointInfo latest;
  std::string state;
  Sequence base;                        // the full checkpoint that the latest follows
  std::uint64_t differences_bytes = 0;  // total size after the base
  std::uint64_t differences = 0;
  std::uint64_t audit_index = 0;
  std::string audit_hash;
  std::uint64_t event_number = 0;
  Timestamp audited_at;
  std::optional<AsideEntry> to_set_aside;  // by the next save, before anything else
  bool base_is_kept = false;               // the newest group was pruned: the next checkpoint starts a group
  std::string aside_sum;                   // hash of a list that the audit trail does not contain yet
  [[nodiscard]] bool behind_damage() const { return to_set_aside || !aside_sum.empty(); }
};

/// Reads through `files` concurrently with writers. The snapshot must be taken before. Not thread-safe.
class RunReader {
 public:
  RunReader(FileSystem& files, KeyRing& keys, std::string run, std::shared_ptr<const JournalSnapshot> snapshot);

  [[nodiscard]] std::string_view run() const { return run_; }
  /// Fails with run_not_found if neither journals nor files contain the run.
  Result<RunRecord> run_record();
  Result<Restored> restore(const Which& which);
  Result<CheckpointInfo> info(const Which& which);
  Result<std::vector<CheckpointInfo>> list(Sequence after, std::size_t limit);
  Result<std::vector<Event>> events(std::uint64_t after_number, std::size_t limit);
  Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit);
  /// Returns the overview of the run. For an erased run, it contains what remains.
  Result<RunInfo> overview();
  /// Like `overview`, but lists a run whose newest checkpoint can't be read as damaged, with the contents of its
  /// run.json.
  Result<RunInfo> listing();
  /// Saves with a caller's id, and their fingerprints. Reads all files of the run.
  using IdentifiedSaves = std::vector<std::pair<CheckpointInfo, std::string>>;
  Result<IdentifiedSaves> saves_with_caller_id();  // in ascending order
  /// Fails if the run lacks a checkpoint that was neither pruned nor set aside, or one can't be read: it may have had
  /// any caller's id.
  Result<void> refuse_unknown_saves();
  /// Returns whether a rollback to an earlier checkpoint followed, or the checkpoint was damaged and set aside. Its
  /// caller's id is then free.
  Result<bool> is_undone(Sequence saved);
  /// The same for saves that are still in the journals.
  Result<IdentifiedSaves> journal_saves_with_caller_id();
  /// Returns nothing if the run has no checkpoint yet.
  Result<std::optional<RunHead>> head();
  /// Returns the newest checkpoint that can be trusted.
  Result<Recovered> recover(const RecoverScope& scope);
  /// Returns the head for a writer that continues from `back_to` because everything newer is damaged. Requires
  /// undamaged journals.
  Result<RunHead> head_behind_damage(Sequence back_to, Timestamp now);

  // Forks.
  /// Returns the last sequence that a fork shares, or 0 if the run is not a fork.
  Result<Sequence> fork_at();
  /// Returns the run that this run was forked from, or null if it is not a fork. Valid as long as this object. Fails
  /// with chain_broken if that run is missing.
  Result<RunReader*> origin();
  /// Returns this run or the ancestor that owns the checkpoint.
  Result<RunReader*> home_of(Sequence sequence);
  /// Returns the run and its ancestors, nearest first.
  Result<std::vector<std::string>> lineage();
  /// Returns the initial head of a fork of this run at `sequence`, which this run must own. `run` is the record of this
  /// run, with the fork point.
  Result<RunHead> fork_head(Sequence sequence);
  [[nodiscard]] const std::string& name() const { return run_; }

  // For pruning; of the run's own checkpoints.
  Result<const PrunedList*> pruned();
  Result<RunCodec*> codec();
  Result<std::vector<Sequence>> bases();
  /// Returns the chain as far as it can be read; damage is part of the result.
  Result<Chain> chain(Sequence base, Sequence up_to);
  /// Returns the state of a checkpoint of the chain, dropped or not.
  Result<std::string> rebuild(const Chain& links, Sequence sequence);
  Result<std::uint32_t> seed();
  /// Returns the newest checkpoint in the journals and files, whatever the audit trail says. 0: none.
  Result<Sequence> newest_stored();
  /// Returns the number of the last event in the files of the run.
  Result<std::uint64_t> published_events();
  /// Fails if a damaged journal may have contained a newer checkpoint.
  Result<Sequence> latest();
  /// Fails if a damaged journal may have contained anything of the run that can't be read elsewhere: a newer
  /// checkpoint, or an event or entry of the audit trail. Nothing may be written after such a gap.
  Result<void> refuse_doubt();
  /// Fails if the last events that the audit trail tells of are missing.
  Result<void> check_last_events();

 private:
  Result<Sequence> latest_readable();
  /// Returns the highest event that the audit trail refers to.
  Result<std::uint64_t> last_audited_event();
  /// What the last entries of the audit trail say that the run must have.
  struct TrailEnd {
    Sequence checkpoint;      // of the last entry
    Sequence events;          // the last checkpoint that was saved with events, 0: none among these entries
    std::string events_sum;   // the combined hash of these events
    std::uint64_t event = 0;  // the highest event that an entry refers to
  };
  /// Looks at the last `bytes` of the file, and at the journals.
  Result<TrailEnd> trail_end(std::uint64_t bytes);
  /// Fails if the trail ends before the checkpoint `newest`, or the events end before what the trail says.
  Result<void> refuse_short_trail(const TrailEnd& end, Sequence newest);
  Result<void> refuse_lost_events(const TrailEnd& end);
  Result<std::uint64_t> last_published_event(std::uint64_t before);
  Result<Sequence> base_of(Sequence sequence);
  Result<Sequence> last_difference(Sequence base);
  Result<Sequence> last_audited();
  Result<Sequence> resolve(const Which& which);
  /// Returns the newest match up to `up_to`, or 0 if there is none.
  Result<Sequence> search(const Which& which, Sequence up_to);
  Result<void> list_own(Sequence after, Sequence last, std::size_t limit, std::vector<CheckpointInfo>& found);
  Result<std::vector<CheckpointInfo>> list_up_to(Sequence after, Sequence last, std::size_t limit);
  Result<std::vector<Event>> own_events(std::uint64_t after_number, std::size_t limit);
  /// Returns the number of the last event saved with `sequence` or before.
  Result<std::uint64_t> events_up_to(Sequence sequence);
  /// Returns the size of the differences that nested forks added to a borrowed base, up to this checkpoint.
  Result<std::uint64_t> lent_bytes(Sequence sequence);
  Result<RecordView> link(const Chain& links, Sequence sequence);
  /// Returns the checkpoint with its original checksum.
  Result<CheckpointInfo> info_of(const RecordView& record);
  Result<std::string> payload_of(const RecordView& record);
  /// Returns the highest number in journals, files, file names, events or the audit trail, readable or not.
  Result<Sequence> highest();
  Result<Sequence> highest_in_names();
  Result<Sequence> highest_in_events();
  /// Returns the time of the last entry of the audit trail, or 0. For runs that can't be read.
  [[nodiscard]] Timestamp newest_known_time();
  Result<void> audit_head(RunHead& head);
  Result<void> event_head(RunHead& head);
  [[nodiscard]] Error not_found(Sequence sequence);

  FileSystem& files_;
  KeyRing& keys_;
  const std::string run_;
  const std::shared_ptr<const JournalSnapshot> snapshot_;
  const RunRecords* records_;  // null if the journals contain nothing of the run
  std::optional<RunRecord> run_record_;
  std::optional<RunCodec> codec_;
  std::optional<PrunedList> pruned_;
  std::optional<std::vector<Sequence>> bases_;
  std::unique_ptr<RunReader> origin_;
  int depth_ = 0;  // number of forks between this run and the one being read
};

}  // namespace pawl
