#include "adapters/posix/posix_output_mask.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "adapters/posix/posix_error.hpp"

namespace pawl {
namespace {

constexpr std::size_t kBlock = 64U << 10;

}  // namespace

Result<std::unique_ptr<PosixOutputMask>> PosixOutputMask::start() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail(posix_error(PosixCall::open_created, errno, "pipe"));
  std::unique_ptr<PosixOutputMask> mask(new PosixOutputMask(PosixFd(fds[0]), PosixFd(fds[1])));
  mask->thread_ = std::thread([raw = mask.get()] { raw->run(); });
  return mask;
}

PosixOutputMask::PosixOutputMask(PosixFd wake_reading, PosixFd wake_writing)
    : wake_reading_(std::move(wake_reading)), wake_writing_(std::move(wake_writing)) {}

PosixOutputMask::~PosixOutputMask() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    for (auto& [path, pipe] : pipes_) {
      while (read_some(pipe)) {
      }
      write_all(pipe, true);
      ::unlink(pipe.fifo.c_str());
    }
  }
  static_cast<void>(::write(wake_writing_.get(), "x", 1));
  thread_.join();
}

Result<std::string> PosixOutputMask::open(const std::string& path, const std::vector<std::string>& secrets) {
  const Lock lock(mutex_);
  Pipe pipe;
  pipe.fifo = path + ".pipe";
  ::unlink(pipe.fifo.c_str());
  if (::mkfifo(pipe.fifo.c_str(), 0600) != 0) return fail(posix_error(PosixCall::open_created, errno, pipe.fifo));
  pipe.reading = PosixFd(::open(pipe.fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  pipe.keeping = PosixFd(::open(pipe.fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  pipe.file = PosixFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!pipe.reading.valid() || !pipe.keeping.valid() || !pipe.file.valid())
    return fail(posix_error(PosixCall::open_created, errno, path));
  pipe.secrets = secrets;
  for (const std::string& secret : secrets) pipe.longest = std::max(pipe.longest, secret.size());
  std::string fifo = pipe.fifo;
  pipes_.insert_or_assign(path, std::move(pipe));
  static_cast<void>(::write(wake_writing_.get(), "x", 1));
  return fifo;
}

bool PosixOutputMask::read_some(Pipe& pipe) {
  std::string block(kBlock, '\0');
  const ssize_t n = ::read(pipe.reading.get(), block.data(), block.size());
  if (n <= 0) return false;
  block.resize(static_cast<std::size_t>(n));
  pipe.kept += block;
  write_all(pipe, false);
  return true;
}

/// Keeps back what may be the beginning of a secret, unless everything is wanted.
void PosixOutputMask::write_all(Pipe& pipe, bool everything) {
  std::string text = masked(std::move(pipe.kept), pipe.secrets);
  const std::size_t back = everything || pipe.longest == 0 ? 0 : std::min(text.size(), pipe.longest - 1);
  pipe.kept = text.substr(text.size() - back);
  text.resize(text.size() - back);
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::write(pipe.file.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // a full disk: logs are not needed to resume
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

void PosixOutputMask::drain(const std::string& path) {
  const Lock lock(mutex_);
  const auto found = pipes_.find(path);
  if (found == pipes_.end()) return;
  while (read_some(found->second)) {
  }
  write_all(found->second, true);
  ::unlink(found->second.fifo.c_str());
  pipes_.erase(found);
}

void PosixOutputMask::run() {
  while (true) {
    std::vector<pollfd> polled{{wake_reading_.get(), POLLIN, 0}};
    {
      const Lock lock(mutex_);
      if (stopping_) return;
      for (const auto& [path, pipe] : pipes_) polled.push_back({pipe.reading.get(), POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), 1'000);
    std::array<char, 64> woken{};
    while (::read(wake_reading_.get(), woken.data(), woken.size()) > 0) {
    }
    const Lock lock(mutex_);
    if (stopping_) return;
    for (auto& [path, pipe] : pipes_) static_cast<void>(read_some(pipe));
  }
}

}  // namespace pawl
