// FilesystemStore: how many bytes its parts take up.
#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"

namespace pawl {
namespace {

constexpr int kFoldersDeepMax = 64;  // folders; logs of nested steps have one each

/// Returns 0 if the file no longer exists: other processes publish and prune at the same time.
Result<std::uint64_t> file_bytes(FileSystem& files, const std::string& path) {
  const auto file = files.open(path, OpenMode::read);
  if (!file && (file.error().code == Code::input_unreadable || file.error().code == Code::store_damaged))
    return 0;  // links are not followed, and pipes have no size
  if (!file) return fail(file.error());
  return (*file)->size();
}

Result<std::uint64_t> folder_bytes(FileSystem& files, const std::string& folder, int depth) {
  std::uint64_t bytes = 0;
  if (depth > kFoldersDeepMax) return bytes;
  PAWL_TRY_ASSIGN(const std::vector<FolderEntry> entries, files.list(folder));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(folder, entry.name);
    PAWL_TRY_ASSIGN(const std::uint64_t inside,
                    entry.is_folder ? folder_bytes(files, path, depth + 1) : file_bytes(files, path));
    bytes += inside;
  }
  return bytes;
}

/// Returns the part of a run that a name in its folder belongs to.
std::uint64_t& part_of(RunFootprint& bytes, std::string_view name) {
  if (name == "checkpoints") return bytes.checkpoints;
  if (name == "events") return bytes.events;
  if (name == "audit") return bytes.audit;
  if (name == "blobs") return bytes.blobs;
  if (name == "logs") return bytes.logs;
  if (name == "inbox") return bytes.inbox;
  return bytes.other;
}

}  // namespace

Result<RunFootprint> FilesystemStore::footprint(const RunId& run) {
  PAWL_TRY(refuse_erased(files_, run.text()));
  RunFootprint bytes;
  const std::string folder = layout::run(run.text());
  PAWL_TRY_ASSIGN(const std::vector<FolderEntry> entries, files_.list(folder));
  // A run may be only in a journal; its folder then contains at most a lock.
  PAWL_TRY_ASSIGN(const bool described, files_.exists(layout::run_file(run.text())));
  if (!described) PAWL_TRY(this->run(run));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(folder, entry.name);
    PAWL_TRY_ASSIGN(const std::uint64_t inside,
                    entry.is_folder ? folder_bytes(files_, path, 1) : file_bytes(files_, path));
    part_of(bytes, entry.name) += inside;
  }
  return bytes;
}

Result<std::uint64_t> FilesystemStore::shared_bytes() {
  std::uint64_t bytes = 0;
  for (const std::string_view folder : {layout::kJournals, layout::kRecovery, layout::kLimits, layout::kCache}) {
    PAWL_TRY_ASSIGN(const std::uint64_t inside, folder_bytes(files_, std::string(folder), 1));
    bytes += inside;
  }
  for (const std::string_view ending : {"", "-wal", "-shm"}) {
    PAWL_TRY_ASSIGN(const std::uint64_t size,
                    file_bytes(files_, std::string(layout::kCatalogue) + std::string(ending)));
    bytes += size;
  }
  return bytes;
}

}  // namespace pawl
