// What happens in a run, told while it happens: the same facts that stand in its events.
#pragma once

#include <pawl/types.hpp>
#include <string>

#include "base/json.hpp"

namespace pawl {

/// How many events are read from a store at once.
inline constexpr std::size_t kEventsPage = 4'096;

struct RunEvent {
  std::string run;
  std::string type;  // step_started, step_completed, attempt_failed, item_completed, run_completed, ...
  std::string step;  // its path; empty where the event is the run's
  Timestamp at;
  Json data;  // an object
};

/// Called by the thread that runs the workflow. Must not block for long.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_event(const RunEvent& event) = 0;
  /// Called now and then while the run goes on, for clocks and bars.
  virtual void on_tick() {}
};

}  // namespace pawl
