// What happens in a run, reported live: the same facts as in its events.
#pragma once

#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace pawl {

/// Number of events that are read from a store at once.
inline constexpr std::size_t kEventsPage = 4'096;

struct RunEvent {
  std::string run;
  std::string type;  // step_started, step_completed, attempt_failed, item_completed, run_completed, ...
  std::string step;  // its path; empty for events of the run itself
  Timestamp at;
  Json data;  // an object
};

/// Called on the thread that runs the workflow. Must not block for long.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_event(const RunEvent& event) = 0;
  /// Whether on_output is wanted.
  [[nodiscard]] virtual bool wants_output() const { return false; }
  /// Called with the output of a step as it arrives. Secrets are masked, and pieces may end anywhere.
  virtual void on_output(const std::string& run, const std::string& step, std::string_view text) {
    static_cast<void>(run);
    static_cast<void>(step);
    static_cast<void>(text);
  }
  /// Called regularly while the run is active, for clocks and progress bars.
  virtual void on_tick() {}
};

}  // namespace pawl
