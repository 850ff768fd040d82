#include "adapters/posix/output_pipes.hpp"

#include <fcntl.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>

namespace pawl {
namespace {

constexpr std::size_t kBlockBytes = 1U << 20U;      // maximum size of one read
constexpr std::size_t kPlainPipeBytes = 64U << 10;  // default size of a pipe
constexpr int kEventsMax = 64;

/// Each command has two streams. Stream 0 is standard output, or both outputs together.
std::uint64_t key_of(ProcessRunner::Number number, unsigned stream) { return number * 2 + stream; }

}  // namespace

OutputPipes::OutputPipes() : watcher_(::epoll_create1(EPOLL_CLOEXEC)) {}

OutputPipes::WritingEnds OutputPipes::add(ProcessRunner::Number number, const ProcessSpec& spec) {
  WritingEnds ends;
  if (spec.output != nullptr) {
    ends.output = open(key_of(number, 0), spec.output);
    if (ends.output < 0) ends.os_error = errno;
  }
  if (spec.errors == nullptr || ends.os_error != 0) return ends;
  ends.errors = spec.errors == spec.output ? ends.output : open(key_of(number, 1), spec.errors);
  if (ends.errors < 0) ends.os_error = errno;
  return ends;
}

/// Returns the writing end, or -1 and sets errno.
int OutputPipes::open(std::uint64_t key, const std::shared_ptr<OutputSink>& sink) {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return -1;
  auto stream = std::make_unique<Stream>();
  stream->reading = PosixFd(fds[0]);
  stream->writing = PosixFd(fds[1]);
  stream->sink = sink;
  // Only the reading end: a command does not expect its output to be non-blocking.
  if (::fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) return -1;
  {
    const Lock lock(mutex_);
    streams_[key] = std::move(stream);
  }
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.u64 = key;
  if (::epoll_ctl(watcher_.get(), EPOLL_CTL_ADD, fds[0], &wanted) != 0) return -1;
  return fds[1];
}

OutputPipes::Stream* OutputPipes::find(std::uint64_t key) {
  const Lock lock(mutex_);
  const auto found = streams_.find(key);
  return found == streams_.end() ? nullptr : found->second.get();
}

OutputPipes::Told OutputPipes::read_once(Stream& stream, std::size_t& size) {
  if (block_ == nullptr) block_ = std::make_unique_for_overwrite<char[]>(kBlockBytes);
  ssize_t got = 0;
  do {
    got = ::read(stream.reading.get(), block_.get(), kBlockBytes);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return got == 0 ? Told::end : Told::nothing_yet;
  size += static_cast<std::size_t>(got);
  stream.sink->write(std::string_view(block_.get(), static_cast<std::size_t>(got)));
  if (!stream.is_wide && static_cast<std::size_t>(got) >= kPlainPipeBytes) {
    // The command prints faster than it is read. If the user's limit for pipe memory is reached, the pipe stays as it
    // is.
    stream.is_wide = true;
    static_cast<void>(::fcntl(stream.reading.get(), F_SETPIPE_SZ, static_cast<int>(kBlockBytes)));
  }
  return Told::some;
}

void OutputPipes::read_some() {
  std::array<epoll_event, kEventsMax> events{};
  const int count = ::epoll_wait(watcher_.get(), events.data(), kEventsMax, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events[static_cast<std::size_t>(i)].data.u64;
    Stream* stream = find(key);
    std::size_t size = 0;
    if (stream != nullptr && read_once(*stream, size) == Told::end) forget(key);
  }
}

/// Reads what was in the pipe at the start, but not what is added meanwhile, because that might never end.
void OutputPipes::drain(std::uint64_t key) {
  Stream* stream = find(key);
  if (stream == nullptr) return;
  stream->writing = PosixFd();
  std::size_t size = 0;
  Told told = read_once(*stream, size);
  if (told == Told::some) {
    const int capacity = ::fcntl(stream->reading.get(), F_GETPIPE_SZ);
    while (told == Told::some && size < static_cast<std::size_t>(capacity)) told = read_once(*stream, size);
  }
  if (told == Told::end) return forget(key);
  stream->sink->settle();
}

void OutputPipes::forget(std::uint64_t key) {
  std::unique_ptr<Stream> stream;
  {
    const Lock lock(mutex_);
    const auto found = streams_.find(key);
    if (found == streams_.end()) return;
    stream = std::move(found->second);
    streams_.erase(found);
  }
  // Closing is not enough: a process that this program forked may have a copy of the descriptor, and epoll would keep
  // watching it.
  ::epoll_ctl(watcher_.get(), EPOLL_CTL_DEL, stream->reading.get(), nullptr);
  stream->sink->close();
}

void OutputPipes::ended(ProcessRunner::Number number) {
  drain(key_of(number, 0));
  drain(key_of(number, 1));
}

void OutputPipes::close() {
  std::vector<std::uint64_t> keys;
  {
    const Lock lock(mutex_);
    for (const auto& [key, stream] : streams_) keys.push_back(key);
  }
  for (const std::uint64_t key : keys) {
    drain(key);
    forget(key);
  }
}

}  // namespace pawl
