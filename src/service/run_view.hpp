// The port through which a session displays an execution.
#pragma once

#include "domain/run_state.hpp"
#include "domain/workflow.hpp"
#include "engine/run_events.hpp"

namespace pawl {

class RunView : public RunObserver {
 public:
  /// Called before anything happens. `known` is the state left by earlier executions.
  virtual void begin(const RunId& run, const Workflow& workflow, const RunState& known) = 0;
  /// Removes a live display, so that something else can be printed or asked.
  virtual void pause() {}
  /// The run has finished, waits or was interrupted. No calls follow.
  virtual void end() {}
};

}  // namespace pawl
