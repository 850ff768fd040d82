// One run, read from a journal snapshot and the published files.
//
// Beside whoever writes: what the journals don't hold any more was in the files before they forgot it.
#pragma once

#include <memory>
#include <pawl/save.hpp>
#include <vector>

#include "adapters/filesystem/aside_file.hpp"
#include "adapters/filesystem/chain_reader.hpp"
#include "adapters/filesystem/key_ring.hpp"
#include "ports/store.hpp"

namespace pawl {

/// What is shown of a run whose last checkpoint is `last`.
[[nodiscard]] Result<RunInfo> run_info(std::string_view run, const RunRecord& record, const CheckpointInfo& last);

/// What a writer needs to go on with a run.
struct RunHead {
  RunRecord run;
  CheckpointInfo latest;
  std::string state;
  Sequence base;                        // the whole one that the latest follows
  std::uint64_t differences_bytes = 0;  // stored behind it
  std::uint64_t differences = 0;
  std::uint64_t audit_index = 0;
  std::string audit_hash;
  std::uint64_t event_number = 0;
  Timestamp audited_at;
  std::optional<AsideEntry> to_set_aside;  // by the next save, before anything else
  std::string aside_sum;                   // of a list that the audit trail has not got yet
  [[nodiscard]] bool behind_damage() const { return to_set_aside || !aside_sum.empty(); }
};

/// Reads through `files` beside whoever writes. The snapshot must be taken before. Not thread-safe.
class RunReader {
 public:
  RunReader(FileSystem& files, KeyRing& keys, std::string run, std::shared_ptr<const JournalSnapshot> snapshot);

  /// run_not_found where neither journal nor files know it.
  Result<RunRecord> run_record();
  Result<Restored> restore(const Which& which);
  Result<CheckpointInfo> info(const Which& which);
  Result<std::vector<CheckpointInfo>> list(Sequence after, std::size_t limit);
  Result<std::vector<Event>> events(std::uint64_t after_number, std::size_t limit);
  Result<std::vector<AuditEntry>> audit(std::uint64_t after, std::size_t limit);
  /// Of an erased run, what is left to be shown.
  Result<RunInfo> overview();
  /// The same; a run whose newest checkpoint can't be read is listed as damaged, with what its run.json says.
  Result<RunInfo> listing();
  /// Saves that carried a caller's id, with their fingerprints. Reads all of the run's files.
  using IdentifiedSaves = std::vector<std::pair<CheckpointInfo, std::string>>;
  Result<IdentifiedSaves> saves_with_caller_id();
  /// The same for what is still in the journals.
  Result<IdentifiedSaves> journal_saves_with_caller_id();
  /// Nothing where the run has no checkpoint yet.
  Result<std::optional<RunHead>> head();
  /// The newest that can be trusted: S30.
  Result<Recovered> recover(const RecoverScope& scope);
  /// For a writer that goes on from `back_to`, because all that is newer is damaged: S31. Needs a journal without
  /// damage.
  Result<RunHead> head_behind_damage(Sequence back_to, Timestamp now);

  // Forks.
  /// The last sequence that a fork shares; 0: the run is none.
  Result<Sequence> fork_at();
  /// The run that this is a fork of, lives as long as this; null: it is none. chain_broken where it is not there.
  Result<RunReader*> origin();
  /// Who of this run and those that it goes on from has the checkpoint itself.
  Result<RunReader*> home_of(Sequence sequence);
  /// The run and those that it goes on from, nearest first.
  Result<std::vector<std::string>> lineage();
  /// What a fork of this run at `sequence`, which is its own, begins with. `run` is this run's, with where it was
  /// forked.
  Result<RunHead> fork_head(Sequence sequence);
  [[nodiscard]] const std::string& name() const { return run_; }

  // For pruning; of the run's own checkpoints.
  Result<const PrunedList*> pruned();
  Result<RunCodec*> codec();
  Result<std::vector<Sequence>> bases();
  /// As far as it goes; damage is part of it.
  Result<Chain> chain(Sequence base, Sequence up_to);
  /// The state of one of the chain's checkpoints, dropped or not.
  Result<std::string> rebuild(const Chain& links, Sequence sequence);
  Result<std::uint32_t> seed();

 private:
  Result<Sequence> base_of(Sequence sequence);
  Result<Sequence> latest();
  Result<Sequence> last_difference(Sequence base);
  Result<Sequence> last_audited();
  Result<Sequence> resolve(const Which& which);
  /// The newest up to `up_to` that fits; 0: none.
  Result<Sequence> search(const Which& which, Sequence up_to);
  Result<void> list_own(Sequence after, Sequence last, std::size_t limit, std::vector<CheckpointInfo>& found);
  Result<std::vector<CheckpointInfo>> list_up_to(Sequence after, Sequence last, std::size_t limit);
  Result<std::vector<Event>> own_events(std::uint64_t after_number, std::size_t limit);
  /// The number of the last event that was saved with `sequence` or before.
  Result<std::uint64_t> events_up_to(Sequence sequence);
  /// Of differences that forks put on a borrowed base, one on the other, on the way to this checkpoint.
  Result<std::uint64_t> lent_bytes(Sequence sequence);
  Result<RecordView> link(const Chain& links, Sequence sequence);
  /// With the sum that it was saved with.
  Result<CheckpointInfo> info_of(const RecordView& record);
  Result<std::string> payload_of(const RecordView& record);
  /// The highest number that journals, files, names of files, events or the audit trail know of, readable or not.
  Result<Sequence> highest();
  Result<Sequence> highest_in_names();
  Result<Sequence> highest_in_events();
  Result<void> audit_head(RunHead& head);
  Result<void> event_head(RunHead& head);
  [[nodiscard]] Error not_found(Sequence sequence);

  FileSystem& files_;
  KeyRing& keys_;
  const std::string run_;
  const std::shared_ptr<const JournalSnapshot> snapshot_;
  const RunRecords* records_;  // null: nothing in the journals
  std::optional<RunRecord> run_record_;
  std::optional<RunCodec> codec_;
  std::optional<PrunedList> pruned_;
  std::optional<std::vector<Sequence>> bases_;
  std::unique_ptr<RunReader> origin_;
  int depth_ = 0;  // how many forks lie between this run and the one that is being read
};

}  // namespace pawl
