#include "adapters/posix/command_keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <vector>

#include "adapters/posix/end_children.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kEndWait_ms = 60'000;  // a process in uninterruptible sleep can't be killed
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

/// An array of C strings, as exec requires.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// Runs in the command's process: executes the command, or reports why it can't.
[[noreturn]] void become(const KeeperSetup& setup, int report, pid_t parent) {
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  if (::getppid() != parent) ::_exit(kNotStarted);  // the parent has already died
  std::signal(SIGPIPE, SIG_DFL);
  int error = 0;
  if (::dup2(setup.output, STDOUT_FILENO) < 0 || ::dup2(setup.errors, STDERR_FILENO) < 0) error = errno;
  if (error == 0) {
    ::pthread_sigmask(SIG_SETMASK, &setup.mask, nullptr);
    const ForegroundSpec& spec = setup.spec;
    ::execvpe(spec.argv.front().c_str(), pointers(spec.argv).data(), pointers(spec.environment).data());
    error = errno;
  }
  static_cast<void>(!::write(report, &error, sizeof(error)));
  ::_exit(error == ENOENT ? kNotFound : kNotStarted);
}

/// Returns the errno of a failed exec, or 0 if the command is running.
int read_exec_error(int fd) {
  int error = 0;
  while (true) {
    const ssize_t got = ::read(fd, &error, sizeof(error));
    if (got < 0 && errno == EINTR) continue;
    return got == static_cast<ssize_t>(sizeof(error)) ? error : 0;
  }
}

/// Closes the program's descriptors: an inherited lock would outlive the program.
void keep_only(std::array<int, 3> wanted) {
  std::ranges::sort(wanted);
  unsigned from = STDERR_FILENO + 1;
  for (const int fd : wanted) {
    const auto number = static_cast<unsigned>(fd);
    if (number > from) static_cast<void>(::close_range(from, number - 1, 0));
    from = std::max(from, number + 1);
  }
  static_cast<void>(::close_range(from, ~0U, 0));
}

class Keeper {
 public:
  explicit Keeper(const KeeperSetup& setup) : setup_(setup) {}

  [[noreturn]] void run() {
    start();
    if (setup_.spec.timeout_us > 0)
      deadline_ = std::chrono::steady_clock::now() + std::chrono::microseconds(setup_.spec.timeout_us);
    while (!command_ended_) {
      std::array<pollfd, 2> watched{{{signals_->fd(), POLLIN, 0}, {program_.get(), POLLIN, 0}}};
      static_cast<void>(::poll(watched.data(), watched.size(), wait_ms()));
      if (watched[1].revents != 0 || ::getppid() != setup_.program) leave_nothing();
      while (const std::optional<signalfd_siginfo> info = signals_->next()) take(*info);
      if (deadline_ && std::chrono::steady_clock::now() >= *deadline_) time_out();
      reap();
    }
    if (report_.interrupted != 0 || report_.timed_out) static_cast<void>(end_children({}, kEndWait_ms));
    static_cast<void>(!::write(setup_.report, &report_, sizeof(report_)));
    ::_exit(0);
  }

 private:
  void start() {
    keep_only({setup_.output, setup_.errors, setup_.report});
    adopt_orphans();
    signals_.emplace();
    program_ = PosixFd(static_cast<int>(::syscall(SYS_pidfd_open, setup_.program, 0)));
    if (::getppid() != setup_.program) ::_exit(kNotStarted);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) ::_exit(kNotStarted);
    const PosixFd reading(ends[0]);
    PosixFd writing(ends[1]);
    const pid_t self = ::getpid();
    command_ = ::fork();
    if (command_ < 0) ::_exit(kNotStarted);
    if (command_ == 0) become(setup_, writing.get(), self);
    writing = PosixFd();
    ::close(setup_.output);
    ::close(setup_.errors);
    report_.exec_error = read_exec_error(reading.get());
  }

  [[nodiscard]] int wait_ms() const {
    if (!deadline_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  }

  [[noreturn]] static void leave_nothing() {
    static_cast<void>(end_children({}, kEndWait_ms));
    ::_exit(kNotStarted);
  }

  void take(const signalfd_siginfo& info) {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (requests_stop(signal)) report_.interrupted = signal;
    if (is_for_command(info)) ::kill(command_, signal);
  }

  void time_out() {
    if (std::exchange(report_.timed_out, true)) {
      ::kill(command_, SIGKILL);
      deadline_.reset();
      return;
    }
    ::kill(command_, SIGTERM);
    deadline_ = std::chrono::steady_clock::now() + std::chrono::microseconds(setup_.spec.grace_us);
  }

  /// Keeps the status of the command. Other children are only reaped.
  void reap() {
    while (true) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR) continue;
      if (pid <= 0) return;
      if (pid != command_) continue;
      report_.wait_status = status;
      command_ended_ = true;
    }
  }

  const KeeperSetup& setup_;
  std::optional<CaughtSignals> signals_;  // blocked since before the fork, so none is lost
  PosixFd program_;
  pid_t command_ = -1;
  bool command_ended_ = false;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  KeeperReport report_;
};

}  // namespace

bool requests_stop(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

bool is_for_command(const signalfd_siginfo& info) {
  const auto signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCHLD) return false;
  // Only SIGALRM comes from the kernel without a terminal: alarm(2) of the program that became this one.
  return info.ssi_code != SI_KERNEL || signal == SIGALRM;
}

namespace {

/// A parent such as nohup has asked that the signal does not stop this program.
bool is_ignored(int signal) {
  struct sigaction current{};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

CaughtSignals::CaughtSignals() {
  std::signal(SIGCHLD, SIG_DFL);  // if it is ignored, the exit status is lost
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCHLD}) {
    if (!requests_stop(signal) || !is_ignored(signal)) ::sigaddset(&wanted, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  fd_ = PosixFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

CaughtSignals::~CaughtSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<signalfd_siginfo> CaughtSignals::next() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return std::nullopt;
  return info;
}

void keep_command(const KeeperSetup& setup) { Keeper(setup).run(); }

}  // namespace pawl
