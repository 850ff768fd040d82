// How a running workflow is shown: a live display on a terminal, plain lines in a pipe, or events as JSON.
#pragma once

#include <memory>

#include "cli/command.hpp"
#include "service/run_view.hpp"
#include "service/workflow_world.hpp"

namespace pawl::cli {

/// What is shown besides events.
struct ViewOptions {
  bool step_output = false;  // output of steps as it arrives; disables the live display
};

/// Returns whether the run has a live display, which has its own header and last line. Requires a terminal that can
/// move its cursor, and neither --json nor the output of steps.
[[nodiscard]] bool shows_live(const Invocation& invocation, const ViewOptions& options);

[[nodiscard]] std::unique_ptr<RunView> make_view(const Invocation& invocation, const ViewOptions& options);
[[nodiscard]] std::unique_ptr<RunView> make_plain_view(const Invocation& invocation, const ViewOptions& options);
[[nodiscard]] std::unique_ptr<RunView> make_json_view(const Invocation& invocation);
/// Shows everything in `shown`. Releases the foreground at the first event, because the run is durable by then. Later
/// output goes to the file `log_path`, which is read at that moment.
[[nodiscard]] std::unique_ptr<RunView> make_detached_view(std::unique_ptr<RunView> shown, BackgroundProcess& background,
                                                          const std::string& log_path);

}  // namespace pawl::cli
