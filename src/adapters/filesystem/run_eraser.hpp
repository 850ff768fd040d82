// What an erasure does to a run's own files, and to those for people that may mention it.
//
// Order, so that a kill or a loss of power at any point leaves a run that is whole or one that is erased:
//   1. The mark (erased.json) is synced, then its name. From then on nothing of the run counts.
//   2. The key is destroyed; the audit trail gets its last entry; every other file is overwritten, synced and removed;
//      run.json is replaced by what identifies the run. Of a removed run nothing but the mark and the lock stays.
//   3. When journals and catalogue are clean as well, the mark says so.
// Each part may be done again, and always syncs: whoever did it before may have been killed in between.
#pragma once

#include <string>
#include <vector>

#include "adapters/filesystem/options.hpp"
#include "codec/erased_text.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

class RunEraser {
 public:
  /// `lock` is the run's lock file, whose writer's and pruner's bytes the caller holds.
  RunEraser(FileSystem& files, Environment environment, const FilesystemOptions& options, std::string run, File& lock);

  /// The moment of the erasure: durable when it returns.
  Result<void> mark(const ErasedRecord& record);
  /// Everything of the run but its mark and, unless it is removed, its audit trail and what identifies it.
  Result<void> destroy(const ErasedRecord& record);
  /// Torn batches that were set aside, and lines of the failure log that mention the run.
  Result<void> clean_recovery(const ErasedRecord& record);
  /// Nothing is left.
  Result<void> mark_finished(ErasedRecord record);

 private:
  struct Found {
    std::vector<std::string> files;
    std::vector<std::string> folders;  // what is inside stands before
  };
  Result<void> write_mark(const ErasedRecord& record);
  Result<void> lock_publishing();
  Result<void> close_audit(const ErasedRecord& record);
  Result<Found> find_data(const ErasedRecord& record);
  Result<void> find_below(const std::string& folder, Found& found);
  Result<void> wipe(const Found& found, const ErasedRecord& record);
  Result<void> reduce_run_file(const ErasedRecord& record);
  /// Another text in the file's place; the old one's bytes are destroyed.
  Result<void> replace(const std::string& path, std::string_view text);
  Result<void> clean_failures(const ErasedRecord& record);

  FileSystem& files_;
  const Environment environment_;
  const FilesystemOptions& options_;
  const std::string run_;
  File& lock_;
};

}  // namespace pawl
