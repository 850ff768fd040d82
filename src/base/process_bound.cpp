#include "base/process_bound.hpp"

#include <pthread.h>

#include <atomic>

namespace pawl {
namespace {

std::atomic<std::uint64_t> generation{0};

void count_fork() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint64_t fork_generation() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &count_fork);
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

Result<void> ProcessBound::refuse_copy() const {
  if (!is_copy()) return {};
  return fail(Error{Code::used_after_fork,
                    "this store was opened before fork() and can't be used in the child process",
                    {},
                    "open the store again in the child process",
                    0});
}

}  // namespace pawl
