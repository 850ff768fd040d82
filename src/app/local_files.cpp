#include "app/local_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace pawl {
namespace {

constexpr mode_t kNewFileMode = 0666;  // restricted by the user's umask

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Error os_failure(Code code, std::string_view what, const std::string& path, int os_error) {
  if (os_error == ENOSPC || os_error == EDQUOT) code = Code::disk_full;
  return Error{code, fmt::format("{}: {}", what, std::generic_category().message(os_error)), path, {}, os_error};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> write_directly(const std::string& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(os_failure(Code::write_failed, "can't open the output", path, errno));
  if (const int error = write_fully(file.get(), bytes); error != 0)
    return fail(os_failure(Code::write_failed, "can't write the output", path, error));
  return {};
}

Result<void> write_and_sync(const std::string& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode));
  if (file.get() < 0) return fail(os_failure(Code::write_failed, "can't create the output file", path, errno));
  if (const int error = write_fully(file.get(), bytes); error != 0)
    return fail(os_failure(Code::write_failed, "can't write the output file", path, error));
  if (::fsync(file.get()) != 0) return fail(os_failure(Code::write_failed, "can't sync the output file", path, errno));
  return {};
}

Result<void> sync_folder_of(const std::string& path) {
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) {
    return fail(os_failure(Code::write_failed, "can't sync the folder of the output file", path, errno));
  }
  return {};
}

}  // namespace

int write_fully(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Result<std::string> read_local_file(const std::string& path, std::uint64_t bytes_max) {
  constexpr std::size_t kBlock = 256 * 1024;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(os_failure(Code::input_unreadable, "can't open the input file", path, errno));
  std::string bytes;
  while (bytes.size() <= bytes_max) {
    const std::size_t size = bytes.size();
    bytes.resize(size + kBlock);
    const ssize_t got = ::read(file.get(), bytes.data() + size, kBlock);
    const int os_error = errno;
    bytes.resize(size + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return bytes;
    if (got < 0 && os_error != EINTR)
      return fail(os_failure(Code::input_unreadable, "can't read the input file", path, os_error));
  }
  return fail(Error{Code::state_too_large, fmt::format("the file has more than {} bytes", bytes_max), path, {}, 0});
}

Result<void> write_local_file(const std::string& path, std::string_view bytes) {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return write_directly(path, bytes);
  const std::string temporary = fmt::format("{}.pawl-{}.tmp", path, ::getpid());
  if (Result<void> written = write_and_sync(temporary, bytes); !written) {
    if (written.error().os_error != EEXIST) ::unlink(temporary.c_str());
    Error error = written.error();
    error.where = path;  // the requested path, not the temporary one
    return fail(std::move(error));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int os_error = errno;
    ::unlink(temporary.c_str());
    return fail(os_failure(Code::rename_failed, "can't rename the output file to its final name", path, os_error));
  }
  return sync_folder_of(path);
}

}  // namespace pawl
