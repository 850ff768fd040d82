// Passes signals of this process to a function, on a separate thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "service/workflow_world.hpp"

namespace pawl {

/// Decides which signals to stop are requests of their own. Not thread-safe.
///
/// One request may arrive twice: `timeout` signals its child and then its whole group, and programs in between pass on
/// what a terminal has already sent to everybody. The same signal again within 200 ms is therefore the same request,
/// unless the kernel sent both: each is then a key that was pressed.
class SignalRequests {
 public:
  static constexpr std::int64_t kSameRequest_us = 200'000;
  enum class Sender : std::uint8_t { kernel, process };

  [[nodiscard]] bool is_new(int signal, Sender sender, std::int64_t monotonic_us);

 private:
  struct Seen {
    Sender sender = Sender::process;
    std::int64_t at_us = 0;
  };
  std::map<int, Seen> seen_;
};

/// Blocks SIGINT, SIGTERM, SIGHUP and SIGUSR1 in the calling thread and all threads that it starts, and passes requests
/// to `on_signal` until the watch is destroyed. Those of the first three that are ignored when the watch is created, as
/// by nohup or in background jobs of a shell, stay ignored. Only one watch per process.
[[nodiscard]] std::unique_ptr<SignalWatch> watch_signals(std::function<void(int)> on_signal);

/// Returns the resident memory of this process in bytes, or 0 if unknown.
[[nodiscard]] std::uint64_t resident_bytes();

}  // namespace pawl
