#include "adapters/posix/posix_local_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "adapters/posix/posix_error.hpp"
#include "adapters/posix/posix_fd.hpp"

namespace pawl {
namespace {

constexpr std::size_t kBlockBytesMin = 64U << 10;

Result<PosixFd> open_file(const std::string& path, int flags, PosixCall call) {
  PosixFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (!fd.valid()) return fail(posix_error(call, errno, path));
  return fd;
}

/// Opens a file for reading. A pipe that nobody writes to would never open, and one that somebody holds open never
/// ends.
Result<PosixFd> open_to_read(const std::string& path) {
  PosixFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return fail(posix_error(PosixCall::open_existing, errno, path));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail(posix_error(PosixCall::read, errno, path));
  if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))
    return fail(Error{Code::input_unreadable, "not a regular file", path, "write the data to a file first", 0});
  return fd;
}

/// Reads up to `size` bytes at `offset`; returns fewer only at the end of the file.
Result<std::string> read_at(int fd, std::uint64_t offset, std::uint64_t size, const std::string& path) {
  std::string bytes(size, '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::pread(fd, bytes.data() + got, bytes.size() - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(posix_error(PosixCall::read, errno, path));
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

/// A pipe or /proc file has no size: reads until the end, or one byte too many.
Result<std::string> read_whole(int fd, const struct stat& info, std::uint64_t bytes_max, const std::string& path) {
  std::string bytes;
  while (bytes.size() <= bytes_max) {
    const std::uint64_t wanted =
        std::min<std::uint64_t>(bytes_max + 1 - bytes.size(),
                                std::max<std::uint64_t>(kBlockBytesMin, static_cast<std::uint64_t>(info.st_size) + 1));
    PAWL_TRY_ASSIGN(const std::string block, read_at(fd, bytes.size(), wanted, path));
    bytes += block;
    if (block.size() < wanted) return bytes;
  }
  return fail(Error{Code::value_too_large, fmt::format("the file has more than {} bytes", bytes_max), path, {}, 0});
}

class FileLines final : public LineSource {
 public:
  FileLines(PosixFd fd, std::string path, std::uint64_t bytes_max)
      : fd_(std::move(fd)), path_(std::move(path)), bytes_max_(bytes_max) {}

  Result<std::optional<std::string>> next() override {
    for (std::size_t searched = at_;;) {
      const std::size_t end = buffer_.find('\n', searched);
      if (end != std::string::npos) return take(end, end + 1);
      if (ended_) {
        if (at_ == buffer_.size()) return std::nullopt;
        return take(buffer_.size(), buffer_.size());
      }
      if (buffer_.size() - at_ > bytes_max_) return too_long();
      buffer_.erase(0, at_);
      at_ = 0;
      searched = buffer_.size();
      PAWL_TRY_ASSIGN(const std::string block, read_at(fd_.get(), offset_, kBlockBytesMin, path_));
      offset_ += block.size();
      ended_ = block.empty();
      buffer_ += block;
    }
  }

 private:
  Result<std::optional<std::string>> take(std::size_t end, std::size_t next) {
    if (end - at_ > bytes_max_) return too_long();
    std::string line = buffer_.substr(at_, end - at_);
    at_ = next;
    return line;
  }
  [[nodiscard]] std::unexpected<Error> too_long() const {
    return fail(Error{Code::value_too_large, fmt::format("a line has more than {} bytes", bytes_max_), path_, {}, 0});
  }

  PosixFd fd_;
  std::string path_;
  std::uint64_t bytes_max_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace

bool PosixLocalFiles::exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

bool PosixLocalFiles::is_folder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool PosixLocalFiles::is_executable(const std::string& path) {
  return !is_folder(path) && ::access(path.c_str(), X_OK) == 0;
}

std::uint64_t PosixLocalFiles::size(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

Timestamp PosixLocalFiles::modified(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  return Timestamp{static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000 + info.st_mtim.tv_nsec / 1000};
}

Result<std::string> PosixLocalFiles::read(const std::string& path, std::uint64_t bytes_max) {
  PAWL_TRY_ASSIGN(const PosixFd fd, open_to_read(path));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail(posix_error(PosixCall::read, errno, path));
  if (S_ISDIR(info.st_mode)) return fail(posix_error(PosixCall::read, EISDIR, path));
  return read_whole(fd.get(), info, bytes_max, path);
}

Result<std::optional<std::string>> PosixLocalFiles::read_regular(const std::string& path, std::uint64_t bytes_max) {
  const PosixFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::optional<std::string>();
  if (!fd.valid() && errno != ELOOP && errno != ENXIO) return fail(posix_error(PosixCall::open_existing, errno, path));
  struct stat info{};
  if (fd.valid() && ::fstat(fd.get(), &info) != 0) return fail(posix_error(PosixCall::read, errno, path));
  if (!fd.valid() || !S_ISREG(info.st_mode))
    return fail(Error{Code::input_unreadable, "not a regular file", path, "write to it without replacing it", 0});
  PAWL_TRY_ASSIGN(std::string bytes, read_whole(fd.get(), info, bytes_max, path));
  return std::optional(std::move(bytes));
}

Result<std::string> PosixLocalFiles::read_tail(const std::string& path, std::uint64_t bytes_max) {
  PAWL_TRY_ASSIGN(const PosixFd fd, open_file(path, O_RDONLY, PosixCall::open_existing));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail(posix_error(PosixCall::read, errno, path));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const std::uint64_t wanted = std::min(size, bytes_max);
  return read_at(fd.get(), size - wanted, wanted, path);
}

Result<std::string> PosixLocalFiles::read_range(const std::string& path, std::uint64_t offset, std::uint64_t size) {
  PAWL_TRY_ASSIGN(const PosixFd fd, open_file(path, O_RDONLY, PosixCall::open_existing));
  return read_at(fd.get(), offset, size, path);
}

Result<std::unique_ptr<LineSource>> PosixLocalFiles::lines(const std::string& path, std::uint64_t bytes_max) {
  PAWL_TRY_ASSIGN(PosixFd fd, open_to_read(path));
  return std::make_unique<FileLines>(std::move(fd), path, bytes_max);
}

Result<void> PosixLocalFiles::write(const std::string& path, std::string_view bytes) {
  PAWL_TRY_ASSIGN(const PosixFd fd, open_file(path, O_WRONLY | O_CREAT | O_TRUNC, PosixCall::open_created));
  return write_all(fd.get(), bytes, path);
}

Result<void> PosixLocalFiles::write_over(const std::string& path, std::string_view bytes) {
  PAWL_TRY_ASSIGN(const PosixFd fd, open_file(path, O_WRONLY | O_CREAT, PosixCall::open_created));
  PAWL_TRY(write_all(fd.get(), bytes, path));
  // Truncated after writing: ext4 flushes a file immediately if it was truncated to 0 and rewritten.
  struct stat info{};
  const auto size = static_cast<off_t>(bytes.size());
  const bool cut = ::fstat(fd.get(), &info) == 0 && (info.st_size == size || ::ftruncate(fd.get(), size) == 0);
  if (!cut) return fail(posix_error(PosixCall::write, errno, path));
  return {};
}

Result<void> PosixLocalFiles::make_durable(const std::string& path, const std::string& top) {
  const auto sync = [](const std::string& one) -> Result<void> {
    PAWL_TRY_ASSIGN(const PosixFd fd, open_file(one, O_RDONLY, PosixCall::open_existing));
    if (::fsync(fd.get()) != 0) return fail(posix_error(PosixCall::sync, errno, one));
    return {};
  };
  PAWL_TRY(sync(path));
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::filesystem::path last = std::filesystem::path(top).lexically_normal();
  while (true) {
    PAWL_TRY(sync(folder.string()));
    if (folder == last || folder == folder.parent_path()) return {};
    folder = folder.parent_path();
  }
}

bool PosixLocalFiles::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

Result<void> PosixLocalFiles::append(const std::string& path, std::string_view bytes) {
  PAWL_TRY_ASSIGN(const PosixFd fd, open_file(path, O_WRONLY | O_CREAT | O_APPEND, PosixCall::open_created));
  return write_all(fd.get(), bytes, path);
}

Result<void> PosixLocalFiles::make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(posix_error(PosixCall::make_folder, error.value(), path));
  return {};
}

Result<std::string> PosixLocalFiles::private_folder(const std::string& name) {
  std::error_code ignored;
  std::string base = std::filesystem::is_directory("/dev/shm", ignored) && ::access("/dev/shm", W_OK) == 0
                         ? "/dev/shm"
                         : std::filesystem::temp_directory_path(ignored).string();
  base += fmt::format("/pawl-{}", ::geteuid());
  const std::string path = base + "/" + name;
  for (const std::string& folder : {base, path}) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      return fail(posix_error(PosixCall::make_folder, errno, folder));
    // Another user may have created the folder to read what is put there.
    struct stat info{};
    if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
        (info.st_mode & 077U) != 0) {
      return fail(Error{Code::permission_denied, "the folder for secrets is not a private folder of this user", folder,
                        "remove it", 0});
    }
  }
  return path;
}

std::vector<std::string> PosixLocalFiles::list(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

void PosixLocalFiles::remove(const std::string& path) { ::unlink(path.c_str()); }

void PosixLocalFiles::remove_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

std::string PosixLocalFiles::absolute(const std::string& path, const std::string& base) {
  const std::filesystem::path joined = std::filesystem::path(base) / path;
  std::error_code error;
  const std::filesystem::path full = std::filesystem::absolute(joined, error);
  std::string text = (error ? joined : full).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace pawl
