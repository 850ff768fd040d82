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

/// A file or folder of a store that is not in a backup, or only in part, and why.
struct BackupNote {
  std::string path = {};  // relative to the store's folder
  std::string why = {};
};

/// A backup that was written.
struct WrittenBackup {
  Uuid store = {};
  Timestamp at = {};
  std::uint64_t runs = 0;    // that can be read
  std::uint64_t erased = 0;  // of which the audit trail is left; removed ones don't count
  std::uint64_t files = 0;
  std::uint64_t content_bytes = 0;       // of the files in it
  std::uint64_t bytes = 0;               // of the backup
  std::vector<BackupNote> omitted = {};  // keys, and files that are not part of a store
  std::vector<BackupNote> damage = {};   // what is missing, unreadable or not what it should be
  /// Runs that a process has open, and that contain data of pruned checkpoints because their key is missing.
  std::vector<std::string> unpruned = {};
};

/// A store that was restored.
struct RestoredStore {
  Uuid store = {};
  Timestamp at = {};         // when the backup was made
  std::uint64_t runs = 0;    // that can be read
  std::uint64_t erased = 0;  // the same as in a written backup
  std::uint64_t checkpoints = 0;
  std::uint64_t files = 0;
  std::uint64_t content_bytes = 0;
  std::vector<Finding> damage = {};  // what was damaged when the backup was made
};

/// A backup that was read and found intact.
struct CheckedBackup {
  Uuid store = {};
  Timestamp at = {};       // when the backup was made
  std::uint64_t runs = 0;  // that can be read
  std::uint64_t erased = 0;
  std::uint64_t files = 0;
  std::uint64_t content_bytes = 0;
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
  /// Reads a backup and compares every file with its checksum. Writes nothing. Fails with backup_damaged.
  std::function<Result<CheckedBackup>(const std::string& path, const ShowBackupProgress& show)> verify;
};

}  // namespace pawl
