// Functions for code that runs after a fork of a program with threads: only system calls and its own memory. Only for
// the reaper's files. They are built without sanitizers, and everything here is inlined into them, so that the linker
// can't choose another file's instrumented copy.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>

#define PAWL_RAW [[gnu::always_inline]] inline

namespace pawl::raw {

PAWL_RAW long argument(long value) noexcept { return value; }
PAWL_RAW long argument(const volatile void* value) noexcept { return reinterpret_cast<long>(value); }

/// Makes a system call by number. Returns its result or -errno. The libc function of the same name may be a
/// sanitizer's, which takes locks.
template <class... Arguments>
PAWL_RAW long call(long number, Arguments... arguments) noexcept {
  const long result = ::syscall(number, argument(arguments)...);
  return result == -1 ? -errno : result;
}

PAWL_RAW int open_file(const char* path, int flags, unsigned mode) noexcept {
  constexpr long kHere = -100;  // AT_FDCWD
  return static_cast<int>(call(SYS_openat, kHere, path, static_cast<long>(flags), static_cast<long>(mode)));
}

PAWL_RAW void close_file(int fd) noexcept { call(SYS_close, static_cast<long>(fd)); }

[[noreturn]] PAWL_RAW void exit_now(int status) noexcept {
  for (;;) call(SYS_exit_group, static_cast<long>(status));
}

PAWL_RAW std::uint64_t now_ms() noexcept {
  timespec now{};
  call(SYS_clock_gettime, static_cast<long>(CLOCK_MONOTONIC), &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

PAWL_RAW std::size_t length(const char* text) noexcept {
  std::size_t size = 0;
  while (text[size] != '\0') ++size;
  return size;
}

/// Also copies to a lower, overlapping address. The barrier keeps compilers from replacing it with memmove.
PAWL_RAW void copy(void* to, const void* from, std::size_t size) noexcept {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  for (std::size_t i = 0; i < size; ++i) {
    target[i] = source[i];
    asm volatile("" ::: "memory");
  }
}

/// Parses digits at `text`, up to `end`. Returns 0 if there are none.
PAWL_RAW long number_at(const char* text, const char* end) noexcept {
  long value = 0;
  for (; text < end && *text >= '0' && *text <= '9' && value < 1'000'000'000'000; ++text) {
    value = value * 10 + (*text - '0');
  }
  return value;
}

/// Writes the digits of `value` and returns the position after them. Requires room for 20.
PAWL_RAW char* put_number(char* to, long value) noexcept {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  while (count > 0) *to++ = digits[--count];
  return to;
}

PAWL_RAW void* map_memory(std::size_t size, int sharing) noexcept {
  const long at = call(SYS_mmap, nullptr, static_cast<long>(size), static_cast<long>(PROT_READ | PROT_WRITE),
                       static_cast<long>(sharing | MAP_ANONYMOUS | MAP_NORESERVE), -1L, 0L);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

/// A queue of bytes. Its memory comes from the kernel and grows.
struct Queue {
  char* memory = nullptr;
  std::size_t capacity = 0;
  std::size_t head = 0;
  std::size_t tail = 0;

  [[nodiscard]] PAWL_RAW std::size_t size() const noexcept { return tail - head; }
  [[nodiscard]] PAWL_RAW char* front() const noexcept { return memory + head; }
  PAWL_RAW void taken(std::size_t count) noexcept {
    head += count;
    if (head == tail) head = tail = 0;
  }
  /// Reserves `count` bytes at the end. Returns false if there is no memory.
  [[nodiscard]] PAWL_RAW bool reserve(std::size_t count) noexcept {
    if (capacity - tail >= count) return true;
    if (head > 0) {
      copy(memory, memory + head, size());
      tail -= head;
      head = 0;
    }
    if (capacity - tail >= count) return true;
    std::size_t wanted = capacity == 0 ? 65536 : capacity;
    while (wanted - tail < count) wanted *= 2;
    void* grown = nullptr;
    if (memory == nullptr) {
      grown = map_memory(wanted, MAP_PRIVATE);
    } else {
      const long at = call(SYS_mremap, memory, static_cast<long>(capacity), static_cast<long>(wanted),
                           static_cast<long>(MREMAP_MAYMOVE));
      grown = at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
    }
    if (grown == nullptr) return false;
    memory = static_cast<char*>(grown);
    capacity = wanted;
    return true;
  }
  [[nodiscard]] PAWL_RAW bool add(const void* bytes, std::size_t count) noexcept {
    if (!reserve(count)) return false;
    copy(memory + tail, bytes, count);
    tail += count;
    return true;
  }
};

}  // namespace pawl::raw
