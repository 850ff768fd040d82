// What others say to a run: decisions on its gates, signals, the wish to cancel it. Each is a message in the
// run's inbox, durable when the function returns; the run's owner acts on it, now or when it is resumed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/execution.hpp"

namespace pawl {

/// The gates of this run that wait, by its newest state; behind them those of its child runs that have not ended.
[[nodiscard]] Result<std::vector<Gate>> waiting_gates(Store& store, const RunId& run);

struct GateDecision {
  GateAnswer answer = GateAnswer::approve;  // or reject
  std::string step = {};  // a gate's path; or, for one of a child run, the path of the step that called it
  std::string by = {};
  std::string comment = {};
};

/// Who will act on a message.
struct Recipient {
  std::optional<std::string> owner = {};  // who executes the run now, for people
  std::string resume = {};                // else: the run to resume, the topmost one
};

struct Decided {
  Gate gate = {};
  Recipient to = {};
};

/// Without a step: the run's only gate; where it has none, its children's only one. Refuses with not_waiting where
/// there is no such gate or it has been decided on already, with usage where several wait.
[[nodiscard]] Result<Decided> decide(Store& store, const RunId& run, const GateDecision& decision);

/// Kept until a step waits for it, and consumed once. Refuses with run_ended.
[[nodiscard]] Result<Recipient> send_signal(Store& store, const RunId& run, const std::string& name,
                                            const Json& payload);

struct Cancelled {
  bool asked = false;  // its owner was asked to; else it is done
  std::string owner = {};
  std::vector<std::string> runs = {};  // that were cancelled here, children first
};

/// Asks the run's owner; where there is none, marks the run and its children cancelled itself. Refuses with run_ended.
[[nodiscard]] Result<Cancelled> cancel_run(Store& store, const RunId& run, const std::string& reason,
                                           std::uint64_t state_bytes_max);

/// What the run is doing, for people: "is completed", "waits for signal 'go'", "runs gather".
[[nodiscard]] std::string doing_text(const RunState& state);

}  // namespace pawl
