// Copies a store to a backup while other processes write to it. Takes no lock unless a run changes all the time.
//
// A backup is a complete store with one journal. For every run it contains a state that a reader could have seen after
// the start of the backup: the files of the run, and the records that a snapshot of the journals has of it.
//
//   1. Note the names and sizes of the run's files.
//   2. Take a snapshot of the journals.
//   3. If the names and sizes are still the same, nothing was published, pruned, erased or received since step 1, and
//      what step 1 has seen is either complete or in the snapshot. Copy the files up to these sizes; writers only
//      append.
//   4. If the lists of pruned and erased data are still the same, nothing was removed meanwhile. Otherwise take it
//   back.
//
// A run that changed is copied again with the next snapshot. After a few rounds, the backup takes the locks for pruning
// and publishing the run before step 1, so that it gets its turn. The reasons are in docs/adr/0022-backup.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/filesystem/backup_file.hpp"
#include "adapters/filesystem/journal_reader.hpp"
#include "adapters/filesystem/key_finder.hpp"
#include "adapters/filesystem/run_pruner.hpp"
#include "ports/backup.hpp"
#include "ports/environment.hpp"

namespace pawl {

class StoreBackup {
 public:
  struct Place {
    FileSystem* files = nullptr;
    Environment environment;
    std::uint64_t segment_bytes = 0;
    std::function<Result<std::shared_ptr<JournalSnapshot>>()> snapshot;
    /// Returns the run without the data of pruned checkpoints (RunPruner::image).
    std::function<Result<std::optional<PrunedImage>>(const std::string& run, std::shared_ptr<JournalSnapshot> snapshot)>
        image;
    std::optional<SecretKey> key;  // the outer key of the store, if it is known
  };
  StoreBackup(Place place, File& file, ShowBackupProgress show);

  /// Writes the backup to the empty file, without syncing it. Returns nothing if a run was erased meanwhile and must
  /// not be in it; then it must be started again. What can't be read is left out and reported. Fails if a journal is
  /// damaged.
  Result<std::optional<WrittenBackup>> write();

 private:
  struct CopiedFile {
    std::string path;
    std::uint64_t size_bytes = 0;
  };
  /// A run to copy, as it was before the snapshot.
  struct Candidate {
    std::string run;
    std::string stamp;
    bool described = false;  // run.json or erased.json existed
  };

  Result<void> add_store_files();
  Result<void> add_recovery();
  Result<void> add_if_there(const std::string& path);
  [[nodiscard]] bool is_key(std::string_view path, std::string_view text) const;
  /// Returns whether the file contains the key of the store. Looks only into files that are not of a format of Pawl.
  Result<bool> has_key(const CopiedFile& file, const BackupWriter::Read& read) const;
  /// Leaves out what can't be read and reports it. Fails if that says nothing about the file, as without memory.
  Result<void> leave_out(const std::string& path, const Error& why);
  /// Returns nothing if the file does not exist or can't be read.
  Result<std::optional<std::string>> read_named(const std::string& path);
  bool is_misplaced(const std::string& path, const FolderEntry& entry, int depth);
  Result<std::vector<Candidate>> candidates();
  Result<bool> is_lost(const std::string& run);
  Result<std::optional<PrunedImage>> image_of(const std::string& run);
  Result<Candidate> look_at(const std::string& run);
  Result<void> take_snapshot();
  Result<void> collect(const std::string& folder, int depth, std::vector<CopiedFile>& found);
  Result<std::vector<CopiedFile>> files_of(const std::string& run);
  Result<void> add_new_runs(std::vector<Candidate>& runs);
  Result<std::vector<Candidate>> copy_unchanged(const std::vector<Candidate>& runs);
  Result<bool> copy(const Candidate& candidate);
  Result<void> copy_held(const std::string& run);
  /// Returns false if a file was removed or truncated meanwhile.
  Result<bool> copy_files(const std::string& run, const std::vector<CopiedFile>& files,
                          const std::optional<std::string>& roots, const std::optional<PrunedImage>& image);
  Result<void> add_image(const std::string& run, const PrunedImage& image);
  Result<bool> copy_file(const CopiedFile& file);
  Result<std::string> removals(const std::string& run);
  Result<void> carry_records(const std::string& run, const std::optional<PrunedImage>& image);
  void carry(const JournalRecord& record);
  void end_batch();
  Result<void> add_journal();
  void show_progress();

  Place place_;
  FileSystem& files_;
  BackupWriter out_;
  const ShowBackupProgress show_;
  WrittenBackup written_;
  std::string key_id_;  // of the store; empty if it is not encrypted
  std::optional<KeyFinder> key_finder_;
  std::uint64_t runs_all_ = 0;
  std::map<std::string, std::string> omitted_;  // paths, and why
  std::map<std::string, std::string> damage_;   // the same
  std::set<std::string> lost_;                  // runs of which neither run.json nor the journals know anything
  std::set<std::string> unpruned_;
  std::vector<std::string> copied_;  // runs that were not erased
  std::shared_ptr<JournalSnapshot> snapshot_;
  std::uint64_t generation_ = 0;
  std::string journal_;  // the batches
  std::uint64_t batches_ = 0;
  std::string batch_;
  std::uint32_t batch_records_ = 0;
};

}  // namespace pawl
