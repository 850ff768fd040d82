// Logs of an encrypted run: frames of `length (4 bytes, little-endian), sealed bytes`, each bound to its file and
// offset.
#pragma once

#include <memory>
#include <string>

#include "engine/output_file.hpp"
#include "ports/log_cipher.hpp"

namespace pawl {

/// Files below `folder`, which is the run's. `files` outlives what it makes.
[[nodiscard]] OpenOutputFile secret_output_files(LocalFiles& files, std::shared_ptr<LogCipher> cipher,
                                                 std::string folder);

/// Reads logs as they are, or decrypts them. Not thread-safe.
class LogReader {
 public:
  /// `cipher` null: the logs are plain.
  LogReader(LocalFiles& files, std::shared_ptr<LogCipher> cipher, std::string folder);

  /// What stands in the file from `offset` on, at most about `bytes_max`; `offset` becomes that of what follows. A
  /// frame that is still being written is not there yet.
  Result<std::string> read(const std::string& path, std::uint64_t& offset, std::uint64_t bytes_max);

 private:
  LocalFiles& files_;
  const std::shared_ptr<LogCipher> cipher_;
  const std::string folder_;
};

}  // namespace pawl
