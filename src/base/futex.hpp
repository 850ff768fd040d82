// Sleeping until a word in memory changes. std::atomic::wait yields before it sleeps, which costs involuntary context
// switches when many threads wait.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace pawl {

/// Sleeps while `word` equals `seen`. May return early: the caller checks the word again.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  static_assert(sizeof(word) == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

/// Wakes all threads that sleep on `word`.
inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace pawl
