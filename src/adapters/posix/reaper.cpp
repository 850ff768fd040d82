#include "adapters/posix/reaper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "adapters/posix/reaper_raw.hpp"
#include "adapters/posix/reaper_start.hpp"
#include "adapters/posix/reaper_wire.hpp"

namespace pawl {
namespace {

constexpr int kSocket = 3;
constexpr std::uint64_t kLockRetryMs = 10;
constexpr std::uint64_t kKillAgainMs = 20;
constexpr std::uint64_t kKillGiveUpMs = 60'000;  // a process in uninterruptible sleep can't be killed
constexpr pid_t kProcessIdMax = 4'194'304;       // the kernel's largest
constexpr pid_t kNearProcesses = 65'536;
constexpr std::size_t kReadBytes = 65536;
constexpr std::size_t kKeptBytes = 1U << 20U;  // maximum memory kept between requests

struct Running {
  std::uint64_t number;
  pid_t pid;
};

/// The descriptors that were sent with a start.
struct Received {
  int fds[kStreamsMax] = {-1, -1};
};

constexpr std::uint64_t mask_of(int signal) noexcept { return std::uint64_t{1} << static_cast<unsigned>(signal - 1); }

/// Waits for one of `watched`; a negative timeout means forever.
void wait_for(pollfd* watched, std::size_t count, std::int64_t timeout_ms) noexcept {
  const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1000000};
  raw::call(SYS_ppoll, watched, static_cast<long>(count), timeout_ms < 0 ? nullptr : &timeout, nullptr, 8L);
}

/// The scheduling parameters of this process (sched_setattr(2)).
struct Scheduling {
  std::uint32_t size = sizeof(Scheduling);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

/// Requests a short time slice: every start and exit of a command passes through this process, which works for only a
/// few microseconds at a time. Kernels before 6.12 ignore the request. The commands keep their normal scheduling.
void take_short_turns() noexcept {
  constexpr std::uint64_t kResetOnFork = 1;
  constexpr std::uint64_t kShortest_ns = 100'000;
  Scheduling scheduling;
  if (raw::call(SYS_sched_getattr, 0L, &scheduling, static_cast<long>(sizeof(scheduling)), 0L) < 0) return;
  const bool is_plain = scheduling.policy == 0 && scheduling.flags == 0;
  if (!is_plain || scheduling.nice < 0) return;  // resetting on fork would also reset the commands' niceness
  scheduling.flags = kResetOnFork;
  scheduling.runtime_ns = kShortest_ns;
  raw::call(SYS_sched_setattr, 0L, &scheduling, 0L);
}

class Reaper {
 public:
  explicit Reaper(const ReaperSetup& setup) noexcept : setup_(setup) {}
  [[noreturn]] void run() noexcept;

 private:
  [[nodiscard]] long set_up() noexcept;
  [[nodiscard]] long set_up_descriptors() noexcept;
  [[nodiscard]] ReaperReady take_lock() noexcept;
  void name_in_lock() noexcept;
  [[nodiscard]] bool program_gone() noexcept;

  void serve() noexcept;
  [[nodiscard]] bool receive() noexcept;
  void keep_descriptors(const msghdr& header) noexcept;
  [[nodiscard]] Received take_descriptors() noexcept;
  [[nodiscard]] bool has_request() const noexcept;
  void handle_request() noexcept;
  static void forget_memory_peak() noexcept;
  void start(const ReaperRequest& request, char* strings, const Received& received) noexcept;
  void send_signal(const ReaperRequest& request) noexcept;
  [[nodiscard]] bool reap() noexcept;
  void report(const ReaperReport& head, const char* detail) noexcept;
  [[nodiscard]] bool flush(int flags) noexcept;

  void end_everything() noexcept;
  void kill_children() noexcept;
  [[nodiscard]] std::size_t kill_listed_children() noexcept;
  [[nodiscard]] std::size_t kill_children_among(pid_t first, pid_t last) noexcept;
  [[nodiscard]] pid_t parent_of(const char* pid_text) noexcept;
  void kill_child(pid_t pid) noexcept;
  void name_those_left() noexcept;

  // Requests are handled before more data is received, and one call receives the descriptors of at most one start. Only
  // the rest of one request and the beginning of the next can therefore be pending.
  static constexpr std::size_t kReceivedMax = 4;

  const ReaperSetup& setup_;
  pid_t self_ = 0;
  int signals_ = -1;
  int program_ = -1;
  int lock_ = -1;
  StartMemory start_memory_;
  raw::Queue in_;
  Received received_[kReceivedMax];
  std::size_t received_count_ = 0;
  raw::Queue out_;
  raw::Queue pointers_;
  Running* running_ = nullptr;
  std::size_t running_count_ = 0;
  char* entries_ = nullptr;  // entries of /proc
  static constexpr std::size_t kEntriesBytes = 32768;
  char* left_ = nullptr;  // the processes that could not be killed, for the lock file
  static constexpr std::size_t kLeftBytes = 4096;
  std::size_t left_size_ = 0;
};

void Reaper::run() noexcept {
  ReaperReady ready;
  if (const long r = set_up(); r < 0) {
    ready = {ReaperReady::Outcome::setup_failed, static_cast<std::int32_t>(-r), 0};
  } else {
    ready = take_lock();
  }
  raw::call(SYS_chdir, "/");
  raw::call(SYS_sendto, static_cast<long>(kSocket), &ready, static_cast<long>(sizeof(ready)),
            static_cast<long>(MSG_NOSIGNAL), nullptr, 0L);
  if (ready.outcome != ReaperReady::Outcome::ready) raw::exit_now(1);
  serve();
  end_everything();
  raw::exit_now(0);
}

/// Closes all descriptors of the program except the socket: an inherited lock would outlive the program.
long Reaper::set_up_descriptors() noexcept {
  if (setup_.socket != kSocket) {
    if (const long r = raw::call(SYS_dup3, static_cast<long>(setup_.socket), static_cast<long>(kSocket),
                                 static_cast<long>(O_CLOEXEC));
        r < 0) {
      return r;
    }
  }
  if (const long r = raw::call(SYS_close_range, kSocket + 1L, 0xffffffffL, 0L); r < 0) return r;
  const int null = raw::open_file("/dev/null", O_RDWR, 0);
  if (null < 0) return null;
  for (int fd = 0; fd <= 2; ++fd) {
    if (fd != null) raw::call(SYS_dup3, static_cast<long>(null), static_cast<long>(fd), 0L);
  }
  if (null > 2) raw::close_file(null);
  return 0;
}

long Reaper::set_up() noexcept {
  // See reset_signals: {0} is SIG_DFL, {1} is SIG_IGN. The program's handlers must not run here.
  const std::uint64_t standard[4] = {};
  const std::uint64_t ignored[4] = {1};
  for (long signal = 1; signal <= 64; ++signal) raw::call(SYS_rt_sigaction, signal, standard, nullptr, 8L);
  for (const int signal : kReaperIgnores) {
    raw::call(SYS_rt_sigaction, static_cast<long>(signal), ignored, nullptr, 8L);
  }
  const std::uint64_t blocked = mask_of(SIGCHLD);
  raw::call(SYS_rt_sigprocmask, static_cast<long>(SIG_SETMASK), &blocked, nullptr, 8L);

  self_ = static_cast<pid_t>(raw::call(SYS_getpid));
  if (const long r = set_up_descriptors(); r < 0) return r;
  raw::call(SYS_setsid);
  take_short_turns();
  raw::call(SYS_prctl, static_cast<long>(PR_SET_NAME), "pawl-reaper", 0L, 0L, 0L);
  if (const long r = raw::call(SYS_prctl, static_cast<long>(PR_SET_CHILD_SUBREAPER), 1L, 0L, 0L, 0L); r < 0) return r;

  signals_ =
      static_cast<int>(raw::call(SYS_signalfd4, -1L, &blocked, 8L, static_cast<long>(SFD_CLOEXEC | SFD_NONBLOCK)));
  if (signals_ < 0) return signals_;
  // The socket alone does not show that the program has exited: a process that it forked may hold the other end, too.
  program_ = static_cast<int>(raw::call(SYS_pidfd_open, static_cast<long>(setup_.program), 0L));
  if (raw::call(SYS_getppid) != setup_.program) raw::exit_now(1);

  running_ = static_cast<Running*>(raw::map_memory(sizeof(Running) * kCommandsMax, MAP_PRIVATE));
  entries_ = static_cast<char*>(raw::map_memory(kEntriesBytes, MAP_PRIVATE));
  left_ = static_cast<char*>(raw::map_memory(kLeftBytes, MAP_PRIVATE));
  if (running_ == nullptr || entries_ == nullptr || left_ == nullptr || !start_memory_.make()) return -ENOMEM;
  return 0;
}

bool Reaper::program_gone() noexcept {
  pollfd watched[] = {{kSocket, 0, 0}, {program_, POLLIN, 0}};
  wait_for(watched, 2, 0);
  return (watched[0].revents & POLLHUP) != 0 || watched[1].revents != 0;
}

ReaperReady Reaper::take_lock() noexcept {
  using Outcome = ReaperReady::Outcome;
  if (setup_.lock_path[0] == '\0') return {};
  lock_ = raw::open_file(setup_.lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (lock_ < 0) return {Outcome::lock_failed, -lock_, 0};
  const std::uint64_t give_up_ms = raw::now_ms() + setup_.lock_wait_ms;
  for (;;) {
    struct flock range{};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_len = 1;
    const long r = raw::call(SYS_fcntl, static_cast<long>(lock_), static_cast<long>(F_OFD_SETLK), &range);
    if (r >= 0) break;
    if (r != -EAGAIN && r != -EACCES && r != -EINTR) return {Outcome::lock_failed, static_cast<std::int32_t>(-r), 0};
    if (program_gone()) raw::exit_now(1);
    if (raw::now_ms() >= give_up_ms) {
      char text[32];
      const long size = raw::call(SYS_pread64, static_cast<long>(lock_), text, static_cast<long>(sizeof(text)), 0L);
      return {Outcome::lock_held, 0, raw::number_at(text, text + (size > 0 ? size : 0))};
    }
    wait_for(nullptr, 0, kLockRetryMs);
  }
  name_in_lock();
  return {};
}

void Reaper::name_in_lock() noexcept {
  char text[32];
  char* end = raw::put_number(text, self_);
  *end++ = '\n';
  raw::call(SYS_ftruncate, static_cast<long>(lock_), 0L);
  raw::call(SYS_pwrite64, static_cast<long>(lock_), text, end - text, 0L);
}

/// Runs until the program exits or closes the socket.
void Reaper::serve() noexcept {
  for (;;) {
    pollfd watched[] = {{kSocket, static_cast<short>(out_.size() > 0 ? POLLIN | POLLOUT : POLLIN), 0},
                        {signals_, POLLIN, 0},
                        {program_, POLLIN, 0}};
    wait_for(watched, 3, has_request() ? 0 : -1);
    if (watched[2].revents != 0) return;
    if (watched[1].revents != 0) {
      signalfd_siginfo info{};
      raw::call(SYS_read, static_cast<long>(signals_), &info, static_cast<long>(sizeof(info)));
      static_cast<void>(reap());
    }
    if (!has_request() && (watched[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive()) return;
    // One request at a time, so that exits don't wait for a long series of starts.
    if (has_request()) handle_request();
    if (!flush(MSG_DONTWAIT)) return;
  }
}

/// Returns false at the end of the stream.
bool Reaper::receive() noexcept {
  std::size_t wanted = kReadBytes;
  std::uint32_t size = 0;
  if (in_.size() >= sizeof(size)) {
    raw::copy(&size, in_.front(), sizeof(size));
    if (size > in_.size() && size - in_.size() > wanted) wanted = size - in_.size();
  }
  if (!in_.reserve(wanted)) return false;
  iovec place{in_.memory + in_.tail, in_.capacity - in_.tail};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kStreamsMax)];
  msghdr header{};
  header.msg_iov = &place;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const long got =
      raw::call(SYS_recvmsg, static_cast<long>(kSocket), &header, static_cast<long>(MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  if (got == -EAGAIN || got == -EINTR) return true;
  if (got <= 0) return false;
  keep_descriptors(header);
  in_.tail += static_cast<std::size_t>(got);
  return true;
}

/// Descriptors arrive with the first byte of their request, and a read stops after the bytes that they arrived with.
void Reaper::keep_descriptors(const msghdr& header) noexcept {
  const auto* control = static_cast<const cmsghdr*>(header.msg_control);
  const bool has_some = header.msg_controllen >= sizeof(cmsghdr) && control->cmsg_type == SCM_RIGHTS;
  if (!has_some && (header.msg_flags & MSG_CTRUNC) == 0) return;
  Received received;
  if (has_some) {
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    raw::copy(received.fds, CMSG_DATA(control), (count < kStreamsMax ? count : kStreamsMax) * sizeof(int));
  }
  if (received_count_ < kReceivedMax) {
    received_[received_count_++] = received;
    return;
  }
  for (const int fd : received.fds) {
    if (fd >= 0) raw::close_file(fd);
  }
}

Received Reaper::take_descriptors() noexcept {
  if (received_count_ == 0) return {};
  const Received first = received_[0];
  --received_count_;
  raw::copy(received_, received_ + 1, received_count_ * sizeof(Received));
  return first;
}

bool Reaper::has_request() const noexcept {
  std::uint32_t size = 0;
  if (in_.size() < sizeof(ReaperRequest)) return false;
  raw::copy(&size, in_.front(), sizeof(size));
  return in_.size() >= size;
}

void Reaper::handle_request() noexcept {
  ReaperRequest request;
  raw::copy(&request, in_.front(), sizeof(request));
  if (request.kind == RequestKind::signal) {
    send_signal(request);
  } else if (request.refused != StartStep::none) {
    report({sizeof(ReaperReport), request.refused, request.number, request.os_error, 0, 0, 0}, "");
  } else {
    const Received received = request.streams == Streams::none ? Received() : take_descriptors();
    start(request, in_.front() + sizeof(request), received);
    for (const int fd : received.fds) {
      if (fd >= 0) raw::close_file(fd);
    }
  }
  in_.taken(request.size);
  if (in_.size() == 0 && in_.capacity > kKeptBytes) {
    raw::call(SYS_munmap, in_.memory, static_cast<long>(in_.capacity));
    in_ = {};
    forget_memory_peak();
  }
}

/// A child's peak starts with that of the memory it shares with the reaper until its program runs.
void Reaper::forget_memory_peak() noexcept {
  const int fd = raw::open_file("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  raw::call(SYS_write, static_cast<long>(fd), "5", 1L);  // CLEAR_REFS_MM_HIWATER_RSS
  raw::close_file(fd);
}

const char* detail_of(StartStep step, const StartedCommand& command) noexcept {
  switch (step) {
    case StartStep::folder: return command.folder;
    case StartStep::program: return command.arguments[0];
    default: return "";
  }
}

/// Returns false if the descriptors were not received because this process has too many open.
bool give_streams(StartedCommand& command, Streams streams, const Received& received) noexcept {
  const int first = received.fds[0];
  if (streams == Streams::none) return true;
  if (streams != Streams::errors) command.output = first;
  if (streams != Streams::output) command.errors = streams == Streams::two ? received.fds[1] : first;
  return first >= 0 && (streams != Streams::two || received.fds[1] >= 0);
}

void Reaper::start(const ReaperRequest& request, char* strings, const Received& received) noexcept {
  ReaperReport failed{sizeof(ReaperReport), StartStep::count, request.number, EAGAIN, 0, 0, 0};
  if (running_count_ == kCommandsMax) return report(failed, "");
  const std::size_t pointers = std::size_t{request.arguments} + request.variables + 2;
  if (!pointers_.reserve(pointers * sizeof(char*))) {
    failed.failed = StartStep::process;
    failed.os_error = ENOMEM;
    return report(failed, "");
  }
  const auto next = [&strings]() noexcept {
    char* text = strings;
    strings += raw::length(text) + 1;
    return text;
  };
  StartedCommand command;
  command.folder = next();
  command.arguments = reinterpret_cast<char**>(pointers_.memory);
  for (std::uint32_t i = 0; i < request.arguments; ++i) command.arguments[i] = next();
  command.arguments[request.arguments] = nullptr;
  command.environment = command.arguments + request.arguments + 1;
  for (std::uint32_t i = 0; i < request.variables; ++i) command.environment[i] = next();
  command.environment[request.variables] = nullptr;

  if (!give_streams(command, request.streams, received)) {
    failed.failed = StartStep::streams;
    failed.os_error = EMFILE;
    return report(failed, "");
  }
  if (const pid_t pid = start_command(command, start_memory_); pid > 0) {
    running_[running_count_++] = {request.number, pid};
    return;
  }
  failed.failed = start_memory_.failure->step;
  failed.os_error = start_memory_.failure->os_error;
  report(failed, detail_of(failed.failed, command));
}

void Reaper::send_signal(const ReaperRequest& request) noexcept {
  for (std::size_t i = 0; i < running_count_; ++i) {
    // Not reaped yet, so neither the process id nor the group id can have been reused.
    if (running_[i].number == request.number) {
      raw::call(SYS_kill, -static_cast<long>(running_[i].pid), static_cast<long>(request.signal));
    }
  }
}

/// Reports finished commands and reaps other children. Returns false once there are no children.
bool Reaper::reap() noexcept {
  for (;;) {
    int status = 0;
    rusage usage{};
    const long pid = raw::call(SYS_wait4, -1L, &status, static_cast<long>(WNOHANG | __WALL), &usage);
    if (pid == -EINTR) continue;
    if (pid <= 0) return pid != -ECHILD;
    for (std::size_t i = 0; i < running_count_; ++i) {
      if (running_[i].pid != pid) continue;
      ReaperReport ended{sizeof(ReaperReport), StartStep::none, running_[i].number, 0, status, 0, 0};
      ended.memory_peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
      ended.cpu_us = static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
                     static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
      report(ended, "");
      running_[i] = running_[--running_count_];
      break;
    }
  }
}

/// Never waits until the program reads: the program may be waiting for this process to read.
void Reaper::report(const ReaperReport& head, const char* detail) noexcept {
  ReaperReport whole = head;
  const std::size_t detail_size = raw::length(detail);
  whole.size += static_cast<std::uint32_t>(detail_size);
  if (!out_.reserve(whole.size)) return;  // when this process exits, the program reports the command as killed
  static_cast<void>(out_.add(&whole, sizeof(whole)));
  static_cast<void>(out_.add(detail, detail_size));
}

/// Returns false if the program no longer reads.
bool Reaper::flush(int flags) noexcept {
  while (out_.size() > 0) {
    const long sent = raw::call(SYS_sendto, static_cast<long>(kSocket), out_.front(), static_cast<long>(out_.size()),
                                static_cast<long>(flags | MSG_NOSIGNAL), nullptr, 0L);
    if (sent == -EINTR) continue;
    if (sent == -EAGAIN) return true;
    if (sent < 0) return false;
    out_.taken(static_cast<std::size_t>(sent));
  }
  return true;
}

void Reaper::end_everything() noexcept {
  const std::uint64_t give_up_ms = raw::now_ms() + kKillGiveUpMs;
  // Orphaned descendants become children of this process, so killing children repeatedly reaches all of them.
  while (reap()) {
    left_size_ = 0;
    kill_children();
    static_cast<void>(flush(MSG_DONTWAIT));
    if (raw::now_ms() >= give_up_ms) {
      name_those_left();
      break;
    }
    pollfd watched[] = {{signals_, POLLIN, 0}};
    wait_for(watched, 1, kKillAgainMs);
    signalfd_siginfo info{};
    raw::call(SYS_read, static_cast<long>(signals_), &info, static_cast<long>(sizeof(info)));
  }
  if (lock_ >= 0) raw::close_file(lock_);
  static_cast<void>(flush(0));
}

void Reaper::kill_children() noexcept {
  for (std::size_t i = 0; i < running_count_; ++i) kill_child(running_[i].pid);
  if (kill_listed_children() > 0) return;
  // procfs is not mounted, is hidden, or belongs to another PID namespace. Children are then found by asking for every
  // possible process ID whether it is one. Those that were started recently have IDs just above that of this process.
  if (kill_children_among(self_ + 1, self_ + kNearProcesses) > 0) return;
  static_cast<void>(kill_children_among(2, kProcessIdMax));
}

/// Kills the children of this process among the process IDs from `first` to `last`. Returns how many there are.
std::size_t Reaper::kill_children_among(pid_t first, pid_t last) noexcept {
  constexpr long kOne = 1;  // P_PID
  constexpr long kLook = WNOHANG | WNOWAIT | WEXITED | __WALL;
  std::size_t count = 0;
  for (pid_t pid = first; pid <= last && pid <= kProcessIdMax; ++pid) {
    if (raw::call(SYS_waitid, kOne, static_cast<long>(pid), nullptr, kLook, nullptr) < 0) continue;  // no child
    kill_child(pid);
    ++count;
  }
  return count;
}

/// Kills the children that procfs lists and returns how many there are. Scans all processes of the machine: the
/// kernel's lists of children are optional, and may miss some while others exit.
std::size_t Reaper::kill_listed_children() noexcept {
  const int folder = raw::open_file("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) return 0;
  std::size_t count = 0;
  for (;;) {
    const long size = raw::call(SYS_getdents64, static_cast<long>(folder), entries_, static_cast<long>(kEntriesBytes));
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      // The kernel's struct linux_dirent64: inode, offset, size of this entry, type, name.
      std::uint16_t entry_size = 0;
      raw::copy(&entry_size, entries_ + at + 16, sizeof(entry_size));
      const char* name = entries_ + at + 19;
      if (name[0] >= '1' && name[0] <= '9' && parent_of(name) == self_) {
        kill_child(static_cast<pid_t>(raw::number_at(name, name + 12)));
        ++count;
      }
      at += entry_size;
    }
  }
  raw::close_file(folder);
  return count;
}

pid_t Reaper::parent_of(const char* pid_text) noexcept {
  char path[40];
  raw::copy(path, "/proc/", 6);
  const std::size_t pid_size = raw::length(pid_text);
  if (pid_size > 12) return 0;
  raw::copy(path + 6, pid_text, pid_size);
  raw::copy(path + 6 + pid_size, "/stat", 6);
  const int fd = raw::open_file(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  char text[512];
  const long size = raw::call(SYS_read, static_cast<long>(fd), text, static_cast<long>(sizeof(text)));
  raw::close_file(fd);
  // "PID (NAME) S PARENT": the name may contain anything, but the rest contains no parenthesis.
  long bracket = size - 1;
  while (bracket > 0 && text[bracket] != ')') --bracket;
  if (bracket <= 0 || bracket + 4 >= size) return 0;
  return static_cast<pid_t>(raw::number_at(text + bracket + 4, text + size));
}

void Reaper::kill_child(pid_t pid) noexcept {
  // Signals the whole group atomically, so that its members can't escape by forking.
  const long group = raw::call(SYS_getpgid, static_cast<long>(pid));
  if (group > 1 && group != self_) raw::call(SYS_kill, -group, static_cast<long>(SIGKILL));
  raw::call(SYS_kill, static_cast<long>(pid), static_cast<long>(SIGKILL));
  if (left_size_ + 24 < kLeftBytes) {
    left_[left_size_++] = ' ';
    left_size_ = static_cast<std::size_t>(raw::put_number(left_ + left_size_, pid) - left_);
  }
}

void Reaper::name_those_left() noexcept {
  if (lock_ < 0) return;
  left_[left_size_++] = '\n';
  name_in_lock();
  raw::call(SYS_lseek, static_cast<long>(lock_), 0L, static_cast<long>(SEEK_END));
  raw::call(SYS_write, static_cast<long>(lock_), "left:", 5L);
  raw::call(SYS_write, static_cast<long>(lock_), left_, static_cast<long>(left_size_));
}

}  // namespace

void reaper_main(const ReaperSetup& setup) noexcept { Reaper(setup).run(); }

}  // namespace pawl
