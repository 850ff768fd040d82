// Parts of pawl_steps_bench.
#pragma once

#include <cstdint>
#include <string>

#include "bench/report.hpp"

namespace pawl::bench {

/// Steps of a DurableRun at its start, in its middle and at its end.
[[nodiscard]] Scenario measure_durable_steps(const std::string& folder, std::uint64_t steps);
/// Resuming a DurableRun after SIGKILL. Starts this program again with `--crash-in` and `--resume-in`.
[[nodiscard]] Scenario measure_durable_resume(const std::string& folder);
/// Saving small changes of a large state.
[[nodiscard]] Scenario measure_changes(const std::string& folder);

/// Kills the process after half of the steps.
void crash_in_durable_run(const std::string& folder);
/// Executes the other half. Prints when the first new step began.
void resume_durable_run(const std::string& folder);

}  // namespace pawl::bench
