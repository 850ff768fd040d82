// A file that a user has named for the result of a command, as a port.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Destroying it without `finish` leaves what was there before. Not thread-safe.
class ResultFile {
 public:
  ResultFile() = default;
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;
  virtual ~ResultFile() = default;

  virtual Result<void> write(std::string_view bytes) = 0;
  /// Makes the file durable and gives it its name.
  virtual Result<void> finish() = 0;
};

}  // namespace pawl
