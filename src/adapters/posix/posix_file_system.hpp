// The file system port on the real disk (Linux).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/posix/posix_fd.hpp"
#include "adapters/posix/posix_file.hpp"
#include "adapters/posix/posix_filesystem_info.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Creates the folder `path` (only its last part: the parent must exist) and makes its name durable. If the folder
/// exists, its name is also made durable, because its creator may have died before that, unless its parent can't be
/// opened. Fails with store_not_found if the parent is missing.
[[nodiscard]] Result<void> make_root(std::string_view path);

/// The files below one folder, which stays the same folder even if it is renamed. Symbolic links are not followed in
/// the last part of a path. Absolute paths and ".." are bugs of the caller. Thread-safe. Files may outlive it. In a
/// forked child everything fails with used_after_fork.
class PosixFileSystem final : public FileSystem {
 public:
  /// Fails with store_not_found if the folder does not exist.
  [[nodiscard]] static Result<std::unique_ptr<PosixFileSystem>> open(std::string root_path,
                                                                     std::uint64_t mapped_from_bytes = kNeverMapped);
  static constexpr std::uint64_t kNeverMapped = UINT64_MAX;

  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override;
  Result<bool> exists(std::string_view path) override;
  Result<std::vector<FolderEntry>> list(std::string_view folder) override;
  Result<bool> make_folder(std::string_view path) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view path) override;
  Result<void> remove_folder(std::string_view path) override;
  /// Every failure is outcome_unknown: the names were created but may not be durable.
  Result<void> sync_folder(std::string_view path, SyncPoint point) override;
  Result<void> sync_all(SyncPoint point) override;

  Result<FileContent> content(std::string_view path, std::uint64_t size_max) override;

  [[nodiscard]] Result<FilesystemInfo> filesystem_info() const;
  /// Returns the number of calls so far by reason, including failed ones.
  [[nodiscard]] std::array<std::uint64_t, kSyncPointCount> sync_counts() const;

 private:
  PosixFileSystem(PosixFd root, std::string root_path, std::uint64_t mapped_from_bytes);
  [[nodiscard]] Result<std::unique_ptr<PosixFile>> open_file(std::string_view path, OpenMode mode) const;
  [[nodiscard]] Result<bool> is_folder(const std::string& path) const;
  [[nodiscard]] std::string where(std::string_view path) const;

  const PosixFd root_;
  const std::string root_path_;
  const std::uint64_t mapped_from_bytes_;
  const std::shared_ptr<PosixSyncCounts> counts_ = std::make_shared<PosixSyncCounts>();
  const ProcessBound process_;
};

}  // namespace pawl
