// Copying a whole store to one file, and restoring it (docs/backup.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <pawl/check.hpp>
#include <pawl/types.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

struct BackupProgress {
  std::uint64_t runs = 0;      // finished so far
  std::uint64_t runs_all = 0;  // 0: not known
  std::uint64_t bytes = 0;     // content copied so far
};
/// Called often, from the calling thread.
using ShowBackupProgress = std::function<void(const BackupProgress&)>;

/// A backup that was written.
struct WrittenBackup {
  Uuid store = {};
  Timestamp at = {};
  std::uint64_t runs = 0;
  std::uint64_t files = 0;
  std::uint64_t content_bytes = 0;  // of the files in it
  std::uint64_t bytes = 0;          // of the backup
  /// Files that can't be in a backup because of their names, relative to the store's folder.
  std::vector<std::string> omitted = {};
};

/// A store that was restored.
struct RestoredStore {
  Uuid store = {};
  Timestamp at = {};  // when the backup was made
  std::uint64_t runs = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t files = 0;
  std::uint64_t content_bytes = 0;
  std::vector<Finding> damage = {};  // what was damaged when the backup was made
};

enum class ExistingBackup : std::uint8_t { refuse, replace };

struct StoreBackups {
  /// Writes a backup of the store to `path`. It is complete and durable on return; after an error, `path` is unchanged.
  /// Writers are not blocked. Fails with backup_exists.
  std::function<Result<WrittenBackup>(std::string_view store, const std::string& path, ExistingBackup existing,
                                      const ShowBackupProgress& show)>
      create;
  /// Restores a backup to `folder`, which must be missing or empty. The store is complete and durable on return; after
  /// an error, `folder` is unchanged. Without `bytes_max`, the maximum size depends on the size of the backup. Fails
  /// with backup_damaged, backup_too_large or folder_not_empty.
  std::function<Result<RestoredStore>(const std::string& path, const std::string& folder,
                                      std::optional<std::uint64_t> bytes_max, const ShowBackupProgress& show)>
      restore;
};

}  // namespace pawl
