// Erases the files of a run, and its traces in logs for people.
//
// The order guarantees that a kill or power loss at any point leaves the run either complete or erased:
//   1. The mark (erased.json) is synced, then its name. From then on the run counts as erased.
//   2. The key is destroyed. The audit trail gets its last entry. Every other file is overwritten, synced and removed.
//      run.json is replaced by the identity of the run. Only the mark and the lock of a removed run remain.
//   3. When journals and catalogue contain nothing of the run, the mark records that.
// Each part can be repeated and always syncs, because an earlier attempt may have been killed in between.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "adapters/filesystem/options.hpp"
#include "codec/erased_text.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

enum class SetAside : std::uint8_t { by_pawl, all };

struct RunName {
  std::string id;
  Uuid uuid;
};

/// Destroys the files in recovery/ that may contain data of these runs: torn batches, and files that mention a run.
/// They may contain data of other runs, too. `by_pawl` spares files that people have put there. Returns their paths.
Result<std::vector<std::string>> wipe_set_aside(FileSystem& files, std::span<const RunName> runs, SetAside which);

class RunEraser {
 public:
  /// `lock` is the lock file of the run. The caller must hold its writer and pruner bytes.
  RunEraser(FileSystem& files, Environment environment, const FilesystemOptions& options, std::string run, File& lock);

  /// Writes the mark. The run is erased, durably, on return.
  Result<void> mark(const ErasedRecord& record);
  /// Destroys everything of the run except its mark and, unless the run is removed, its audit trail and identity.
  Result<void> destroy(const ErasedRecord& record);
  /// Destroys torn batches that were set aside, and lines of the failure log that mention the run.
  Result<void> clean_recovery(const ErasedRecord& record);
  /// Records in the mark that the erasure is complete.
  Result<void> mark_finished(ErasedRecord record);

 private:
  struct Found {
    std::vector<std::string> files;
    std::vector<std::string> folders;  // contents before their folder
  };
  Result<void> write_mark(const ErasedRecord& record);
  Result<void> lock_publishing();
  Result<void> close_audit(const ErasedRecord& record);
  Result<Found> find_data(const ErasedRecord& record);
  Result<void> find_below(const std::string& folder, Found& found);
  Result<void> wipe(const Found& found, const ErasedRecord& record);
  Result<void> reduce_run_file(const ErasedRecord& record);
  /// Replaces the file with another text and destroys the old bytes.
  Result<void> replace(const std::string& path, std::string_view text);
  Result<void> clean_failures(const ErasedRecord& record);

  FileSystem& files_;
  const Environment environment_;
  const FilesystemOptions& options_;
  const std::string run_;
  File& lock_;
};

}  // namespace pawl
