// Messages to a run: decisions on its gates, signals and cancel requests. Each is put into the run's inbox and is
// durable when the function returns. The run's owner acts on it now or after the next resume.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/execution_services.hpp"

namespace pawl {

struct GateDecision {
  GateAnswer answer = GateAnswer::approve;  // or reject
  std::string step = {};                    // the path of a gate or, for a gate in a child run, of the calling step
  std::string by = {};
  std::string comment = {};
};

/// The process that will act on a message.
struct Recipient {
  std::optional<std::string> owner = {};  // who executes the run now, for messages
  std::string resume = {};                // otherwise: the topmost run, which must be resumed
};

struct Decided {
  Gate gate = {};
  Recipient to = {};
};

/// Without a step, decides on the only gate of the run, or on the only one of its children if it has none. Fails with
/// not_waiting if there is no such gate or it was already decided on, and with usage if several are waiting.
[[nodiscard]] Result<Decided> decide(Store& store, Clock& clock, const RunId& run, const GateDecision& decision);

/// The signal is kept until a step waits for it, and consumed once. Fails with run_ended.
[[nodiscard]] Result<Recipient> send_signal(Store& store, Clock& clock, const RunId& run, const std::string& name,
                                            const Json& payload);

struct Cancelled {
  bool asked = false;  // true: its owner was asked to cancel it; false: it is cancelled
  std::string owner = {};
  std::vector<std::string> runs = {};  // runs that were cancelled here, children first
};

/// Asks the run's owner. Without an owner, marks the run and its children as cancelled. Fails with run_ended.
[[nodiscard]] Result<Cancelled> cancel_run(Store& store, Clock& clock, const RunId& run, const std::string& reason,
                                           std::uint64_t state_bytes_max);

/// Whether nothing can continue the run: it is completed or was cancelled.
[[nodiscard]] bool is_ended(RunStatus status);
/// Returns the error that says how the run ended.
[[nodiscard]] Error run_ended_error(const RunState& state, const RunId& run);

/// Returns what the run is doing, for messages: "is completed", "waits for signal 'go'", "runs gather".
[[nodiscard]] std::string doing_text(const RunState& state);

}  // namespace pawl
