// Symbols of the program take precedence over those of libc, also for the shared libraries that it uses.
#include "bench/flush_count.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace pawl::bench {
namespace {

std::atomic<std::uint64_t> flushes{0};  // a global, because the functions of libc have no parameter for it

int counted(long result) {
  flushes.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(result);
}

}  // namespace

std::uint64_t flush_count() { return flushes.load(std::memory_order_relaxed); }

}  // namespace pawl::bench

extern "C" {

int fsync(int fd) { return pawl::bench::counted(::syscall(SYS_fsync, fd)); }
int fdatasync(int fd) { return pawl::bench::counted(::syscall(SYS_fdatasync, fd)); }
int syncfs(int fd) noexcept { return pawl::bench::counted(::syscall(SYS_syncfs, fd)); }
int sync_file_range(int fd, off64_t offset, off64_t size, unsigned flags) {
  return pawl::bench::counted(::syscall(SYS_sync_file_range, fd, offset, size, flags));
}

}  // extern "C"
