// The port through which a session shows an execution to whoever watches it.
#pragma once

#include "domain/run_state.hpp"
#include "domain/workflow.hpp"
#include "engine/run_events.hpp"

namespace pawl {

class RunView : public RunObserver {
 public:
  /// Before anything happens. `known`: what earlier executions have done.
  virtual void begin(const RunId& run, const Workflow& workflow, const RunState& known) = 0;
  /// Takes a live picture away, so that something else can be printed or asked.
  virtual void pause() {}
  /// The run has ended, waits or was interrupted; nothing comes after it.
  virtual void end() {}
};

}  // namespace pawl
