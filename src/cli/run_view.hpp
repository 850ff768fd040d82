// How a running workflow is shown: a live display on a terminal, plain lines in a pipe, or events as JSON.
#pragma once

#include <memory>

#include "cli/command.hpp"
#include "service/run_view.hpp"
#include "service/workflow_world.hpp"

namespace pawl::cli {

/// What is shown besides events.
struct ViewOptions {
  bool step_output = false;  // what steps print, as it comes; then there is no live picture
};

/// Whether the run is shown as a live picture, which has a header and a last line of its own: on a terminal that
/// can move its cursor, and not with --json or with the steps' output.
[[nodiscard]] bool shows_live(const Invocation& invocation, const ViewOptions& options);

[[nodiscard]] std::unique_ptr<RunView> make_view(const Invocation& invocation, const ViewOptions& options);
[[nodiscard]] std::unique_ptr<RunView> make_plain_view(const Invocation& invocation, const ViewOptions& options);
[[nodiscard]] std::unique_ptr<RunView> make_json_view(const Invocation& invocation);
/// Shows everything in `shown`, and lets go of the foreground with the first event, which says that the run is durable.
/// What is printed then goes to the file `log_path`, which is read at that moment.
[[nodiscard]] std::unique_ptr<RunView> make_detached_view(std::unique_ptr<RunView> shown, BackgroundProcess& background,
                                                          const std::string& log_path);

}  // namespace pawl::cli
