// Writes backups to a folder, and restores them. A backup and a restored store appear under their names only when they
// are complete, checked and durable.
#pragma once

#include <string>

#include "ports/backup.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

class FilesystemStore;

struct BackupPlace {
  FileSystem* folder = nullptr;
  std::string name = {};  // of the backup in this folder
  ExistingBackup existing = ExistingBackup::refuse;
  Environment environment = {};
  /// Called with the name of the temporary file in this folder before it is created.
  std::function<void(const std::string& name)> announce = {};
};

/// Writes a backup of the store. After an error, nothing of it is left, unless the process is killed; the next backup
/// with the same name then removes the rest. Fails with backup_exists.
[[nodiscard]] Result<WrittenBackup> create_backup(FilesystemStore& store, const BackupPlace& place,
                                                  const ShowBackupProgress& show);

struct RestorePlace {
  FileSystem* parent = nullptr;  // of the folder that the store gets
  std::string name = {};         // of that folder
  Environment environment = {};
  std::uint64_t bytes_max = 0;  // maximum total size of the files
};

/// Restores the backup in `file`. After an error, nothing of it is left, unless the process is killed; the next restore
/// to the same name then removes the rest. Fails with backup_damaged, backup_too_large or folder_not_empty.
[[nodiscard]] Result<RestoredStore> restore_backup(File& file, const RestorePlace& place,
                                                   const ShowBackupProgress& show);

/// Checks the backup as a restore would, except for what only the checks of the restored store find. Writes nothing.
/// Fails with backup_damaged.
[[nodiscard]] Result<CheckedBackup> check_backup(File& file, const ShowBackupProgress& show);

/// A folder of a file system as a file system of its own.
class FolderFiles final : public FileSystem {
 public:
  FolderFiles(FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}
  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override {
    return files_.open(mapped(path), mode);
  }
  Result<bool> exists(std::string_view path) override { return files_.exists(mapped(path)); }
  Result<std::vector<FolderEntry>> list(std::string_view folder) override { return files_.list(mapped(folder)); }
  Result<bool> make_folder(std::string_view path) override { return files_.make_folder(mapped(path)); }
  Result<void> rename(std::string_view from, std::string_view to) override {
    return files_.rename(mapped(from), mapped(to));
  }
  Result<void> remove(std::string_view path) override { return files_.remove(mapped(path)); }
  Result<void> remove_folder(std::string_view path) override { return files_.remove_folder(mapped(path)); }
  Result<void> sync_folder(std::string_view path, SyncPoint point) override {
    return files_.sync_folder(mapped(path), point);
  }
  Result<void> sync_all(SyncPoint point) override { return files_.sync_all(point); }

 private:
  [[nodiscard]] std::string mapped(std::string_view path) const {
    return path.empty() ? folder_ : join_path(folder_, path);
  }
  FileSystem& files_;
  const std::string folder_;
};

}  // namespace pawl
