// Removes a temporary file if the user ends the process.
#pragma once

#include <string>

namespace pawl {

/// While it exists, SIGINT, SIGTERM and SIGHUP remove the file before they end the process. Signals that are ignored or
/// handled otherwise stay so. Only one object at a time has an effect.
class RemoveOnSignal {
 public:
  /// `path` must be absolute, unless the working directory stays the same.
  explicit RemoveOnSignal(const std::string& path);
  RemoveOnSignal(const RemoveOnSignal&) = delete;
  RemoveOnSignal& operator=(const RemoveOnSignal&) = delete;
  ~RemoveOnSignal();

 private:
  bool is_active_ = false;
};

}  // namespace pawl
