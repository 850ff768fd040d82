// Buffered output of a command. Write errors are reported by `flush`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl::cli {

/// Buffered. Not thread-safe.
class Output {
 public:
  /// Writes all bytes and returns 0, or an errno.
  using Writer = std::function<int(std::string_view)>;

  /// `name` is used in messages: "standard output".
  Output(std::string name, Writer writer) : name_(std::move(name)), writer_(std::move(writer)) {}

  /// Never fails itself: the first error is kept, and everything after it is dropped.
  void write(std::string_view bytes);
  /// Writes the buffer. Fails if any write since the beginning has failed (disk_full,
  /// write_failed), and keeps failing.
  Result<void> flush();

 private:
  void send();

  std::string name_;
  Writer writer_;
  std::string buffer_;
  int os_error_ = 0;
};

}  // namespace pawl::cli
