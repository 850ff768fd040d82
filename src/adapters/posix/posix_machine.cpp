#include "adapters/posix/posix_machine.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "adapters/posix/posix_error.hpp"
#include "adapters/posix/posix_fd.hpp"
#include "adapters/posix/posix_filesystem_info.hpp"

namespace pawl {

Result<DiskFacts> PosixMachine::disk(const std::string& folder) {
  const PosixFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return fail(posix_error(PosixCall::open_existing, errno, folder));
  PAWL_TRY_ASSIGN(const FilesystemInfo info, filesystem_info_of(fd.get(), folder));
  struct statvfs room{};
  if (::fstatvfs(fd.get(), &room) != 0) return fail(posix_error(PosixCall::look_up, errno, folder));
  DiskFacts facts;
  facts.type = info.type;
  facts.is_network = info.place == FilesystemPlace::network;
  facts.is_unknown = info.place == FilesystemPlace::unknown;
  facts.read_only = info.read_only;
  facts.free_bytes = info.free_bytes;
  facts.total_bytes = static_cast<std::uint64_t>(room.f_blocks) * room.f_frsize;
  facts.free_files = room.f_favail;
  facts.total_files = room.f_files;
  return facts;
}

Result<FileFacts> PosixMachine::file(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    Error error = posix_error(PosixCall::open_existing, errno, path);
    return fail(error);
  }
  return FileFacts{.mode = static_cast<unsigned>(found.st_mode) & 0777U,
                   .mine = found.st_uid == ::geteuid(),
                   .is_folder = S_ISDIR(found.st_mode)};
}

Result<std::vector<std::int64_t>> PosixMachine::sync_times_us(const std::string& folder, std::size_t count) {
  std::string path = folder + "/doctor-XXXXXX";
  const PosixFd fd(::mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) return fail(posix_error(PosixCall::open_created, errno, folder));
  ::unlink(path.c_str());  // removed immediately, so that nothing is left whatever happens
  const std::string block(4096, '\0');
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < count; ++i) {
    if (::pwrite(fd.get(), block.data(), block.size(), static_cast<off_t>(i * block.size())) !=
        static_cast<ssize_t>(block.size()))
      return fail(posix_error(PosixCall::write, errno, folder));
    const std::int64_t began_us = clock_.monotonic_us();
    if (::fdatasync(fd.get()) != 0) return fail(posix_error(PosixCall::sync, errno, folder));
    times.push_back(clock_.monotonic_us() - began_us);
  }
  return times;
}

std::vector<std::string> PosixMachine::left_over(const std::string& folder, std::int64_t age_s, std::size_t limit) {
  std::vector<std::string> found;
  std::error_code problem;
  const std::int64_t oldest_s = clock_.now().us / 1'000'000 - age_s;
  auto entry = std::filesystem::recursive_directory_iterator(
      folder, std::filesystem::directory_options::skip_permission_denied, problem);
  for (; !problem && entry != std::filesystem::recursive_directory_iterator() && found.size() < limit;
       entry.increment(problem)) {
    const std::string path = entry->path().string();
    // Logs belong to the steps, and there may be many.
    if (entry->path().filename() == "logs" && entry->is_directory(problem)) entry.disable_recursion_pending();
    struct stat facts{};
    if (!path.ends_with(".tmp") || ::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (facts.st_mtim.tv_sec < oldest_s) found.push_back(path);
  }
  return found;
}

}  // namespace pawl
