#include "adapters/posix/output_forward.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace pawl {

OutputForward::OutputForward(int fd) : fd_(fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return;  // the first write fails and says why
  is_socket_ = S_ISSOCK(info.st_mode);
  if (!S_ISFIFO(info.st_mode) && ::isatty(fd) != 1) return;  // files never wait for a reader
  own_ = PosixFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  blocks_ = !own_.valid();
}

void OutputForward::add(std::string_view bytes) {
  if (os_error_ != 0) return;
  pending_ += bytes;
  send();
}

ssize_t OutputForward::write_some() const {
  if (is_socket_) return ::send(fd_, pending_.data(), pending_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (!blocks_) return ::write(fd(), pending_.data(), pending_.size());
  pollfd ready{fd_, POLLOUT, 0};  // a pipe that is ready takes PIPE_BUF bytes
  if (::poll(&ready, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd_, pending_.data(), std::min<std::size_t>(pending_.size(), PIPE_BUF));
}

void OutputForward::send() {
  while (!pending_.empty()) {
    const ssize_t put = write_some();
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) {
      os_error_ = errno;
      pending_.clear();
      return;
    }
    pending_.erase(0, static_cast<std::size_t>(put));
  }
}

}  // namespace pawl
