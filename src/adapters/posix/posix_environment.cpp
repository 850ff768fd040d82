#include "adapters/posix/posix_environment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include "adapters/posix/posix_fd.hpp"
#include "base/assert.hpp"
#include "base/process_bound.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;

std::int64_t read_clock_us(clockid_t clock) {
  timespec time{};
  PAWL_ASSERT(::clock_gettime(clock, &time) == 0);
  return std::int64_t{time.tv_sec} * kMicrosPerSecond + time.tv_nsec / 1000;
}

/// Reads a small file of /proc, without its last line break. Empty if it can't be read.
std::string read_text(const std::string& path) {
  const PosixFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 1024> piece{};
  while (file.valid()) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string read_boot_id() { return read_text("/proc/sys/kernel/random/boot_id"); }

std::string read_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) < 0) return {};
  return name.data();
}

/// Returns the name of the effective user, or the user id if there is no name.
std::string read_user() {
  constexpr std::size_t kBufferBytes = 16U << 10U;
  std::vector<char> buffer(kBufferBytes);
  passwd entry{};
  passwd* found = nullptr;
  const uid_t user = ::geteuid();
  if (::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return fmt::format("uid {}", user);
}

std::optional<ProcessStat> stat_of(std::string_view process) {
  return parse_process_stat(read_text(fmt::format("/proc/{}/stat", process)));
}

}  // namespace

Timestamp storable_time(std::int64_t us) {
  // Records have room for four digits of a year. A clock beyond that is wrong, and must not make a run unreadable.
  constexpr std::int64_t kLastUs = 253'402'300'799'999'999;  // the end of 9999
  return Timestamp{std::clamp<std::int64_t>(us, 0, kLastUs)};
}

Timestamp SystemClock::now() { return storable_time(read_clock_us(CLOCK_REALTIME)); }

std::int64_t SystemClock::monotonic_us() { return read_clock_us(CLOCK_MONOTONIC); }

std::int64_t SystemClock::since_boot_us() { return read_clock_us(CLOCK_BOOTTIME); }

void SystemClock::sleep_us(std::int64_t duration_us) {
  if (duration_us <= 0) return;
  const std::int64_t until_us = monotonic_us() + duration_us + 1;  // + 1: the reading was rounded down
  timespec until{};
  until.tv_sec = until_us / kMicrosPerSecond;
  until.tv_nsec = (until_us % kMicrosPerSecond) * 1000;
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::uint64_t SystemRandom::next() {
  const Lock lock(mutex_);
  // A forked child has a copy of the block and must not repeat its parent's numbers.
  if (used_ == kBlock || generation_ != fork_generation()) refill();
  return block_[used_++];
}

void SystemRandom::refill() {
  auto* at = reinterpret_cast<char*>(block_.data());
  std::size_t left = sizeof(block_);
  while (left > 0) {
    const ssize_t got = ::getrandom(at, left, 0);
    PAWL_ASSERT(got > 0 || errno == EINTR);
    if (got <= 0) continue;
    at += got;
    left -= static_cast<std::size_t>(got);
  }
  used_ = 0;
  generation_ = fork_generation();
}

// "1234 (any (name) here) S 1 ...": the name may contain spaces and parentheses, so fields are counted from the last
// ')'. The state is field 3, the start time field 22.
std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const auto end_of_name = text.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(end_of_name + 1);
  ProcessStat stat;
  for (int field = 3; field <= 22; ++field) {
    if (rest.size() < 2 || rest.front() != ' ') return std::nullopt;
    rest.remove_prefix(1);
    const std::string_view value = rest.substr(0, rest.find(' '));
    rest.remove_prefix(value.size());
    if (field == 3 && value.size() != 1) return std::nullopt;
    if (field == 3) stat.state = value.front();
    if (field != 22) continue;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), stat.started);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  }
  return stat;
}

Owner current_owner() {
  Owner owner;
  owner.boot_id = read_boot_id();
  owner.pid = static_cast<std::uint64_t>(::getpid());
  owner.started = stat_of("self").value_or(ProcessStat{}).started;
  owner.host = read_host();
  owner.program = read_text("/proc/self/comm");
  owner.user = read_user();
  return owner;
}

Environment system_environment() {
  struct Ports {
    SystemClock clock;
    SystemRandom random;
  };
  auto ports = std::make_shared<Ports>();
  return Environment{&ports->clock, &ports->random, current_owner(), ports};
}

}  // namespace pawl
