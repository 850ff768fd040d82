// The pipes for the output of commands.
//
// This program keeps a writing end of each pipe open until the command is reported as finished. A pipe therefore
// becomes readable only when something is printed, and a silent command wakes nobody up.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "adapters/posix/posix_fd.hpp"
#include "base/mutex.hpp"
#include "ports/process_runner.hpp"

namespace pawl {

/// Any thread may call add(). Only the waiting thread may call the rest.
class OutputPipes {
 public:
  /// The writing ends for a command; -1: output is discarded. Valid until `ended` is called for the command.
  struct WritingEnds {
    int output = -1;
    int errors = -1;
    int os_error = 0;  // why they could not be created
  };

  /// If the watcher can't be created, `descriptor` is -1 and output is read only when the command has finished.
  OutputPipes();

  /// Becomes readable when a pipe does.
  [[nodiscard]] int descriptor() const { return watcher_.get(); }
  [[nodiscard]] WritingEnds add(ProcessRunner::Number number, const ProcessSpec& spec);
  /// Reads once from each readable pipe.
  void read_some();
  /// Delivers everything that a finished command has printed. Continues to read a pipe that another process still
  /// holds.
  void ended(ProcessRunner::Number number);
  /// Delivers the remaining output and closes everything.
  void close();

 private:
  struct Stream {
    PosixFd reading;
    PosixFd writing;
    std::shared_ptr<OutputSink> sink;
    bool is_wide = false;  // the pipe was enlarged
  };
  enum class Told : std::uint8_t { some, nothing_yet, end };

  [[nodiscard]] int open(std::uint64_t key, const std::shared_ptr<OutputSink>& sink);
  [[nodiscard]] Stream* find(std::uint64_t key);
  [[nodiscard]] Told read_once(Stream& stream, std::size_t& size);
  void drain(std::uint64_t key);
  void forget(std::uint64_t key);

  const PosixFd watcher_;  // an epoll
  std::unique_ptr<char[]> block_;

  Mutex mutex_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Stream>> streams_ PAWL_GUARDED_BY(mutex_);
};

}  // namespace pawl
