// The core of the engine: what happens in a run, as a pure function of its state, a fact and the time.
//
// The machine decides, and does nothing itself. What it decided is a list of records, which the command Save contains;
// commands that depend on them come out only when they are durable. A run continues after a crash by
//   State s = restore(definition, state);             // the newest durable one, see snapshot.hpp
//   step(s, fact::AttemptLeft{...}, now);             // for each report that an attempt left behind
//   step(s, fact::RunResumed{...}, now);
// and goes through the same decisions as before the crash.
//
// Thread-compatible: all calls for one state come from one thread at a time.
#pragma once

#include <vector>

#include "machine/apply.hpp"
#include "machine/facts.hpp"

namespace pawl::machine {

/// Takes the state to the one after `fact`. `now` must not go back. Facts about a node, attempt or timer that no longer
/// exists have no effect.
[[nodiscard]] std::vector<Command> step(State& s, const Fact& fact, Timestamp now);

/// Returns what the run waits for, for people: "approval of review", "signal 'go' for release". Empty if it is running.
[[nodiscard]] std::vector<std::string> waiting_for(const State& s);

/// Returns whether only a resume lets a waiting run continue: it is at a breakpoint, or over its budget.
[[nodiscard]] bool is_paused(const State& s);
/// Returns whether this confidence of an attempt crosses the threshold of its step.
[[nodiscard]] bool crosses(const Node& node, double confidence);
/// Returns whether what was used reaches the budget. No step starts then.
[[nodiscard]] bool over_budget(const State& s);

}  // namespace pawl::machine
