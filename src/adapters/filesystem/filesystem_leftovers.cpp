// FilesystemStore: temporary files that killed processes left behind.
//
// A process holds a lock while it writes such a file. So whoever holds that lock knows that nobody is writing the file,
// and may remove it. If the lock is taken, the file stays.
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"

namespace pawl {

/// Takes the locks under which files of a run are written. Returns null if another process holds one.
Result<std::unique_ptr<File>> FilesystemStore::lock_unused_files(const std::string& run) {
  PAWL_TRY_ASSIGN(auto lock, files_.open(layout::run_lock(run), OpenMode::create));
  PAWL_TRY_ASSIGN(const bool closed, lock_closed_run(*lock));
  if (!closed) return nullptr;
  for (const std::uint64_t byte : {layout::kPrunerByte, layout::kBlobByte, layout::kPublisherByte}) {
    PAWL_TRY_ASSIGN(const bool locked, lock->try_lock(byte));
    if (!locked) return nullptr;
  }
  return lock;
}

/// Returns a lock that keeps everybody from writing the temporary file `path`, or null if somebody may be doing that.
Result<std::unique_ptr<File>> FilesystemStore::lock_temporary(const std::string& path, const std::string& run) {
  if (!run.empty() && parent_folder(path) != layout::inbox(run)) return lock_unused_files(run);
  if (path.starts_with(layout::kStoreFile)) {
    auto lock = lock_store_file();
    if (!lock && lock.error().code == Code::store_busy) return nullptr;
    return lock;
  }
  // The sender of a message locks the file itself, the writer of a journal its owner file.
  auto lock = files_.open(run.empty() ? join_path(parent_folder(path), "owner") : path, OpenMode::write);
  if (!lock && lock.error().code == Code::input_unreadable) return nullptr;
  if (!lock) return lock;
  PAWL_TRY_ASSIGN(const bool locked, (*lock)->try_lock(layout::kWriterByte));
  return locked ? std::move(lock) : Result<std::unique_ptr<File>>(nullptr);
}

Result<void> FilesystemStore::remove_leftovers(const CheckReport& report) {
  for (const Finding& finding : report.findings) {
    if (!finding.file.ends_with(".tmp")) continue;
    PAWL_TRY_ASSIGN(const auto lock, lock_temporary(finding.file, finding.run));
    if (lock) PAWL_TRY(files_.remove(finding.file));
  }
  return {};
}

}  // namespace pawl
