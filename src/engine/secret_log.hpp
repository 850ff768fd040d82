// Logs of an encrypted run: frames of a length (4 bytes, little-endian) and sealed bytes, each bound to its file and
// offset.
#pragma once

#include <memory>
#include <string>

#include "engine/output_file.hpp"
#include "ports/log_cipher.hpp"

namespace pawl {

/// Opens files below `folder`, the folder of the run. `files` must outlive them.
[[nodiscard]] OpenOutputFile secret_output_files(LocalFiles& files, std::shared_ptr<LogCipher> cipher,
                                                 std::string folder);

/// Reads plain or encrypted logs. Not thread-safe.
class LogReader {
 public:
  /// `cipher` is null for plain logs.
  LogReader(LocalFiles& files, std::shared_ptr<LogCipher> cipher, std::string folder);

  /// Returns about `bytes_max` bytes from `offset` on, and advances `offset`. Ignores a frame that is still being
  /// written.
  Result<std::string> read(const std::string& path, std::uint64_t& offset, std::uint64_t bytes_max);

 private:
  LocalFiles& files_;
  const std::shared_ptr<LogCipher> cipher_;
  const std::string folder_;
};

}  // namespace pawl
