#include "adapters/posix/posix_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "adapters/posix/posix_error.hpp"

namespace pawl {
namespace {

// Above this size, a read first checks the file's size, so that it does not allocate too much.
constexpr std::uint64_t kTrustedReadBytes = 1ULL << 20;
constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, since Linux 5.14

struct flock one_byte(short type, std::uint64_t byte) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;  // l_pid must stay 0 for F_OFD_*
}

int fcntl_retrying(int fd, int command, struct flock& lock) {
  int result = 0;
  do {
    result = ::fcntl(fd, command, &lock);
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

PosixFile::PosixFile(PosixFd fd, std::string where, std::shared_ptr<PosixSyncCounts> counts)
    : fd_(std::move(fd)), where_(std::move(where)), counts_(std::move(counts)) {}

Result<std::string> PosixFile::read_at(std::uint64_t offset, std::uint64_t size) {
  PAWL_TRY(process_.refuse_copy());
  if (size > kTrustedReadBytes) {
    PAWL_TRY_ASSIGN(const std::uint64_t end, this->size());
    size = std::min(size, end - std::min(end, offset));
  }
  int os_error = 0;
  std::string bytes;
  // libstdc++ 12 passes the capacity instead of the size.
  bytes.resize_and_overwrite(size, [&](char* place, std::size_t) {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t got = ::pread(fd_.get(), place + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) os_error = errno;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  });
  if (os_error != 0) return fail(posix_error(PosixCall::read, os_error, where_));
  return bytes;
}

Result<std::optional<FileContent>> PosixFile::map() {
  PAWL_TRY(process_.refuse_copy());
  PAWL_TRY_ASSIGN(const std::uint64_t bytes, size());
  void* const memory = bytes == 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd_.get(), 0);
  if (memory == MAP_FAILED) return std::optional<FileContent>();
  std::shared_ptr<const void> keeper(memory, [bytes](const void* at) { ::munmap(const_cast<void*>(at), bytes); });
  // Reads everything now: an unreadable sector then fails this call, instead of raising SIGBUS on access.
  if (::madvise(memory, bytes, kPopulateRead) != 0) {
    if (errno == EFAULT || errno == EIO || errno == EHWPOISON) return fail(posix_error(PosixCall::read, EIO, where_));
    return std::optional<FileContent>();  // an older kernel, or not enough memory
  }
  return std::optional(FileContent{keeper, {static_cast<const char*>(memory), bytes}});
}

Result<void> PosixFile::write_at(std::uint64_t offset, std::string_view bytes) {
  PAWL_TRY(process_.refuse_copy());
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    // A write of 0 bytes sets no errno and would loop forever.
    if (put <= 0) return fail(posix_error(PosixCall::write, put < 0 ? errno : EIO, where_));
    offset += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> PosixFile::sync(SyncPoint point) {
  PAWL_TRY(process_.refuse_copy());
  counts_->add(point);
  int result = 0;
  do {
    result = ::fdatasync(fd_.get());
  } while (result < 0 && errno == EINTR);
  if (result < 0) return fail(posix_error(PosixCall::sync, errno, where_));
  return {};
}

Result<void> PosixFile::resize(std::uint64_t size) {
  PAWL_TRY(process_.refuse_copy());
  int result = 0;
  do {
    result = ::ftruncate(fd_.get(), static_cast<off_t>(size));
  } while (result < 0 && errno == EINTR);
  if (result < 0) return fail(posix_error(PosixCall::resize, errno, where_));
  return {};
}

Result<std::uint64_t> PosixFile::size() {
  PAWL_TRY(process_.refuse_copy());
  struct stat info{};
  if (::fstat(fd_.get(), &info) < 0) return fail(posix_error(PosixCall::look_up, errno, where_));
  return static_cast<std::uint64_t>(info.st_size);
}

Result<std::uint64_t> PosixFile::id() {
  struct stat info{};
  if (::fstat(fd_.get(), &info) < 0) return fail(posix_error(PosixCall::look_up, errno, where_));
  return std::uint64_t{info.st_ino};  // not the device: its number can change when the machine restarts
}

Result<std::uint64_t> PosixFile::next_data(std::uint64_t offset) {
  PAWL_TRY(process_.refuse_copy());
  const off_t found = ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (found >= 0) return static_cast<std::uint64_t>(found);
  if (errno != ENXIO) return offset;  // this file system does not know its holes
  PAWL_TRY_ASSIGN(const std::uint64_t end, size());
  return std::max(offset, end);
}

Result<bool> PosixFile::take_lock(short type, std::uint64_t byte) {
  PAWL_TRY(process_.refuse_copy());
  struct flock lock = one_byte(type, byte);
  if (fcntl_retrying(fd_.get(), F_OFD_SETLK, lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return fail(posix_error(PosixCall::lock, errno, where_));
}

Result<bool> PosixFile::try_lock(std::uint64_t byte) { return take_lock(F_WRLCK, byte); }

Result<bool> PosixFile::try_lock_shared(std::uint64_t byte) { return take_lock(F_RDLCK, byte); }

Result<void> PosixFile::unlock(std::uint64_t byte) {
  PAWL_TRY(process_.refuse_copy());
  struct flock lock = one_byte(F_UNLCK, byte);
  if (fcntl_retrying(fd_.get(), F_OFD_SETLK, lock) < 0) return fail(posix_error(PosixCall::lock, errno, where_));
  return {};
}

Result<bool> PosixFile::locked_elsewhere(std::uint64_t byte) {
  PAWL_TRY(process_.refuse_copy());
  struct flock lock = one_byte(F_WRLCK, byte);
  if (fcntl_retrying(fd_.get(), F_OFD_GETLK, lock) < 0) return fail(posix_error(PosixCall::lock, errno, where_));
  return lock.l_type != F_UNLCK;
}

}  // namespace pawl
