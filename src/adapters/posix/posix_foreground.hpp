// The foreground port on Linux, in this program's own process group. Only for a program without threads.
#pragma once

#include "ports/foreground.hpp"

namespace pawl {

/// The command stays in this program's process group, so that it can read from the terminal. A signal that
/// the terminal sent has reached it already; others are passed on.
///
/// A second process, the keeper, stands between the two. Each of the two adopts what loses its parent below it: should
/// one be killed, the other ends everything that is left. If both are, `end_left` of the next call does.
class PosixForeground final : public Foreground {
 public:
  Result<ForegroundEnd> run(const ForegroundSpec& spec) override;
  Result<std::unique_ptr<StepLock>> lock(const std::string& path) override;
  bool is_locked(const std::string& path) override;
  Result<void> end_left(const std::string& entry) override;
};

}  // namespace pawl
