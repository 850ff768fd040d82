// Owns one file descriptor.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace pawl {

class PosixFd {
 public:
  PosixFd() = default;
  explicit PosixFd(int fd) : fd_(fd) {}
  PosixFd(PosixFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PosixFd& operator=(PosixFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~PosixFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  /// Releases the descriptor, for calls that close it themselves.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Writes all of `bytes`, with as many calls as needed. `path` is for the error.
[[nodiscard]] Result<void> write_all(int fd, std::string_view bytes, const std::string& path);

}  // namespace pawl
