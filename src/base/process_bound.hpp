// Detecting the use of an object after fork(). A forked child has a copy of the memory, but shares open files and locks
// with its parent, and has none of its threads.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace pawl {

/// Returns how often this process and its ancestors called fork(). Costs no system call. A child made with a raw
/// clone() system call is not noticed.
[[nodiscard]] std::uint64_t fork_generation();

/// Belongs to the process in which it was constructed.
class ProcessBound {
 public:
  /// Returns whether this is a forked child of the process that constructed the object.
  [[nodiscard]] bool is_copy() const { return generation_ != fork_generation(); }
  /// Fails with used_after_fork if this is a forked child.
  [[nodiscard]] Result<void> refuse_copy() const;

 private:
  std::uint64_t generation_ = fork_generation();
};

}  // namespace pawl
