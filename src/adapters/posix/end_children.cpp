#include "adapters/posix/end_children.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/posix/posix_fd.hpp"

namespace pawl {
namespace {

constexpr useconds_t kBetweenKills_us = 5'000;

/// Returns 0 if it is unknown.
pid_t parent_of_process(std::string_view pid) {
  const PosixFd fd(::open(("/proc/" + std::string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> bytes{};
  const ssize_t got = fd.valid() ? ::read(fd.get(), bytes.data(), bytes.size()) : 0;
  if (got <= 0) return 0;
  // "PID (NAME) S PARENT": the name may contain anything, but the rest contains no parenthesis.
  const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos || bracket + 4 >= text.size()) return 0;
  pid_t parent = 0;
  std::from_chars(text.data() + bracket + 4, text.data() + text.size(), parent);
  return parent;
}

void reap_children() {
  while (true) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
  }
}

/// Asks for every possible process ID whether it is a child. For a machine without procfs.
std::vector<pid_t> children_by_number() {
  constexpr pid_t kProcessIdMax = 4'194'304;  // the kernel's largest
  constexpr int kLook = WNOHANG | WNOWAIT | WEXITED;
  std::vector<pid_t> found;
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, kLook) < 0) return found;  // there are none
  for (pid_t pid = 2; pid <= kProcessIdMax; ++pid) {
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, kLook) == 0) found.push_back(pid);
  }
  return found;
}

}  // namespace

void adopt_orphans() { static_cast<void>(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)); }

/// Scans all processes of the machine, because the kernel's lists of children are optional.
std::vector<pid_t> own_children() {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (folder == nullptr || parent_of_process("self") == 0) return children_by_number();
  const pid_t self = ::getpid();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a folder stream of its own
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name.front() < '1' || name.front() > '9' || parent_of_process(name) != self) continue;
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid > 1) found.push_back(pid);
  }
  return found;
}

bool end_children(const std::vector<pid_t>& spared, std::uint64_t wait_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (true) {
    reap_children();
    std::vector<pid_t> left = own_children();
    std::erase_if(left, [&](pid_t pid) { return std::ranges::find(spared, pid) != spared.end(); });
    if (left.empty()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);  // not reaped yet, so the process id can't have been reused
    ::usleep(kBetweenKills_us);
  }
}

}  // namespace pawl
