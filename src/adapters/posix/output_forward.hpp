// Passes bytes on to a standard stream of this program without ever waiting for its reader.
#pragma once

#include <string>
#include <string_view>

#include "adapters/posix/posix_fd.hpp"

namespace pawl {

/// A reader that is slow, or has stopped, keeps the bytes pending here. A stream that can't be written to (closed,
/// broken, disk full) loses them. Not thread-safe.
class OutputForward {
 public:
  explicit OutputForward(int fd);

  /// Adds bytes and sends what the stream takes now.
  void add(std::string_view bytes);
  /// Sends what the stream takes now.
  void send();
  /// Gives up on everything that is pending.
  void drop() { pending_.clear(); }

  [[nodiscard]] bool pending() const { return !pending_.empty(); }
  /// The descriptor to poll for POLLOUT while something is pending.
  [[nodiscard]] int fd() const { return own_.valid() ? own_.get() : fd_; }
  /// Returns the errno that made the stream unusable, or 0.
  [[nodiscard]] int os_error() const { return os_error_; }

 private:
  [[nodiscard]] ssize_t write_some() const;

  const int fd_;
  PosixFd own_;  // the same stream, opened again without blocking: a flag on fd_ would be shared with other processes
  bool blocks_ = false;  // a write of more than PIPE_BUF bytes may wait
  bool is_socket_ = false;
  std::string pending_;
  int os_error_ = 0;
};

}  // namespace pawl
