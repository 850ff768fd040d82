// The terminal of this process.
#pragma once

#include "adapters/posix/posix_fd.hpp"
#include "base/mutex.hpp"
#include "ports/terminal.hpp"

namespace pawl {

class PosixTerminal final : public Terminal {
 public:
  /// Does not close the descriptors.
  PosixTerminal(int in, int out);

  [[nodiscard]] TypedLine read_line() override;
  void interrupt() override;
  void discard_typed() override;
  void write(std::string_view text) override;

 private:
  [[nodiscard]] bool take_interrupt() const;
  [[nodiscard]] bool is_in_background() const;

  const int in_;
  const int out_;
  const PosixFd waker_;  // an eventfd
  Mutex mutex_;
  std::string typed_ PAWL_GUARDED_BY(mutex_);  // read, but not returned yet
};

}  // namespace pawl
