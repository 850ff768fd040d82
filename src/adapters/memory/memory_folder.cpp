// The folder for files of executions, which a store in memory needs as well.
#include <filesystem>
#include <mutex>

#include "adapters/memory/memory_disk.hpp"
#include "adapters/memory/memory_store.hpp"
#include "domain/erasure.hpp"

namespace pawl {

Result<std::string> MemoryStore::local_folder(const RunId& run) {
  const std::scoped_lock lock(disk_->mutex);
  std::error_code problem;
  if (disk_->folder.empty()) {
    const std::filesystem::path place = std::filesystem::temp_directory_path(problem);
    // An existing folder is never used: only a folder that was created here may be removed.
    std::filesystem::path folder;
    bool made = false;
    for (int attempt = 0; attempt < 100 && !made && !problem; ++attempt) {
      folder = place / fmt::format("pawl-{}", make_uuid(*environment_.random).text());
      made = std::filesystem::create_directory(folder, problem);
    }
    if (!made) {
      return fail(
          Error{Code::write_failed, "can't create a folder for temporary files", folder.string(), {}, problem.value()});
    }
    disk_->folder = std::move(folder);
    std::filesystem::permissions(disk_->folder, std::filesystem::perms::owner_all, problem);
  }
  if (const auto found = disk_->runs.find(run); found != disk_->runs.end() && found->second.erased) {
    return fail(erased_error(run.text(), *found->second.erased));
  }
  const std::filesystem::path folder = disk_->folder / run.text();
  if (!problem) std::filesystem::create_directory(folder, problem);
  if (problem) return fail(Error{Code::write_failed, "can't create the folder", folder.string(), {}, problem.value()});
  return folder.string();
}

}  // namespace pawl
