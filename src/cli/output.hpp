// Where a command prints. Whether the bytes really went out is known only from `flush`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl::cli {

/// Buffered. Not thread-safe.
class Output {
 public:
  /// Takes all of the bytes and returns 0, or an errno.
  using Writer = std::function<int(std::string_view)>;

  /// `name` is for messages: "standard output".
  Output(std::string name, Writer writer) : name_(std::move(name)), writer_(std::move(writer)) {}

  /// Never fails at once; a failure is kept, and what follows it is dropped.
  void write(std::string_view bytes);
  /// Sends what is buffered. Fails if anything since the beginning could not be written (disk_full,
  /// write_failed), and goes on failing.
  Result<void> flush();

 private:
  void send();

  std::string name_;
  Writer writer_;
  std::string buffer_;
  int os_error_ = 0;
};

}  // namespace pawl::cli
