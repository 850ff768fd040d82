#include "adapters/posix/posix_process_runner.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "adapters/posix/end_processes.hpp"
#include "adapters/posix/posix_error.hpp"
#include "adapters/posix/reaper.hpp"

namespace pawl {
namespace {

const char* os_text(int os_error) {
  const char* description = ::strerrordesc_np(os_error);
  return description != nullptr ? description : "unknown error";
}

Error process_error(std::string_view what, int os_error) {
  Error error{Code::process_failed, fmt::format("{}: {}", what, os_text(os_error)), {}, {}, os_error};
  if (os_error == EAGAIN) error.hint = "too many processes are running: stop some, or raise the limit with ulimit -u";
  return error;
}

/// Blocks all signals of this thread for its lifetime, so that new processes start with them blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Returns -1 if the process can't be created.
pid_t fork_reaper(const ReaperSetup& setup) {
  const SignalsBlocked blocked;
  // Like fork, but the child sends no signal when it exits, so the program's own wait calls don't see it.
  // pthread_atfork handlers don't run; the reaper uses nothing that depends on them.
  const long pid = ::syscall(SYS_clone, 0L, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) reaper_main(setup);
  return static_cast<pid_t>(pid);
}

void await_end(pid_t reaper) {
  while (::waitpid(reaper, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

/// Returns false at the end of the stream.
bool read_exactly(int fd, void* to, std::size_t size) {
  auto* place = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::recv(fd, place, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    place += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

Result<void> check_ready(const ReaperReady& ready, const std::string& lock_path) {
  switch (ready.outcome) {
    case ReaperReady::Outcome::ready: return {};
    case ReaperReady::Outcome::lock_failed:
      return fail(posix_error(PosixCall::open_created, ready.os_error, lock_path));
    case ReaperReady::Outcome::setup_failed:
      return fail(process_error("can't set up the reaper process", ready.os_error));
    case ReaperReady::Outcome::lock_held: break;
  }
  Error error{Code::processes_left, "an earlier execution is still stopping its commands", lock_path,
              "wait a moment, then try again", 0};
  if (ready.holder > 0) {
    error.message = fmt::format("process {} is still stopping the commands of an earlier execution", ready.holder);
    error.hint = fmt::format("see what is left with ps -o pid,stat,args --ppid {}, then try again", ready.holder);
  }
  return fail(std::move(error));
}

void add_text(std::string& message, std::string_view text) {
  message += text;
  message += '\0';
}

/// Returns why the command can't be sent to the reaper, if so.
StartStep refusal_of(const ProcessSpec& spec) {
  if (spec.argv.empty() || spec.argv.front().empty()) return StartStep::text;
  std::size_t size = sizeof(ReaperRequest);
  StartStep refusal = StartStep::none;
  const auto check = [&](const std::string& text) {
    if (text.find('\0') != std::string::npos) refusal = StartStep::text;
    size += text.size() + 1;
  };
  check(spec.working_dir);
  for (const std::string& text : spec.argv) check(text);
  for (const std::string& text : spec.environment) check(text);
  return refusal == StartStep::none && size > kRequestBytesMax ? StartStep::size : refusal;
}

Streams streams_of(const OutputPipes::WritingEnds& ends) {
  if (ends.output >= 0 && ends.errors >= 0) return ends.output == ends.errors ? Streams::both : Streams::two;
  return ends.output >= 0 ? Streams::output : ends.errors >= 0 ? Streams::errors : Streams::none;
}

std::string encode_start(ProcessRunner::Number number, const ProcessSpec& spec, StartStep refusal,
                         const OutputPipes::WritingEnds& ends) {
  ReaperRequest request;
  request.kind = RequestKind::start;
  request.number = number;
  request.refused = ends.os_error != 0 ? StartStep::streams : refusal;
  request.os_error = ends.os_error;
  std::string message(sizeof(request), '\0');
  if (request.refused == StartStep::none) {
    request.streams = streams_of(ends);
    request.arguments = static_cast<std::uint32_t>(spec.argv.size());
    request.variables = static_cast<std::uint32_t>(spec.environment.size());
    add_text(message, spec.working_dir);
    for (const std::string& text : spec.argv) add_text(message, text);
    for (const std::string& text : spec.environment) add_text(message, text);
  }
  request.size = static_cast<std::uint32_t>(message.size());
  std::memcpy(message.data(), &request, sizeof(request));
  return message;
}

std::string program_text(std::string_view name, int os_error) {
  const bool has_slash = name.find('/') != std::string_view::npos;
  switch (os_error) {
    case ENOENT:
      if (!has_slash) return fmt::format("program '{}' not found in PATH", name);
      return fmt::format("program '{}' not found, or the interpreter in its first line is missing", name);
    case E2BIG:
      return "the command's arguments and environment are too large for the operating system (128 KiB for each, and "
             "2 MiB together unless ulimit -s says otherwise)";
    case ENOEXEC:
      return fmt::format("'{}' is not a program: it has no #! line and is not a binary for this machine", name);
    default: return fmt::format("can't run program '{}': {}", name, os_text(os_error));
  }
}

std::string start_failure_text(StartStep step, std::string_view detail, int os_error) {
  switch (step) {
    case StartStep::text: return "the command is empty or contains a NUL byte";
    case StartStep::size: return "the command's arguments and environment are larger than 64 MiB";
    case StartStep::count: return "too many commands are running at once";
    case StartStep::streams:
      if (os_error != EMFILE && os_error != ETOOMANYREFS)
        return fmt::format("can't create a pipe for its output: {}", os_text(os_error));
      return "too many commands are running at once for the open file limit (raise it with ulimit -n)";
    case StartStep::folder: return fmt::format("can't enter the working directory '{}': {}", detail, os_text(os_error));
    case StartStep::program: return program_text(detail, os_error);
    case StartStep::none:
    case StartStep::process: break;
  }
  return fmt::format("can't create a process: {}", os_text(os_error));
}

Fault fault_of_start(StartStep step, int os_error) {
  switch (step) {
    case StartStep::count:
    case StartStep::process:
    case StartStep::streams: return Fault::machine;
    case StartStep::folder:
    case StartStep::program: return fault_of_errno(os_error);
    case StartStep::text:
    case StartStep::size:
    case StartStep::none: break;
  }
  return Fault::work;
}

ProcessEnd end_of(const ReaperReport& report, std::string_view detail) {
  ProcessEnd end;
  if (report.failed != StartStep::none) {
    end.how = ProcessEnd::How::not_started;
    end.fault = fault_of_start(report.failed, report.os_error);
    end.error = start_failure_text(report.failed, detail, report.os_error);
    return end;
  }
  end.memory_peak_bytes = report.memory_peak_bytes;
  end.cpu_us = report.cpu_us;
  if (WIFSIGNALED(report.status)) {
    end.how = ProcessEnd::How::killed;
    end.signal = WTERMSIG(report.status);
  } else {
    end.exit_code = WEXITSTATUS(report.status);
  }
  return end;
}

/// The first part of a request, with its descriptors.
class DescriptorsMessage {
 public:
  explicit DescriptorsMessage(const OutputPipes::WritingEnds& ends) {
    int fds[kStreamsMax] = {};
    std::size_t count = 0;
    if (ends.output >= 0) fds[count++] = ends.output;
    if (ends.errors >= 0 && ends.errors != ends.output) fds[count++] = ends.errors;
    header_.msg_iov = &place_;
    header_.msg_iovlen = 1;
    if (count == 0 || ends.os_error != 0) return;
    header_.msg_control = control_;
    header_.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int) * count);
    std::memcpy(CMSG_DATA(control), fds, sizeof(int) * count);
  }
  DescriptorsMessage(const DescriptorsMessage&) = delete;
  DescriptorsMessage& operator=(const DescriptorsMessage&) = delete;
  [[nodiscard]] const msghdr* with(std::string_view bytes) {
    place_ = {const_cast<char*>(bytes.data()), bytes.size()};
    return &header_;
  }

 private:
  iovec place_{};
  msghdr header_{};
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(int) * kStreamsMax)] = {};
};

/// Each command needs up to four descriptors of this program. The commands themselves get the original limit.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

ProcessEnd end_without_reaper(ProcessEnd::How how) {
  ProcessEnd end;
  end.how = how;
  end.fault = Fault::machine;
  end.error = "the reaper process, which starts and stops commands, has died";
  return end;
}

}  // namespace

Result<std::unique_ptr<PosixProcessRunner>> PosixProcessRunner::start_reaper(std::string lock_path,
                                                                             std::uint64_t lock_wait_ms) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(process_error("can't create a channel to the reaper process", errno));
  }
  PosixFd ours(ends[0]);
  PosixFd waker(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  pid_t reaper = -1;
  {
    const PosixFd theirs(ends[1]);
    reaper = fork_reaper({theirs.get(), lock_path.c_str(), lock_wait_ms, ::getpid()});
    if (reaper < 0) return fail(process_error("can't create the reaper process", errno));
  }
  allow_many_descriptors();  // after the reaper has copied the original limit
  ReaperReady ready{ReaperReady::Outcome::setup_failed, ECHILD, 0};
  static_cast<void>(read_exactly(ours.get(), &ready, sizeof(ready)));
  if (auto checked = check_ready(ready, lock_path); !checked) {
    await_end(reaper);
    return fail(std::move(checked).error());
  }
  return std::unique_ptr<PosixProcessRunner>(
      new PosixProcessRunner(std::move(ours), std::move(waker), reaper, place_of(lock_path)));
}

PosixProcessRunner::PosixProcessRunner(PosixFd socket, PosixFd waker, pid_t reaper, std::string place)
    : socket_(std::move(socket)), waker_(std::move(waker)), reaper_(reaper), place_(std::move(place)) {}

PosixProcessRunner::~PosixProcessRunner() {
  // Closing the socket is not enough: a process that this program forked may have a copy of it.
  ::shutdown(socket_.get(), SHUT_WR);
  while (receive(0)) {
  }
  tell_refused();
  await_end(reaper_);
  pipes_.close();
}

void PosixProcessRunner::on_ended(Ended ended) {
  auto shared = std::make_shared<const Ended>(std::move(ended));
  const Lock lock(mutex_);
  ended_ = std::move(shared);
}

void PosixProcessRunner::start(Number number, const ProcessSpec& spec) {
  {
    const Lock lock(mutex_);
    if (reaper_gone_) return refuse(number);
    running_.insert(number);
  }
  const StartStep refusal = refusal_of(spec);
  const OutputPipes::WritingEnds ends =
      refusal == StartStep::none ? pipes_.add(number, spec) : OutputPipes::WritingEnds();
  if (send(encode_start(number, spec, refusal, ends), ends)) return;
  const Lock lock(mutex_);
  if (running_.erase(number) > 0) refuse(number);  // otherwise it was reported as lost in the meantime
}

void PosixProcessRunner::refuse(Number number) {
  refused_.push_back(number);
  wake();
}

void PosixProcessRunner::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(waker_.get(), &one, sizeof(one));  // fails only if already awake
}

void PosixProcessRunner::wait(std::int64_t wait_us) {
  pollfd watched[] = {
      {waker_.get(), POLLIN, 0}, {stream_ended_ ? -1 : socket_.get(), POLLIN, 0}, {pipes_.descriptor(), POLLIN, 0}};
  const timespec timeout{wait_us / 1'000'000, wait_us % 1'000'000 * 1000};
  if (::ppoll(watched, 3, &timeout, nullptr) <= 0) return;
  if (watched[0].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(waker_.get(), &count, sizeof(count));
    tell_refused();
  }
  if (watched[1].revents != 0) static_cast<void>(receive(MSG_DONTWAIT));
  if (watched[2].revents != 0) pipes_.read_some();
}

void PosixProcessRunner::signal(Number number, int signal) {
  ReaperRequest request;
  request.kind = RequestKind::signal;
  request.size = sizeof(request);
  request.number = number;
  request.signal = signal;
  std::string message(sizeof(request), '\0');
  std::memcpy(message.data(), &request, sizeof(request));
  static_cast<void>(send(message, {}));  // if the reaper is gone, so are its commands
}

/// Returns false if the reaper is gone.
bool PosixProcessRunner::send(std::string_view message, const OutputPipes::WritingEnds& ends) {
  DescriptorsMessage first(ends);
  bool is_first = true;
  const Lock lock(send_mutex_);
  while (!message.empty()) {
    const ssize_t sent = is_first ? ::sendmsg(socket_.get(), first.with(message), MSG_NOSIGNAL)
                                  : ::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == ETOOMANYREFS) {  // too many descriptors in flight; the reaper will receive some soon
      ::usleep(1000);
      continue;
    }
    if (sent < 0) return false;
    is_first = false;
    message.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::vector<LeftProcess> PosixProcessRunner::end_all(const std::string& entry, std::uint64_t wait_ms) {
  return end_processes_with(entry, wait_ms, reaper_);
}

/// Reads once and reports complete messages. Returns false at the end of the stream.
bool PosixProcessRunner::receive(int flags) {
  if (stream_ended_) return false;
  constexpr std::size_t kStep = 65536;
  const std::size_t before = received_.size();
  received_.resize(before + kStep);
  const ssize_t got = ::recv(socket_.get(), received_.data() + before, kStep, flags);
  received_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got <= 0) {
    outlive_reaper();
    return false;
  }
  std::size_t taken = 0;
  for (;;) {
    std::uint32_t size = 0;
    if (received_.size() - taken < sizeof(ReaperReport)) break;
    std::memcpy(&size, received_.data() + taken, sizeof(size));
    if (received_.size() - taken < size) break;
    take_report(std::string_view(received_).substr(taken, size));
    taken += size;
  }
  received_.erase(0, taken);
  return true;
}

void PosixProcessRunner::take_report(std::string_view message) {
  ReaperReport report;
  std::memcpy(&report, message.data(), sizeof(report));
  {
    const Lock lock(mutex_);
    if (running_.erase(report.number) == 0) return;
  }
  tell(report.number, end_of(report, message.substr(sizeof(report))));
}

void PosixProcessRunner::tell(Number number, const ProcessEnd& end) {
  pipes_.ended(number);
  std::shared_ptr<const Ended> ended;
  {
    const Lock lock(mutex_);
    ended = ended_;
  }
  if (ended != nullptr && *ended) (*ended)(number, end);
}

void PosixProcessRunner::tell_refused() {
  std::vector<Number> refused;
  {
    const Lock lock(mutex_);
    refused.swap(refused_);
  }
  for (const Number number : refused) tell(number, end_without_reaper(ProcessEnd::How::not_started));
}

/// The reaper has closed its end. Reports the commands that the reaper can't report any more.
void PosixProcessRunner::outlive_reaper() {
  stream_ended_ = true;
  std::unordered_set<Number> lost;
  {
    const Lock lock(mutex_);
    reaper_gone_ = true;
    lost.swap(running_);
  }
  for (const Number number : lost) tell(number, end_without_reaper(ProcessEnd::How::lost));
}

}  // namespace pawl
