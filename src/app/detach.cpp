#include "app/detach.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "adapters/posix/posix_error.hpp"
#include "adapters/posix/posix_fd.hpp"

namespace pawl {
namespace {

constexpr int kLost = 130;

/// Redirects `fd` to the file; /dev/null discards the output.
void redirect(int fd, const char* path, int flags) {
  const PosixFd file(::open(path, flags | O_CLOEXEC, 0600));
  if (file.valid()) static_cast<void>(::dup2(file.get(), fd));
}

class ForkedBackground final : public BackgroundProcess {
 public:
  explicit ForkedBackground(PosixFd channel) : channel_(std::move(channel)) {}

  Result<void> let_go(const std::string& log_path) override {
    const PosixFd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!log.valid()) return fail(posix_error(PosixCall::open_created, errno, log_path));
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) static_cast<void>(::dup2(log.get(), fd));
    const Result<void> told = write_all(channel_.get(), log_path + "\n", "the foreground process");
    channel_ = PosixFd();
    static_cast<void>(told);  // the foreground process may have been killed; that does not matter
    return {};
  }

 private:
  PosixFd channel_;
};

std::unique_ptr<BackgroundProcess> go_to_background(PosixFd channel) {
  // Closes descriptors inherited from the caller's shell, which would otherwise stay open as long as the run.
  const auto number = static_cast<unsigned>(channel.get());
  if (number > 3) static_cast<void>(::close_range(3, number - 1, 0));
  static_cast<void>(::close_range(number + 1, ~0U, 0));
  ::setsid();
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, "/dev/null", O_WRONLY);
  return std::make_unique<ForkedBackground>(std::move(channel));
}

Detached stay_in_foreground(pid_t background, const PosixFd& channel) {
  std::string text;
  std::array<char, 4096> block{};
  while (true) {
    const ssize_t got = ::read(channel.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  Detached detached;
  if (text.ends_with('\n')) {
    text.pop_back();
    detached.log_path = text;
    return detached;
  }
  int status = 0;
  while (::waitpid(background, &status, 0) < 0 && errno == EINTR) {
  }
  detached.status = WIFEXITED(status) ? WEXITSTATUS(status) : kLost;
  return detached;
}

}  // namespace

Result<Detached> detach() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Error{Code::process_failed, "can't create a pipe to the background process", {}, {}, errno});
  const PosixFd reading(ends[0]);
  PosixFd writing(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(Error{Code::process_failed, "can't create a background process", {}, {}, errno});
  if (pid == 0) {
    Detached detached;
    detached.background = go_to_background(std::move(writing));
    return detached;
  }
  writing = PosixFd();
  return stay_in_foreground(pid, reading);
}

}  // namespace pawl
