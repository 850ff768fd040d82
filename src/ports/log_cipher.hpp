// Encryption of the output of steps of an encrypted run, as a port. Only the store has the key.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Thread-safe.
class LogCipher {
 public:
  LogCipher() = default;
  LogCipher(const LogCipher&) = delete;
  LogCipher& operator=(const LogCipher&) = delete;
  virtual ~LogCipher() = default;

  /// Encrypts for this place: a file in the folder of the run, and an offset in it.
  [[nodiscard]] virtual Result<std::string> seal(std::string_view bytes, std::string_view file,
                                                 std::uint64_t offset) = 0;
  /// Fails with decryption_failed if it was modified or moved.
  [[nodiscard]] virtual Result<std::string> open(std::string_view sealed, std::string_view file,
                                                 std::uint64_t offset) = 0;
};

}  // namespace pawl
