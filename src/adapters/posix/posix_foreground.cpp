#include "adapters/posix/posix_foreground.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>

#include "adapters/posix/command_keeper.hpp"
#include "adapters/posix/end_children.hpp"
#include "adapters/posix/end_processes.hpp"
#include "adapters/posix/output_forward.hpp"
#include "adapters/posix/posix_error.hpp"
#include "adapters/posix/posix_fd.hpp"
#include "base/hash.hpp"

namespace pawl {
namespace {

constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::uint64_t kLeftWait_ms = 5'000;

/// Keeps the output of a command in memory, or in a file if it is too large.
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

  Result<void> finish(ForegroundEnd& end) {
    end.output_bytes = bytes_;
    end.in_file = file_.valid();
    end.output = std::move(memory_);
    if (!file_.valid()) return {};
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

struct Pipe {
  PosixFd from;
  PosixFd to;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Error{Code::process_failed, "can't create a pipe to the command", {}, {}, errno});
  return Pipe{PosixFd(ends[0]), PosixFd(ends[1])};
}

/// One output stream of the command.
struct Stream {
  PosixFd from;
  OutputForward to;
};

/// A command that runs under its keeper, with its output.
class ForegroundChild {
 public:
  ForegroundChild(pid_t keeper, Pipe output, Pipe errors, PosixFd report, const CaughtSignals& signals,
                  const ForegroundSpec& spec, Kept& kept)
      : keeper_(keeper),
        streams_{Stream{std::move(output.from), OutputForward(STDOUT_FILENO)},
                 Stream{std::move(errors.from), OutputForward(STDERR_FILENO)}},
        report_(std::move(report)),
        signals_(signals),
        spec_(spec),
        kept_(kept) {
    for (const Stream& stream : streams_) static_cast<void>(::fcntl(stream.from.get(), F_SETFL, O_NONBLOCK));
  }
  ForegroundChild(const ForegroundChild&) = delete;
  ForegroundChild& operator=(const ForegroundChild&) = delete;
  ~ForegroundChild() {
    if (ended_) return;
    ::kill(keeper_, SIGTERM);  // the keeper kills the command and its descendants
    while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  Result<void> to_end(ForegroundEnd& end, const std::vector<pid_t>& children_before) {
    while (!ended_) {
      PAWL_TRY(wait());
      for (Stream& stream : streams_) {
        stream.to.send();
        PAWL_TRY(pass(stream, Read::while_taken));
      }
      while (const std::optional<signalfd_siginfo> info = signals_.next()) take(*info, end);
      if (::waitpid(keeper_, nullptr, WNOHANG) == keeper_) ended_ = true;
    }
    for (Stream& stream : streams_) PAWL_TRY(pass(stream, Read::all));  // output printed just before the exit
    if (spec_.log) spec_.log->settle();
    read_report(end, children_before);
    PAWL_TRY(drain(end));
    end.output_error = streams_[0].to.os_error();
    return {};
  }

 private:
  enum class Read : std::uint8_t {
    while_taken,  // stops while the reader of the stream is slow, so that the command is slowed down as well
    all,
  };

  /// Waits for a signal, for output of the command, or until a stream takes more.
  [[nodiscard]] Result<void> wait() const {
    std::array<pollfd, 3> fds{{{signals_.fd(), POLLIN, 0}, {}, {}}};
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const Stream& stream = streams_[i];
      fds[i + 1] = stream.to.pending() ? pollfd{stream.to.fd(), POLLOUT, 0}
                                       : pollfd{stream.from.get(), POLLIN, 0};  // poll ignores negative descriptors
    }
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR)
      return fail(Error{Code::process_failed, "can't wait for the command", {}, {}, errno});
    return {};
  }

  /// The command has exited. Waits for slow readers, unless this program was told to stop: the output is recorded.
  Result<void> drain(const ForegroundEnd& end) {
    bool stop = end.interrupted != 0 || end.timed_out;
    for (Stream& stream : streams_) stream.from = PosixFd();
    while (!stop && (streams_[0].to.pending() || streams_[1].to.pending())) {
      PAWL_TRY(wait());
      for (Stream& stream : streams_) stream.to.send();
      while (const std::optional<signalfd_siginfo> info = signals_.next())
        stop = stop || requests_stop(static_cast<int>(info->ssi_signo));
    }
    return {};
  }

  void take(const signalfd_siginfo& info, ForegroundEnd& end) const {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (requests_stop(signal)) end.interrupted = signal;
    if (is_for_command(info)) ::kill(keeper_, signal);
  }

  void read_report(ForegroundEnd& end, const std::vector<pid_t>& children_before) const {
    KeeperReport report;
    ssize_t got = 0;
    do {
      got = ::read(report_.get(), &report, sizeof(report));
    } while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(sizeof(report))) {  // the keeper was killed, and the command with it
      static_cast<void>(end_children(children_before, kLeftWait_ms));
      end.interrupted = SIGKILL;
      end.status = 128 + SIGKILL;
      return;
    }
    if (report.exec_error != 0)
      end.error =
          fmt::format("can't start {}: {}", spec_.argv.front(), std::generic_category().message(report.exec_error));
    if (end.interrupted == 0) end.interrupted = report.interrupted;
    end.timed_out = report.timed_out;
    end.status = WIFEXITED(report.wait_status) ? WEXITSTATUS(report.wait_status) : 128 + WTERMSIG(report.wait_status);
  }

  /// Reads what is available now. All of it is kept, even if it can't be passed on.
  Result<void> pass(Stream& stream, Read read) {
    std::array<char, kReadBytes> block;
    while (stream.from.valid() && (read == Read::all || !stream.to.pending())) {
      const ssize_t got = ::read(stream.from.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return {};
      if (got <= 0) {
        stream.from = PosixFd();
        return {};
      }
      const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
      if (spec_.log) spec_.log->write(bytes);
      if (&stream == &streams_[0]) PAWL_TRY(kept_.add(bytes));
      stream.to.add(bytes);
    }
    return {};
  }

  const pid_t keeper_;
  std::array<Stream, 2> streams_;
  const PosixFd report_;
  const CaughtSignals& signals_;
  const ForegroundSpec& spec_;
  Kept& kept_;
  bool ended_ = false;
};

class FileLock final : public StepLock {
 public:
  FileLock(PosixFd fd, bool was_left, std::string place)
      : fd_(std::move(fd)), was_left_(was_left), place_(std::move(place)) {}
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// An empty file means that its holder exited cleanly.
  ~FileLock() override { static_cast<void>(!::ftruncate(fd_.get(), 0)); }
  bool was_left() const override { return was_left_; }
  const std::string& place() const override { return place_; }

 private:
  const PosixFd fd_;
  const bool was_left_;
  const std::string place_;
};

std::string content(int fd) {
  std::array<char, 64> bytes{};
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), 0);
  return {bytes.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
}

}  // namespace

Result<ForegroundEnd> PosixForeground::run(const ForegroundSpec& spec) {
  adopt_orphans();
  const std::vector<pid_t> children_before = own_children();
  const CaughtSignals signals;
  PAWL_TRY_ASSIGN(Pipe output, make_pipe());
  PAWL_TRY_ASSIGN(Pipe errors, make_pipe());
  PAWL_TRY_ASSIGN(Pipe report, make_pipe());
  const KeeperSetup setup{.spec = spec,
                          .mask = signals.before(),
                          .output = output.to.get(),
                          .errors = errors.to.get(),
                          .report = report.to.get(),
                          .program = ::getpid()};
  const pid_t keeper = ::fork();
  if (keeper < 0) return fail(Error{Code::process_failed, "can't create a process", {}, {}, errno});
  if (keeper == 0) keep_command(setup);
  for (Pipe* pipe : {&output, &errors, &report}) pipe->to = PosixFd();
  ForegroundEnd end;
  Kept kept(spec);
  ForegroundChild running(keeper, std::move(output), std::move(errors), std::move(report.from), signals, spec, kept);
  PAWL_TRY(running.to_end(end, children_before));
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
    return fail(Error{
        Code::step_busy,
        fmt::format("already running (process {})", holder.empty() ? "unknown" : holder),
        {},
        "wait until it finishes, for example with --wait-lock 5m; steps that run at the same time need different names",
        0});
  }
  const bool was_left = !content(fd.get()).empty();
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), pid.data(), pid.size(), 0) < 0)
    return fail(posix_error(PosixCall::write, errno, path));
  return std::make_unique<FileLock>(std::move(fd), was_left, place_of(path));
}

Result<void> PosixForeground::end_left(const std::string& entry) {
  const std::vector<LeftProcess> left = end_processes_with(entry, kLeftWait_ms);
  if (left.empty()) return {};
  std::string names;
  for (const LeftProcess& process : left) names += fmt::format("\n  {} {}", process.pid, process.command);
  return fail(Error{Code::processes_left,
                    fmt::format("processes of an earlier attempt are still running and can't be killed:{}", names),
                    {},
                    "kill them, then try again",
                    0});
}

}  // namespace pawl
