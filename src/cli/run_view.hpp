// How a running workflow looks: a live picture on a terminal, plain lines in a pipe, events as JSON.
#pragma once

#include <memory>

#include "cli/command.hpp"
#include "engine/execution.hpp"

namespace pawl::cli {

class RunView : public RunObserver {
 public:
  /// Before anything happens. `known`: what earlier executions have done.
  virtual void begin(const RunId& run, const Workflow& workflow, const RunState& known) = 0;
  /// Takes a live picture away, so that something else can be printed or asked.
  virtual void pause() {}
  /// The run has ended, waits or was interrupted; nothing comes after it.
  virtual void end() {}
};

/// Whether the run is shown as a live picture, which has a header and a last line of its own: on a terminal that
/// can move its cursor, and not with --json.
[[nodiscard]] bool shows_live(const Invocation& invocation);

[[nodiscard]] std::unique_ptr<RunView> make_view(const Invocation& invocation);
[[nodiscard]] std::unique_ptr<RunView> make_plain_view(const Invocation& invocation);
[[nodiscard]] std::unique_ptr<RunView> make_json_view(const Invocation& invocation);

}  // namespace pawl::cli
