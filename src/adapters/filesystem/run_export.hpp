// Writing and reading exports: docs/formats/export.md.
//
// An export contains the files of the run as they are, after everything that only the journals contained was written to
// them. An import unpacks them to `runs/.import`, syncs and checks them, and then renames the folder. Readers see
// nothing of the run before that. The next import removes what an interrupted one left behind.
#pragma once

#include <functional>
#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <vector>

#include "adapters/filesystem/fork_notes.hpp"
#include "base/hash.hpp"
#include "codec/export_text.hpp"
#include "codec/record_text.hpp"
#include "ports/file_system.hpp"
#include "ports/run_export.hpp"

namespace pawl {

/// A run in the folder of runs being imported.
struct UnpackedRun {
  ImportedExport imported = {};
  std::string checksum = {};          // of the latest checkpoint
  std::optional<ForkNote> fork = {};  // the note that the parent run needs if this run is a fork
  std::string fork_of = {};           // the parent run
};

/// Returns the paths of the files that an export contains, relative to the folder of the run, sorted.
[[nodiscard]] Result<std::vector<std::string>> files_to_export(FileSystem& files, const std::string& run,
                                                               ExportLogs logs);

/// Writes an export. Not thread-safe.
class ExportWriter {
 public:
  ExportWriter(FileSystem& files, std::string run, std::function<Result<void>(std::string_view)> write);
  Result<ExportedRun> write_all(const ExportHeader& header, const std::vector<std::string>& names);

 private:
  Result<void> put(std::string_view bytes);
  Result<void> put_file(const std::string& name);

  FileSystem& files_;
  const std::string run_;
  const std::function<Result<void>(std::string_view)> write_;
  Sha256Stream hash_;
  std::uint64_t bytes_ = 0;
};

/// Unpacks an export into the folder of runs being imported, which must be empty. Does not sync. Not thread-safe.
class ExportReader {
 public:
  /// If `files` is null, the export is checked but not unpacked.
  ExportReader(FileSystem* files, File& source);
  /// Reads the first line.
  Result<ExportHeader> begin();
  /// Reads everything after the first line. Returns the number of files. Fails with export_damaged if the export
  /// differs from what was written.
  Result<std::uint64_t> read_files();

 private:
  Result<std::string> line();
  Result<std::string> take(std::uint64_t bytes);
  Result<void> take_file(const ExportEntry& entry);
  Result<void> make_folders(std::string_view file);

  FileSystem* files_;
  File& source_;
  Sha256Stream hash_;
  std::uint64_t at_ = 0;
  std::string last_file_;
};

/// Removes `folder` and everything in it.
Result<void> remove_all(FileSystem& files, const std::string& folder, int depth_max = 64);

/// A read-only file system in which the unpacked run already has its final name, so that it can be checked there.
class UnpackedFiles final : public FileSystem {
 public:
  UnpackedFiles(FileSystem& files, std::string_view run);
  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override;
  Result<bool> exists(std::string_view path) override;
  Result<std::vector<FolderEntry>> list(std::string_view folder) override;
  Result<bool> make_folder(std::string_view path) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view path) override;
  Result<void> remove_folder(std::string_view path) override;
  Result<void> sync_folder(std::string_view path, SyncPoint point) override;
  Result<void> sync_all(SyncPoint point) override;

 private:
  [[nodiscard]] std::string mapped(std::string_view path) const;
  FileSystem& files_;
  const std::string folder_;
};

}  // namespace pawl
