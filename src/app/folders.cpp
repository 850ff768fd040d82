#include "app/folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "adapters/posix/posix_file_system.hpp"

namespace pawl {
namespace {

/// Returns the id of the mount, or 0 if the kernel does not know it (before Linux 5.8). A bind mount has the device of
/// its source, but its own id.
std::uint64_t mount_of(const std::string& folder) {
  struct statx info{};
  if (::statx(AT_FDCWD, folder.c_str(), 0, STATX_MNT_ID, &info) != 0 || (info.stx_mask & STATX_MNT_ID) == 0) return 0;
  return info.stx_mnt_id;
}

}  // namespace

std::optional<cli::FolderFacts> look_at_folder(const std::string& folder) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) return std::nullopt;
  const std::uint64_t device = info.st_dev;
  const bool is_mine = info.st_uid == ::geteuid();
  // Compared by device and inode, not by name, because the path may contain a link.
  struct stat home{};
  const char* const home_path = std::getenv("HOME");
  const bool is_home =
      home_path != nullptr && ::stat(home_path, &home) == 0 && home.st_dev == info.st_dev && home.st_ino == info.st_ino;
  const std::string store = folder + "/.pawl";
  // A link whose target is missing or can't be examined is a store as well. Opening it fails and says why. A new store
  // in its place would repeat all work.
  const bool exists = ::lstat(store.c_str(), &info) == 0;
  const bool has_store = exists && (::stat(store.c_str(), &info) != 0 || S_ISDIR(info.st_mode));
  return cli::FolderFacts{
      .device = device, .mount = mount_of(folder), .is_mine = is_mine, .is_home = is_home, .has_store = has_store};
}

Result<void> make_parents(const std::string& path) {
  std::vector<std::string> missing;
  std::filesystem::path folder = std::filesystem::path(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "a/b/" means "a/b"
  std::error_code unreadable;
  for (folder = folder.parent_path(); !folder.empty() && !std::filesystem::exists(folder, unreadable);
       folder = folder.parent_path())
    missing.push_back(folder.string());
  for (auto one = missing.rbegin(); one != missing.rend(); ++one) PAWL_TRY(make_root(*one));
  return {};
}

}  // namespace pawl
