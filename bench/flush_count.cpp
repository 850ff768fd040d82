// Symbols of the program take precedence over those of libc, also for the shared libraries that it uses.
#include "bench/flush_count.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace pawl::bench {
namespace {

std::atomic<std::uint64_t> flushes{0};  // a global, because the functions of libc have no parameter for it

std::atomic<std::uint64_t> bytes{0};

/// Writes of a thread since it wrote to another file or flushed.
struct Unflushed {
  int fd = -1;
  std::uint64_t bytes = 0;
};
thread_local Unflushed unflushed;

ssize_t written(int fd, ssize_t count) {
  if (unflushed.fd != fd) unflushed = {.fd = fd, .bytes = 0};
  if (count > 0) unflushed.bytes += static_cast<std::uint64_t>(count);
  return count;
}

int counted(long result) {
  flushes.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(result);
}

}  // namespace

std::uint64_t flush_count() { return flushes.load(std::memory_order_relaxed); }
std::uint64_t flushed_bytes() { return bytes.load(std::memory_order_relaxed); }

}  // namespace pawl::bench

extern "C" {

int fsync(int fd) { return pawl::bench::counted(::syscall(SYS_fsync, fd)); }
int fdatasync(int fd) {
  using pawl::bench::unflushed;
  if (unflushed.fd == fd) pawl::bench::bytes.fetch_add(unflushed.bytes, std::memory_order_relaxed);
  unflushed = {};
  return pawl::bench::counted(::syscall(SYS_fdatasync, fd));
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return pawl::bench::written(fd, ::syscall(SYS_pwrite64, fd, data, size, offset));
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  return pawl::bench::written(fd, ::syscall(SYS_pwrite64, fd, data, size, offset));
}
int syncfs(int fd) noexcept { return pawl::bench::counted(::syscall(SYS_syncfs, fd)); }
int sync_file_range(int fd, off64_t offset, off64_t size, unsigned flags) {
  return pawl::bench::counted(::syscall(SYS_sync_file_range, fd, offset, size, flags));
}

}  // extern "C"
