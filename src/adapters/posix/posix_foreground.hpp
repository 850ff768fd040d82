// The foreground port on Linux, in this program's own process group. Only for a program without threads.
#pragma once

#include "ports/foreground.hpp"

namespace pawl {

/// The command stays in this program's process group, so that it can read from the terminal. A signal from
/// the terminal reaches it directly; other signals are forwarded.
///
/// A second process, the keeper, runs between the two. Program and keeper each adopt their orphaned descendants: if one
/// is killed, the other kills everything that is left. If both are killed, `end_left` of the next call does so.
class PosixForeground final : public Foreground {
 public:
  Result<ForegroundEnd> run(const ForegroundSpec& spec) override;
  Result<std::unique_ptr<StepLock>> lock(const std::string& path) override;
  Result<void> end_left(const std::string& entry) override;
};

}  // namespace pawl
