#include "adapters/posix/posix_file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "adapters/posix/posix_error.hpp"
#include "base/assert.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kHoleMax = 64ULL << 20;

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

bool is_inside(std::string_view path) {
  if (path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  const std::string framed = fmt::format("/{}/", path);
  return framed.find("/../") == std::string::npos;
}

// Converts a path for the *at() calls.
std::string checked(std::string_view path) {
  PAWL_ASSERT(is_inside(path));
  return path.empty() ? std::string(".") : std::string(path);
}

PosixFd open_retrying(int folder, const char* path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::openat(folder, path, flags, mode);
  } while (fd < 0 && errno == EINTR);
  return PosixFd(fd);
}

// O_NONBLOCK has no effect on files. It prevents a FIFO with the name of a file from blocking us.
int flags_of(OpenMode mode) {
  constexpr int kCommon = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  switch (mode) {
    case OpenMode::read: return kCommon | O_RDONLY;
    case OpenMode::write:
    case OpenMode::wipe: return kCommon | O_RDWR;
    case OpenMode::create: return kCommon | O_RDWR | O_CREAT;
    case OpenMode::create_empty: return kCommon | O_RDWR | O_CREAT | O_TRUNC;
  }
  return kCommon | O_RDONLY;
}

int fsync_retrying(int fd) {
  int result = 0;
  do {
    result = ::fsync(fd);
  } while (result < 0 && errno == EINTR);
  return result;
}

std::string parent_of_root(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

/// Says more than the errno does about a store's folder that does not exist.
Error root_error(PosixCall call, int os_error, const std::string& root) {
  Error error = posix_error(call, os_error, root);
  struct stat info{};
  if (::lstat(root.c_str(), &info) == 0 && S_ISLNK(info.st_mode) && os_error == ENOENT) {
    std::error_code unknown;
    const std::string target = std::filesystem::read_symlink(root, unknown).string();
    error.code = Code::store_not_found;
    error.message = fmt::format("the store is a symbolic link to {}, which does not exist", target);
    error.hint = "mount the disk or correct the link; to use another store, pass --store";
    return error;
  }
  if (os_error != ENOENT) return error;
  if (!root.starts_with('/') && ::stat(".", &info) == 0 && info.st_nlink == 0) {
    error.message = "the current folder no longer exists";
    error.hint = "change to an existing folder, or pass --store with an absolute path";
  } else if (call == PosixCall::open_root) {
    error.message = "no store found";
    error.hint.clear();
  } else if (::stat(parent_of_root(root).c_str(), &info) == 0) {
    error.hint = "no folder can be created there: choose another place";
  }
  return error;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

bool entry_is_folder(int folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat info{};
  return ::fstatat(folder, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

/// A folder, a link, a pipe or a socket in the place of a file, and a file in the place of a folder, are damage of what
/// the file belongs to, not a failure of the machine. ENXIO: a socket, or a pipe opened for writing.
Error open_error(PosixCall call, int os_error, std::string where) {
  Error error = posix_error(call, os_error, std::move(where));
  if (os_error == EISDIR || os_error == ENOTDIR || os_error == EINVAL || os_error == ELOOP || os_error == ENXIO) {
    error.code = Code::store_damaged;
    if (os_error == EINVAL || os_error == ENXIO) error.hint = "expected a file, found something else: move it away";
  }
  return error;
}

/// Returns the size of the first huge hole, or 0.
std::uint64_t huge_hole(int fd, std::uint64_t size) {
  for (std::uint64_t at = 0; at + kHoleMax <= size; at += kHoleMax) {  // a huge hole contains such a point
    const off_t data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno != ENXIO) return 0;  // this file system does not know its holes
    const std::uint64_t end = data < 0 ? size : static_cast<std::uint64_t>(data);
    if (end - at >= kHoleMax) return end - at;
  }
  return 0;
}

bool is_dots(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

}  // namespace

Result<void> make_root(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::string root(path);
  const bool made = ::mkdir(root.c_str(), 0777) == 0;
  if (!made && errno != EEXIST) return fail(root_error(PosixCall::make_root, errno, root));
  struct stat info{};
  if (!made && ::stat(root.c_str(), &info) < 0) return fail(root_error(PosixCall::make_root, errno, root));
  if (!made && !S_ISDIR(info.st_mode)) return fail(posix_error(PosixCall::make_root, ENOTDIR, root));
  const std::string parent = parent_of_root(root);
  const PosixFd folder = open_retrying(AT_FDCWD, parent.c_str(), kFolderFlags);
  if (!folder.valid() && !made) return {};
  if (!folder.valid() || fsync_retrying(folder.get()) < 0) return fail(posix_error(PosixCall::sync, errno, parent));
  return {};
}

PosixFileSystem::PosixFileSystem(PosixFd root, std::string root_path, std::uint64_t mapped_from_bytes)
    : root_(std::move(root)), root_path_(std::move(root_path)), mapped_from_bytes_(mapped_from_bytes) {}

Result<std::unique_ptr<PosixFileSystem>> PosixFileSystem::open(std::string root_path, std::uint64_t mapped_from_bytes) {
  PosixFd root = open_retrying(AT_FDCWD, root_path.c_str(), kFolderFlags);
  if (!root.valid()) return fail(root_error(PosixCall::open_root, errno, root_path));
  return std::unique_ptr<PosixFileSystem>(
      new PosixFileSystem(std::move(root), std::move(root_path), mapped_from_bytes));
}

std::string PosixFileSystem::where(std::string_view path) const {
  return path.empty() ? root_path_ : join_path(root_path_, path);
}

Result<std::unique_ptr<File>> PosixFileSystem::open(std::string_view path, OpenMode mode) {
  return open_file(path, mode);
}

Result<FileContent> PosixFileSystem::content(std::string_view path, std::uint64_t size_max) {
  PAWL_TRY_ASSIGN(const auto file, open_file(path, OpenMode::read));
  PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
  if (size >= mapped_from_bytes_ && size <= size_max) {
    PAWL_TRY_ASSIGN(auto mapped, file->map());
    if (mapped) return std::move(*mapped);
  }
  return FileSystem::content(path, size_max);
}

Result<std::unique_ptr<PosixFile>> PosixFileSystem::open_file(std::string_view path, OpenMode mode) const {
  PAWL_TRY(process_.refuse_copy());
  const bool creates = mode == OpenMode::create || mode == OpenMode::create_empty;
  const PosixCall call = creates ? PosixCall::open_created : PosixCall::open_existing;
  PosixFd fd = open_retrying(root_.get(), checked(path).c_str(), flags_of(mode), 0666);
  if (!fd.valid()) return fail(open_error(call, errno, where(path)));
  struct stat info{};
  if (::fstat(fd.get(), &info) < 0) return fail(posix_error(call, errno, where(path)));
  if (S_ISDIR(info.st_mode)) return fail(open_error(call, EISDIR, where(path)));
  if (!S_ISREG(info.st_mode)) return fail(open_error(call, EINVAL, where(path)));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const std::uint64_t hole = mode == OpenMode::wipe ? 0 : huge_hole(fd.get(), size);
  if (hole > 0) {
    return fail(Error{Code::store_damaged, fmt::format("the file has a hole of {} MiB; Pawl writes none", hole >> 20U),
                      where(path), "move it away, then restore the file from a backup", 0});
  }
  return std::make_unique<PosixFile>(std::move(fd), where(path), counts_);
}

Result<bool> PosixFileSystem::exists(std::string_view path) {
  PAWL_TRY(process_.refuse_copy());
  struct stat info{};
  if (::fstatat(root_.get(), checked(path).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return fail(posix_error(PosixCall::look_up, errno, where(path)));
}

Result<std::vector<FolderEntry>> PosixFileSystem::list(std::string_view folder) {
  PAWL_TRY(process_.refuse_copy());
  PosixFd fd = open_retrying(root_.get(), checked(folder).c_str(), kFolderFlags | O_NOFOLLOW);
  if (!fd.valid() && errno == ENOENT) return std::vector<FolderEntry>{};
  if (!fd.valid()) return fail(open_error(PosixCall::list, errno, where(folder)));
  const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(fd.get()));
  if (stream == nullptr) return fail(posix_error(PosixCall::list, errno, where(folder)));
  const int stream_fd = fd.release();  // the stream closes it from now on
  std::vector<FolderEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return fail(posix_error(PosixCall::list, errno, where(folder)));
    if (entry == nullptr) return entries;
    if (!is_dots(entry->d_name)) entries.push_back({entry->d_name, entry_is_folder(stream_fd, *entry)});
  }
}

Result<bool> PosixFileSystem::is_folder(const std::string& path) const {
  struct stat info{};
  if (::fstatat(root_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) {
    return fail(posix_error(PosixCall::look_up, errno, where(path)));
  }
  return S_ISDIR(info.st_mode);
}

Result<bool> PosixFileSystem::make_folder(std::string_view path) {
  PAWL_TRY(process_.refuse_copy());
  const std::string relative = checked(path);
  if (::mkdirat(root_.get(), relative.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) return fail(posix_error(PosixCall::make_folder, errno, where(path)));
  PAWL_TRY_ASSIGN(const bool folder, is_folder(relative));
  if (!folder) return fail(posix_error(PosixCall::make_folder, ENOTDIR, where(path)));
  return false;
}

Result<void> PosixFileSystem::rename(std::string_view from, std::string_view to) {
  PAWL_TRY(process_.refuse_copy());
  if (::renameat(root_.get(), checked(from).c_str(), root_.get(), checked(to).c_str()) == 0) return {};
  return fail(posix_error(PosixCall::rename, errno, fmt::format("{} -> {}", where(from), where(to))));
}

Result<void> PosixFileSystem::remove(std::string_view path) {
  PAWL_TRY(process_.refuse_copy());
  const std::string relative = checked(path);
  if (::unlinkat(root_.get(), relative.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno == EISDIR && ::unlinkat(root_.get(), relative.c_str(), AT_REMOVEDIR) == 0) return {};
  return fail(posix_error(PosixCall::remove, errno, where(path)));
}

Result<void> PosixFileSystem::remove_folder(std::string_view path) {
  PAWL_TRY(process_.refuse_copy());
  if (::unlinkat(root_.get(), checked(path).c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return fail(posix_error(PosixCall::remove, errno, where(path)));
}

Result<void> PosixFileSystem::sync_folder(std::string_view path, SyncPoint point) {
  PAWL_TRY(process_.refuse_copy());
  counts_->add(point);
  const PosixFd folder = open_retrying(root_.get(), checked(path).c_str(), kFolderFlags | O_NOFOLLOW);
  if (folder.valid() && fsync_retrying(folder.get()) == 0) return {};
  return fail(posix_error(PosixCall::sync, errno, where(path)));
}

Result<void> PosixFileSystem::sync_all(SyncPoint point) {
  PAWL_TRY(process_.refuse_copy());
  counts_->add(point);
  // On this long-lived descriptor syncfs also reports write-back errors since the last call (Linux 5.8).
  if (::syncfs(root_.get()) < 0) return fail(posix_error(PosixCall::sync, errno, root_path_));
  return {};
}

Result<FilesystemInfo> PosixFileSystem::filesystem_info() const { return filesystem_info_of(root_.get(), root_path_); }

std::array<std::uint64_t, kSyncPointCount> PosixFileSystem::sync_counts() const {
  std::array<std::uint64_t, kSyncPointCount> counts{};
  for (std::size_t i = 0; i < kSyncPointCount; ++i) counts[i] = counts_->of[i].load(std::memory_order_relaxed);
  return counts;
}

}  // namespace pawl
