#include "adapters/posix/posix_terminal.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace pawl {
namespace {

constexpr int kBackgroundLook_ms = 200;           // how soon it is noticed that the shell continues this program
constexpr std::size_t kLineBytesMax = 64 * 1024;  // a longer line ends here

}  // namespace

PosixTerminal::PosixTerminal(int in, int out) : in_(in), out_(out), waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

bool PosixTerminal::take_interrupt() const {
  std::uint64_t count = 0;
  return ::read(waker_.get(), &count, sizeof(count)) == static_cast<ssize_t>(sizeof(count));
}

/// A process in the background that reads its terminal would be stopped.
bool PosixTerminal::is_in_background() const {
  const pid_t foreground = ::tcgetpgrp(in_);  // -1 if it is not the controlling terminal
  return foreground >= 0 && foreground != ::getpgrp();
}

TypedLine PosixTerminal::read_line() {
  while (true) {
    if (take_interrupt()) return {.how = TypedLine::How::interrupted};
    {
      const Lock lock(mutex_);
      const std::size_t end = typed_.find('\n');
      if (end != std::string::npos || typed_.size() >= kLineBytesMax) {
        TypedLine line{.how = TypedLine::How::line, .text = typed_.substr(0, end)};
        typed_.erase(0, end == std::string::npos ? end : end + 1);
        return line;
      }
    }
    const bool background = is_in_background();
    std::array<pollfd, 2> watched{{{waker_.get(), POLLIN, 0}, {background ? -1 : in_, POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), background ? kBackgroundLook_ms : -1) < 0 && errno != EINTR) return {};
    if (watched[0].revents != 0 || watched[1].revents == 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(in_, bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    const Lock lock(mutex_);
    if (got > 0) {
      typed_.append(bytes.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (typed_.empty()) return {};
    return {.how = TypedLine::How::line, .text = std::exchange(typed_, {})};
  }
}

void PosixTerminal::discard_typed() {
  {
    const Lock lock(mutex_);
    typed_.clear();
  }
  if (!is_in_background()) static_cast<void>(::tcflush(in_, TCIFLUSH));  // it would stop a program in the background
}

void PosixTerminal::interrupt() {
  discard_typed();
  const std::uint64_t one = 1;
  static_cast<void>(!::write(waker_.get(), &one, sizeof(one)));  // fails only if it is set already
}

void PosixTerminal::write(std::string_view text) { static_cast<void>(write_all(out_, text, "terminal")); }

}  // namespace pawl
