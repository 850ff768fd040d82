// Runs the machine of the engine in a simulated world: scripted processes, a manual clock, a journal that loses what is
// not durable, people, and faults at every port. Everything follows from the plan, the seed and the disturbances.
//
// What must hold, whatever happens:
//   - a recorded completion is never executed again;
//   - the outcome of a finished run is that of the oracle;
//   - `max`, `attempts`, `parallel`, limits and budgets hold over all resumes;
//   - every posted message is consumed or answered before the run ends;
//   - the run ends, or waits for something that has a name;
//   - applying the records gives the state that the machine has;
//   - each cost is counted once.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "machine/machine.hpp"
#include "testing/engine_sim_oracle.hpp"

namespace pawl::engine_sim {

struct Disturbance {
  enum class What : std::uint8_t {
    crash,
    reaper,  // all running processes are lost
    interrupt,
    cancel,
    full_disk,     // saves and starts fail for a while
    failing_sync,  // the outcome of the save in flight is unknown
    no_spawn,      // starts fail for a while
    rollback,      // when the run is not driven next time
    changed,       // a step of the workflow changes before the next resume
    early_signal,
    wrong_decision,
    hopeless_save,
  };
  What what = What::crash;
  std::size_t at = 0;  // after this many facts
};

struct Schedule {
  std::uint64_t seed = 0;
  std::vector<Disturbance> disturbances = {};
};
[[nodiscard]] Schedule random_schedule(std::mt19937_64& random);
[[nodiscard]] std::string to_text(const Schedule& schedule);

struct Ended {
  std::optional<std::string> violation = {};
  std::size_t facts = 0;
  std::size_t attempts = 0;
  std::size_t resumes = 0;
  RunStatus status = RunStatus::running;
  bool compared = false;  // with the oracle's outputs
};
/// Plays the plan until its run has ended. `trace` receives a line per fact and command; it may be empty.
[[nodiscard]] Ended play(const Plan& plan, const Schedule& schedule,
                         const std::function<void(std::string)>& trace = {});

/// Returns a plan and a schedule that still violate something and from which nothing can be removed.
struct Case {
  Plan plan = {};
  Schedule schedule = {};
};
[[nodiscard]] Case shrink(Case failing);

/// The case of a seed.
[[nodiscard]] Case case_of(std::uint64_t seed);

}  // namespace pawl::engine_sim
