// A file on the real disk. Created by PosixFileSystem::open.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "adapters/posix/posix_fd.hpp"
#include "base/process_bound.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Counts syncs by reason. Thread-safe.
struct PosixSyncCounts {
  std::array<std::atomic<std::uint64_t>, kSyncPointCount> of{};
  void add(SyncPoint point) { of[static_cast<std::size_t>(point)].fetch_add(1, std::memory_order_relaxed); }
};

/// Locks are open-file-description locks (F_OFD_SETLK). They belong to this object, so two objects in one process
/// exclude each other. A child forked without exec shares them until it exits, so it can't use the file: everything
/// except closing it fails with used_after_fork.
class PosixFile final : public File {
 public:
  /// `where` is the full path, for errors.
  PosixFile(PosixFd fd, std::string where, std::shared_ptr<PosixSyncCounts> counts);

  Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) override;
  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override;
  Result<void> sync(SyncPoint point) override;
  Result<void> resize(std::uint64_t size) override;
  Result<std::uint64_t> size() override;
  Result<std::uint64_t> id() override;
  Result<std::uint64_t> next_data(std::uint64_t offset) override;
  /// Maps the whole file. Returns nothing if the kernel can't load it into memory at once; it must then be read.
  Result<std::optional<FileContent>> map();
  /// Requires a file that is open for writing.
  Result<bool> try_lock(std::uint64_t byte) override;
  Result<bool> try_lock_shared(std::uint64_t byte) override;
  Result<void> unlock(std::uint64_t byte) override;
  /// Works on any open file.
  Result<bool> locked_elsewhere(std::uint64_t byte) override;

 private:
  Result<bool> take_lock(short type, std::uint64_t byte);
  PosixFd fd_;
  std::string where_;
  std::shared_ptr<PosixSyncCounts> counts_;
  const ProcessBound process_;
};

}  // namespace pawl
