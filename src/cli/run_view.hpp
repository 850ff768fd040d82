// How a running workflow looks: a live picture on a terminal, plain lines in a pipe, events as JSON.
#pragma once

#include <memory>

#include "cli/command.hpp"
#include "engine/execution.hpp"

namespace pawl::cli {

class RunView : public RunObserver {
 public:
  /// Before anything happens. `known`: what earlier executions have done.
  virtual void begin(const RunId& run, const Workflow& workflow) = 0;
  /// Takes a live picture away, so that something else can be printed or asked.
  virtual void pause() {}
  virtual void end() {}
};

[[nodiscard]] std::unique_ptr<RunView> make_view(const Invocation& invocation);
[[nodiscard]] std::unique_ptr<RunView> make_plain_view(const Invocation& invocation);
[[nodiscard]] std::unique_ptr<RunView> make_json_view(const Invocation& invocation);

}  // namespace pawl::cli
