// Outputs of commands without the secrets in them, as a port.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// `text` with every secret replaced by ***. Empty secrets are none; longer ones go first.
[[nodiscard]] std::string masked(std::string text, const std::vector<std::string>& secrets);

/// Thread-safe.
class OutputMask {
 public:
  virtual ~OutputMask() = default;
  /// A path for a command to write to, whose bytes arrive masked in the file `path`. Never a secret reaches the disk.
  [[nodiscard]] virtual Result<std::string> open(const std::string& path, const std::vector<std::string>& secrets) = 0;
  /// What was written to `path` until now is in the file when it returns. Who still holds it may go on writing.
  virtual void drain(const std::string& path) = 0;
};

}  // namespace pawl
