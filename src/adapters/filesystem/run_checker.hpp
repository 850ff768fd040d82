// fsck for one run: reads every file, checks every checksum and rebuilds every state.
#pragma once

#include <memory>
#include <pawl/check.hpp>
#include <set>

#include "adapters/filesystem/chain_reader.hpp"
#include "adapters/filesystem/checkpoint_sums.hpp"
#include "adapters/filesystem/key_ring.hpp"
#include "audit/roots.hpp"
#include "codec/erased_text.hpp"

namespace pawl {

/// Linear in the size of the run. Fails only if the operating system can't read.
class RunChecker {
 public:
  RunChecker(FileSystem& files, KeyRing& keys, std::string run, std::shared_ptr<const JournalSnapshot> snapshot,
             CheckReport& report);
  /// Checks the checkpoint `only` and those that it depends on, or all of them if it is 0.
  Result<void> check(Sequence only);

 private:
  /// Returns true if the run was erased and nothing else needs to be checked.
  Result<bool> check_erased();
  Result<void> check_remains();
  Result<bool> check_run_file();
  Result<void> check_key();
  Result<bool> check_pruned();
  Result<void> check_checkpoints(Sequence only);
  void add_missing(std::uint64_t first, std::uint64_t end);
  Result<Sequence> last_audited();
  void check_chain(const Chain& chain, Sequence end);
  void add_damaged(const Chain& chain, Sequence end);
  void check_copy(const ChainLink& link);
  void apply(const RecordView& record, const std::string& path);
  std::optional<std::string> payload_of(const RecordView& record, const std::string& path);
  Result<void> check_origin();
  Result<void> check_fork_notes();
  Result<void> check_audit();
  Result<void> read_roots();
  /// Compares the root over the entries up to this one, if there is one.
  void check_root(std::string_view line);
  /// Checks that the roots match the audit trail and cover every entry that they must.
  void check_roots();
  void check_audited(const AuditEntry& entry);
  /// Checks the list of checkpoints that were set aside against its hash in the audit trail.
  Result<void> check_erased_trail(File& trail, std::uint64_t entry, const Error& bad);
  Result<void> check_aside(const std::string& audited);
  Result<void> check_events();
  Result<void> check_inbox();
  Result<void> check_leftovers();
  Result<void> check_strays();
  Result<void> check_stray(const std::string& folder, const std::string& name);
  [[nodiscard]] ChainSource source() const { return {files_, run_, records_, pruned_, run_record_.fork_of_sequence}; }
  void add(Finding::Severity severity, Code code, std::string file, Sequence sequence, std::string what);

  FileSystem& files_;
  KeyRing& keys_;
  const std::string run_;
  const std::shared_ptr<const JournalSnapshot> snapshot_;
  const RunRecords* records_;
  CheckReport& report_;
  RunRecord run_record_;
  std::uint32_t seed_ = 0;
  std::optional<RunCodec> codec_;
  bool has_key_ = true;
  PrunedList pruned_;
  Sequence stray_above_;                     // files with higher numbers are no checkpoints of the run; 0: unknown
  CheckpointSums sums_;                      // checksums of all checkpoints read
  IndexRanges missing_;                      // checkpoints that were reported as missing
  std::set<std::string> blobs_;              // that records refer to
  std::optional<std::string> shared_state_;  // of a fork: the state that its first differences are based on
  std::string state_;                        // state of the last checkpoint read
  bool state_known_ = false;
  std::optional<ErasedRecord> erased_;
  std::string first_audited_;  // the type of the audit trail's first entry
  std::string last_audited_;   // the type of its last entry
  std::optional<RootsText> roots_;
  std::size_t next_root_ = 0;         // the next one to compare
  SettledRoot trail_;                 // of the entries read so far
  std::uint64_t different_root_ = 0;  // size of the first root that does not match the trail; 0: none
};

}  // namespace pawl
