// How a running workflow is shown: a live display on a terminal, plain lines in a pipe, or events as JSON.
#pragma once

#include <memory>

#include "cli/command.hpp"
#include "service/run_view.hpp"

namespace pawl::cli {

/// Whether the run is shown as a live display, with its own header and last line: on a terminal that
/// can move its cursor, and not with --json.
[[nodiscard]] bool shows_live(const Invocation& invocation);

[[nodiscard]] std::unique_ptr<RunView> make_view(const Invocation& invocation);
[[nodiscard]] std::unique_ptr<RunView> make_plain_view(const Invocation& invocation);
[[nodiscard]] std::unique_ptr<RunView> make_json_view(const Invocation& invocation);

}  // namespace pawl::cli
