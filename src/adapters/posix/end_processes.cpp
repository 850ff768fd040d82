#include "adapters/posix/end_processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>

#include "adapters/posix/posix_fd.hpp"

namespace pawl {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::size_t kBatch = 256;  // descriptors open at the same time

struct Target {
  LeftProcess process;
  PosixFd fd;
};

/// Returns an empty string if it can't be read.
std::string read_whole(const std::string& path) {
  const PosixFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd.valid()) return text;
  constexpr std::size_t kStep = 32768;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + kStep);
    const ssize_t got = ::read(fd.get(), text.data() + size, kStep);
    text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0 || (got < 0 && errno != EINTR)) return text;
  }
}

bool has_entry(pid_t pid, const std::string& entry) {
  const std::string environment = read_whole(fmt::format("/proc/{}/environ", pid));
  std::string_view rest = environment;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    if (rest.substr(0, end) == entry) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string command_of(pid_t pid) {
  std::string text = read_whole(fmt::format("/proc/{}/cmdline", pid));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  if (text.empty()) text = read_whole(fmt::format("/proc/{}/comm", pid));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool is_this_users(pid_t pid) {
  struct stat status{};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (folder == nullptr) return pids;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a folder stream of its own
  while (const dirent* found = ::readdir(folder.get())) {
    const std::string_view name = found->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size() && pid > 1) pids.push_back(pid);
  }
  return pids;
}

/// Kills up to kBatch processes that have the entry.
std::vector<Target> kill_some(const std::string& entry, pid_t spared) {
  std::vector<Target> killed;
  for (const pid_t pid : all_processes()) {
    if (pid == ::getpid() || pid == spared || !is_this_users(pid) || !has_entry(pid, entry)) continue;
    PosixFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd.valid() && (errno == ESRCH || errno == EINVAL)) continue;  // gone
    // The process id may have been reused before the descriptor was opened. The descriptor now identifies one process.
    if (!has_entry(pid, entry)) continue;
    Target target{{static_cast<std::uint64_t>(pid), command_of(pid)}, std::move(fd)};
    if (target.fd.valid()) ::syscall(SYS_pidfd_send_signal, target.fd.get(), SIGKILL, nullptr, 0);
    killed.push_back(std::move(target));
    if (killed.size() == kBatch) break;
  }
  return killed;
}

/// Removes exited processes from `targets`. Returns when none is left or at the deadline.
void wait_until_gone(std::vector<Target>& targets, SteadyClock::time_point deadline) {
  for (;;) {
    std::vector<pollfd> watched;
    watched.reserve(targets.size());
    for (const Target& target : targets) watched.push_back({target.fd.get(), POLLIN, 0});
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    ::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 1000)));
    std::vector<Target> alive;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (watched[i].revents == 0) alive.push_back(std::move(targets[i]));
    }
    targets = std::move(alive);
    if (targets.empty() || SteadyClock::now() >= deadline) return;
  }
}

}  // namespace

std::string place_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

std::vector<LeftProcess> end_processes_with(const std::string& entry, std::uint64_t wait_ms, pid_t spared) {
  constexpr std::uint64_t kWaitMsMax = 24ULL * 3600 * 1000;
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(std::min(wait_ms, kWaitMsMax));
  for (;;) {
    std::vector<Target> targets = kill_some(entry, spared);
    if (targets.empty()) return {};
    wait_until_gone(targets, deadline);
    if (SteadyClock::now() < deadline) continue;  // processes that they started just before may also have the entry
    std::vector<LeftProcess> left;
    for (Target& target : targets) left.push_back(std::move(target.process));
    if (!left.empty()) return left;
    // All processes that were found have exited, but there is no time to wait for others. Those found now are returned.
    for (Target& target : kill_some(entry, spared)) left.push_back(std::move(target.process));
    return left;
  }
}

}  // namespace pawl
