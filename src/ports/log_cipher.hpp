// Keeps what the steps of an encrypted run print secret, as a port: only the store has the key.
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

  /// Encrypted for this place: a file of the run's folder, and an offset in it.
  [[nodiscard]] virtual Result<std::string> seal(std::string_view bytes, std::string_view file,
                                                 std::uint64_t offset) = 0;
  /// decryption_failed where it was changed, or stood elsewhere.
  [[nodiscard]] virtual Result<std::string> open(std::string_view sealed, std::string_view file,
                                                 std::uint64_t offset) = 0;
};

}  // namespace pawl
