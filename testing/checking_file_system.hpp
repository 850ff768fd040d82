// A file system that forwards to another one and logs every call, for assertions about order such as "the blob was
// synced before the batch of the journal".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "ports/file_system.hpp"

namespace pawl::testing {

struct LoggedOp {
  enum class What : std::uint8_t {
    open,
    exists,
    list,
    make_folder,
    rename,  // path -> to
    remove,
    sync_folder,
    sync_all,
    read,
    write,
    sync,
    resize,
    size,
    try_lock,          // offset: the locked byte
    unlock,            // the same
    locked_elsewhere,  // the same
  };
  What what = What::open;
  std::string path;
  std::string to;
  std::optional<SyncPoint> point;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // as requested: bytes to read, bytes to write, or the new size
  bool ok = false;         // the call succeeded

  /// "sync journal/0001 (journal_batch)" for failing assertions.
  [[nodiscard]] std::string text() const;
};

/// Thread-safe. Calls are logged in the order in which they returned. `inner` must outlive this object and its files.
class CheckingFileSystem final : public FileSystem {
 public:
  explicit CheckingFileSystem(FileSystem& inner);

  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override;
  Result<bool> exists(std::string_view path) override;
  Result<std::vector<FolderEntry>> list(std::string_view folder) override;
  Result<bool> make_folder(std::string_view path) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view path) override;
  Result<void> remove_folder(std::string_view path) override;
  Result<void> sync_folder(std::string_view path, SyncPoint point) override;
  Result<void> sync_all(SyncPoint point) override;

  [[nodiscard]] std::vector<LoggedOp> log() const;
  /// Leaves out calls that don't change files: reads, locks and every open.
  [[nodiscard]] std::vector<LoggedOp> changes() const;
  [[nodiscard]] std::size_t count(LoggedOp::What what) const;
  [[nodiscard]] std::size_t count(SyncPoint point) const;
  void clear();

  /// The log, shared with the open files.
  class Log {
   public:
    void add(LoggedOp op);
    [[nodiscard]] std::vector<LoggedOp> copy() const;
    void clear();

   private:
    mutable Mutex mutex_;
    std::vector<LoggedOp> ops_ PAWL_GUARDED_BY(mutex_);
  };

 private:
  FileSystem& inner_;
  const std::shared_ptr<Log> log_ = std::make_shared<Log>();
};

}  // namespace pawl::testing
