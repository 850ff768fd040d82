// The pipes through which commands print.
//
// This program keeps a writing end of each pipe until the command's end is reported: so a pipe becomes readable by
// what is printed alone, and a silent command wakes nobody up.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "adapters/posix/posix_fd.hpp"
#include "base/mutex.hpp"
#include "ports/process_runner.hpp"

namespace pawl {

/// add() is for any thread, the rest for the one that waits.
class OutputPipes {
 public:
  /// Of a command; -1: nobody wants it. Valid until the command's end is told here.
  struct WritingEnds {
    int output = -1;
    int errors = -1;
    int os_error = 0;  // why they could not be made
  };

  /// Not watched where it can't be made (`descriptor` is -1): then everything waits for the command's end.
  OutputPipes();

  /// Becomes readable when a pipe does.
  [[nodiscard]] int descriptor() const { return watcher_.get(); }
  [[nodiscard]] WritingEnds add(ProcessRunner::Number number, const ProcessSpec& spec);
  /// Reads once from each pipe that has something.
  void read_some();
  /// The command has ended: hands over all that it has printed. A pipe that something else still holds is read on.
  void ended(ProcessRunner::Number number);
  /// Hands over what is left, and closes everything.
  void close();

 private:
  struct Stream {
    PosixFd reading;
    PosixFd writing;
    std::shared_ptr<OutputSink> sink;
    bool is_wide = false;  // it has been given a larger pipe
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
