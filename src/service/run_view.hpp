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
  /// A question is on the screen, and the person types below it: removes a live display and does not draw it until
  /// `release`. Lines that are printed meanwhile begin below the question.
  virtual void hold() { pause(); }
  virtual void release() {}
  /// The run has finished, waits or was interrupted. No calls follow.
  virtual void end() {}
};

}  // namespace pawl
