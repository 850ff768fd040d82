#include "adapters/posix/reaper_start.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "adapters/posix/reaper_raw.hpp"

namespace pawl {
namespace {

constexpr std::size_t kStackBytes = 256U << 10U;
constexpr std::size_t kPathBytesMax = 4096;

struct Child {
  const StartedCommand& command;
  StartFailure& failure;
  pid_t reaper;
};

[[noreturn]] void give_up(const Child& child, StartStep step, long os_error) noexcept {
  child.failure.step = step;
  child.failure.os_error = static_cast<int>(os_error);
  raw::exit_now(127);
}

void reset_signals() noexcept {
  // The kernel's struct sigaction: the handler first, then flags, restorer and mask. All zeros is SIG_DFL.
  const std::uint64_t standard[4] = {};
  for (const int signal : kReaperIgnores) {
    raw::call(SYS_rt_sigaction, static_cast<long>(signal), standard, nullptr, 8L);
  }
  const std::uint64_t none = 0;
  raw::call(SYS_rt_sigprocmask, static_cast<long>(SIG_SETMASK), &none, nullptr, 8L);
}

/// Standard input stays that of the reaper, /dev/null.
void take_streams(const Child& child) noexcept {
  const int streams[] = {child.command.output, child.command.errors};
  for (long i = 0; i < 2; ++i) {
    if (streams[i] < 0) continue;
    const long r = raw::call(SYS_dup3, static_cast<long>(streams[i]), i + 1, 0L);
    if (r < 0) give_up(child, StartStep::streams, -r);
  }
}

const char* search_path_of(char** environment) noexcept {
  for (char** variable = environment; *variable != nullptr; ++variable) {
    const char* text = *variable;
    if (text[0] == 'P' && text[1] == 'A' && text[2] == 'T' && text[3] == 'H' && text[4] == '=') return text + 5;
  }
  return "/bin:/usr/bin";
}

/// Like execvpe, but a file that is neither a binary nor starts with #! is not run by a shell. Returns only on failure,
/// with the errno.
long run_program(const StartedCommand& command) noexcept {
  const char* name = command.arguments[0];
  bool has_slash = false;
  for (const char* c = name; *c != '\0'; ++c) has_slash = has_slash || *c == '/';
  if (has_slash) return -raw::call(SYS_execve, name, command.arguments, command.environment);

  const std::size_t name_size = raw::length(name) + 1;
  char candidate[kPathBytesMax];
  bool was_denied = false;
  for (const char* folder = search_path_of(command.environment);; ++folder) {
    const char* end = folder;
    while (*end != '\0' && *end != ':') ++end;
    const auto size = static_cast<std::size_t>(end - folder);
    if (size + 1 + name_size <= kPathBytesMax) {
      raw::copy(candidate, folder, size);
      candidate[size] = '/';
      raw::copy(candidate + size + (size > 0 ? 1 : 0), name, name_size);  // an empty part means the working directory
      const long error = -raw::call(SYS_execve, candidate, command.arguments, command.environment);
      if (error == EACCES) was_denied = true;
      const bool goes_on = error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE ||
                           error == ENODEV || error == ETIMEDOUT;
      if (!goes_on) return error;
    }
    if (*end == '\0') break;
    folder = end;
  }
  return was_denied ? EACCES : ENOENT;
}

/// Runs in the child, which shares the reaper's memory until execve.
int child_main(void* pointer) noexcept {
  const Child& child = *static_cast<Child*>(pointer);
  raw::call(SYS_setpgid, 0L, 0L);
  raw::call(SYS_prctl, static_cast<long>(PR_SET_PDEATHSIG), static_cast<long>(SIGKILL), 0L, 0L, 0L);
  if (raw::call(SYS_getppid) != child.reaper) raw::exit_now(127);  // the reaper died before the prctl call
  take_streams(child);
  if (const long r = raw::call(SYS_chdir, child.command.folder); r < 0) give_up(child, StartStep::folder, -r);
  reset_signals();
  give_up(child, StartStep::program, run_program(child.command));
}

}  // namespace

bool StartMemory::make() noexcept {
  // Shared, so that it works whether the child shares all memory or has a copy.
  failure = static_cast<StartFailure*>(raw::map_memory(sizeof(StartFailure), MAP_SHARED));
  auto* stack = static_cast<char*>(raw::map_memory(kStackBytes, MAP_PRIVATE));
  if (failure == nullptr || stack == nullptr) return false;
  stack_end = stack + kStackBytes;
  return true;
}

pid_t start_command(const StartedCommand& command, const StartMemory& memory) noexcept {
  *memory.failure = {};
  Child child{command, *memory.failure, static_cast<pid_t>(raw::call(SYS_getpid))};
#if defined(PAWL_THREAD_SANITIZER)
  // ThreadSanitizer's clone() takes locks that may be held by a thread that does not exist in this process.
  long pid = raw::call(SYS_clone, static_cast<long>(CLONE_VFORK | SIGCHLD), nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) child_main(&child);
#else
  // Like vfork, but with its own stack. Copying is avoided because the reaper's address space is as large as that of
  // the program.
  long pid = ::clone(child_main, memory.stack_end, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  if (pid < 0) pid = -errno;
#endif
  if (pid < 0) {
    *memory.failure = {StartStep::process, static_cast<int>(-pid)};
    return 0;
  }
  if (memory.failure->step == StartStep::none) return static_cast<pid_t>(pid);
  int status = 0;
  while (raw::call(SYS_wait4, pid, &status, 0L, nullptr) == -EINTR) {
  }
  return 0;
}

}  // namespace pawl
