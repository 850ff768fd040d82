// The foreground port on Linux: fork and exec in this program's own process group.
#pragma once

#include "ports/foreground.hpp"

namespace pawl {

/// The command stays in this program's process group, so that it can read from the terminal. A signal that
/// the terminal sent has reached it already; others are passed on. Should this program be killed, the kernel
/// kills the command; what that has started itself is ended by `end_left` of the next call.
class PosixForeground final : public Foreground {
 public:
  Result<ForegroundEnd> run(const ForegroundSpec& spec) override;
  Result<std::unique_ptr<StepLock>> lock(const std::string& path) override;
  Result<void> end_left(const std::string& entry) override;
};

}  // namespace pawl
