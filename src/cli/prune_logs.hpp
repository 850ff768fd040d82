// `pawl prune --logs`: what steps have printed, by age.
#pragma once

#include "cli/command.hpp"

namespace pawl::cli {

/// Removes the logs of `runs` that nobody has written to for `days`. Runs that are being executed are left alone; so
/// are captured outputs, which a step may be answered with.
Result<void> prune_logs(const Invocation& invocation, Store& store, const std::vector<RunId>& runs, std::uint64_t days,
                        PruneMode mode);

}  // namespace pawl::cli
