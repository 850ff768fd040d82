#include "adapters/posix/posix_foreground.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>

#include "adapters/posix/end_processes.hpp"
#include "adapters/posix/posix_error.hpp"
#include "adapters/posix/posix_fd.hpp"
#include "base/hash.hpp"

namespace pawl {
namespace {

constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::uint64_t kLeftWait_ms = 5'000;
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

/// What a command prints: in memory, and in a file when it is too much for that.
class Kept {
 public:
  explicit Kept(const ForegroundSpec& spec) : spec_(spec) {}

  Result<void> add(std::string_view bytes) {
    bytes_ += bytes.size();
    if (file_.valid()) return add_to_file(bytes);
    memory_ += bytes;
    if (memory_.size() <= spec_.output_bytes_max) return {};
    file_ = PosixFd(::open(spec_.output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file_.valid()) return fail(posix_error(PosixCall::open_created, errno, spec_.output_path));
    return add_to_file(std::exchange(memory_, {}));
  }

  /// What it refers to is durable before the record is.
  Result<void> finish(ForegroundEnd& end) {
    end.output_bytes = bytes_;
    end.in_file = file_.valid();
    end.output = std::move(memory_);
    if (!file_.valid()) return {};
    if (::fsync(file_.get()) != 0) return fail(posix_error(PosixCall::sync, errno, spec_.output_path));
    const PosixFd folder(
        ::open(spec_.output_path.substr(0, spec_.output_path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid() || ::fsync(folder.get()) != 0)
      return fail(posix_error(PosixCall::sync, errno, spec_.output_path));
    end.output_sha256 = to_hex(hash_.finish());
    return {};
  }

 private:
  Result<void> add_to_file(std::string_view bytes) {
    hash_.add(bytes);
    return write_all(file_.get(), bytes, spec_.output_path);
  }

  const ForegroundSpec& spec_;
  std::string memory_;
  std::uint64_t bytes_ = 0;
  PosixFd file_;
  Sha256Stream hash_;
};

/// The signals that end things come as data while this lives, and are not lost before a command is there.
class CaughtSignals {
 public:
  CaughtSignals() {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::sigaddset(&wanted, signal);
    std::signal(SIGCHLD, SIG_DFL);  // ignored, it would take the exit status away
    ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    fd_ = PosixFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;
  ~CaughtSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const sigset_t& before() const { return before_; }
  [[nodiscard]] std::optional<signalfd_siginfo> next() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return std::nullopt;
    return info;
  }

 private:
  sigset_t before_{};
  PosixFd fd_;
};

/// An array of C strings as exec wants it.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// In the child: becomes the command, or tells why not.
[[noreturn]] void become(const ForegroundSpec& spec, const sigset_t& mask, int output, int report, pid_t parent) {
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  if (::getppid() != parent) ::_exit(kNotStarted);  // it has died already
  std::signal(SIGPIPE, SIG_DFL);
  int error = 0;
  if (::dup2(output, STDOUT_FILENO) < 0) error = errno;
  if (error == 0) {
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::execvpe(spec.argv.front().c_str(), pointers(spec.argv).data(), pointers(spec.environment).data());
    error = errno;
  }
  static_cast<void>(!::write(report, &error, sizeof(error)));
  ::_exit(error == ENOENT ? kNotFound : kNotStarted);
}

/// The errno of a failed exec; 0 where the command is running.
int read_report(int fd) {
  int error = 0;
  while (true) {
    const ssize_t got = ::read(fd, &error, sizeof(error));
    if (got < 0 && errno == EINTR) continue;
    return got == static_cast<ssize_t>(sizeof(error)) ? error : 0;
  }
}

struct Pipe {
  PosixFd from;
  PosixFd to;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Error{Code::process_failed, "a pipe to the command can't be made", {}, {}, errno});
  return Pipe{PosixFd(ends[0]), PosixFd(ends[1])};
}

/// A command that is running, with what it prints.
class ForegroundChild {
 public:
  ForegroundChild(pid_t pid, PosixFd output, const CaughtSignals& signals, Kept& kept)
      : pid_(pid), output_(std::move(output)), signals_(signals), kept_(kept) {
    static_cast<void>(::fcntl(output_.get(), F_SETFL, O_NONBLOCK));
  }
  ForegroundChild(const ForegroundChild&) = delete;
  ForegroundChild& operator=(const ForegroundChild&) = delete;
  ~ForegroundChild() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    wait();
  }

  Result<void> to_end(ForegroundEnd& end) {
    while (!ended_) {
      std::array<pollfd, 2> fds{{{signals_.fd(), POLLIN, 0}, {output_.get(), POLLIN, 0}}};
      if (::poll(fds.data(), output_.valid() ? 2 : 1, -1) < 0 && errno != EINTR)
        return fail(Error{Code::process_failed, "the command can't be waited for", {}, {}, errno});
      PAWL_TRY(pass_output(end));
      while (const std::optional<signalfd_siginfo> info = signals_.next()) take(*info, end);
      look();
    }
    PAWL_TRY(pass_output(end));  // what was printed at the very end
    end.status = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    return {};
  }

 private:
  void take(const signalfd_siginfo& info, ForegroundEnd& end) const {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) return;
    end.interrupted = signal;
    // The kernel's own come from the terminal, which has told the whole process group.
    if (info.ssi_code != SI_KERNEL) ::kill(pid_, signal);
  }

  void look() {
    if (::waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
  }
  void wait() {
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    ended_ = true;
  }

  /// Everything that is there now.
  Result<void> pass_output(ForegroundEnd& end) {
    std::array<char, kReadBytes> block;
    while (output_.valid()) {
      const ssize_t got = ::read(output_.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return {};
      if (got <= 0) {
        output_ = PosixFd();
        return {};
      }
      const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
      PAWL_TRY(kept_.add(bytes));
      if (!write_all(STDOUT_FILENO, bytes, "standard output")) {
        // As without us: its next write fails.
        end.output_closed = true;
        output_ = PosixFd();
      }
    }
    return {};
  }

  const pid_t pid_;
  PosixFd output_;
  const CaughtSignals& signals_;
  Kept& kept_;
  int status_ = 0;
  bool ended_ = false;
};

class FileLock final : public StepLock {
 public:
  FileLock(PosixFd fd, bool was_left) : fd_(std::move(fd)), was_left_(was_left) {}
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// An empty file says that its holder ended in order.
  ~FileLock() override { static_cast<void>(!::ftruncate(fd_.get(), 0)); }
  bool was_left() const override { return was_left_; }

 private:
  const PosixFd fd_;
  const bool was_left_;
};

std::string content(int fd) {
  std::array<char, 64> bytes{};
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
}

}  // namespace

Result<ForegroundEnd> PosixForeground::run(const ForegroundSpec& spec) {
  const CaughtSignals signals;
  PAWL_TRY_ASSIGN(Pipe output, make_pipe());
  PAWL_TRY_ASSIGN(Pipe report, make_pipe());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(Error{Code::process_failed, "a process can't be made", {}, {}, errno});
  if (pid == 0) become(spec, signals.before(), output.to.get(), report.to.get(), parent);
  output.to = PosixFd();
  report.to = PosixFd();
  ForegroundEnd end;
  Kept kept(spec);
  ForegroundChild running(pid, std::move(output.from), signals, kept);
  if (const int error = read_report(report.from.get()); error != 0)
    end.error = fmt::format("{} can't be started: {}", spec.argv.front(), std::generic_category().message(error));
  PAWL_TRY(running.to_end(end));
  PAWL_TRY(kept.finish(end));
  return end;
}

Result<std::unique_ptr<StepLock>> PosixForeground::lock(const std::string& path) {
  PosixFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return fail(posix_error(PosixCall::open_created, errno, path));
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  if (::fcntl(fd.get(), F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fail(posix_error(PosixCall::lock, errno, path));
    const std::string holder = content(fd.get());
    return fail(Error{Code::step_busy,
                      fmt::format("the step is running already, in process {}", holder.empty() ? "?" : holder),
                      {},
                      "wait until it has ended; steps that run at the same time need different names",
                      0});
  }
  const bool was_left = !content(fd.get()).empty();
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), pid.data(), pid.size(), 0) < 0)
    return fail(posix_error(PosixCall::write, errno, path));
  return std::make_unique<FileLock>(std::move(fd), was_left);
}

Result<void> PosixForeground::end_left(const std::string& entry) {
  const std::vector<LeftProcess> left = end_processes_with(entry, kLeftWait_ms);
  if (left.empty()) return {};
  std::string names;
  for (const LeftProcess& process : left) names += fmt::format("\n  {} {}", process.pid, process.command);
  return fail(Error{Code::processes_left,
                    fmt::format("processes of an earlier attempt are still running and can't be ended:{}", names),
                    {},
                    "end them, then try again",
                    0});
}

}  // namespace pawl
