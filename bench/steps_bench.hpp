// Parts of pawl_steps_bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/report.hpp"

namespace pawl::bench {

/// Steps of a DurableRun at its start, in its middle and at its end.
[[nodiscard]] Scenario measure_durable_steps(const std::string& folder, std::uint64_t steps);
/// Resuming a DurableRun after SIGKILL. Starts this program again with `--crash-in` and `--resume-in`.
[[nodiscard]] Scenario measure_durable_resume(const std::string& folder);
/// Handler steps of one workflow, one after the other.
[[nodiscard]] Scenario measure_handlers(const std::string& folder, std::uint64_t steps);
/// Resuming such a workflow after SIGKILL. Starts this program again with `--crash-handlers-in` and
/// `--resume-handlers-in`.
[[nodiscard]] Scenario measure_handlers_resume(const std::string& folder);
/// Many short workflows, some of them at the same time.
[[nodiscard]] Scenario measure_workflows(const std::string& folder, std::uint64_t workflows);
/// Maps inside a map, in different sizes.
[[nodiscard]] Scenario measure_nested(const std::string& folder);
/// Saving small changes of a large state.
[[nodiscard]] Scenario measure_changes(const std::string& folder);

/// Kills the process after half of the steps.
void crash_in_durable_run(const std::string& folder);
/// Executes the other half. Prints when the first new step began.
void resume_durable_run(const std::string& folder);

/// Kills the process when half of the handler steps are durable.
void crash_in_handlers(const std::string& folder);
/// Executes the other half. Prints when the first new step began.
void resume_handlers(const std::string& folder);

double now_ms();
/// What a process printed, and its status.
struct Ended {
  std::string output;
  int status = 0;
};
/// Starts this program again.
[[nodiscard]] Ended run_self(const std::string& option, const std::string& folder);
/// Kills this program with `crash_option` and times it with `resume_option`, five times.
void measure_first_new_step(Scenario& scenario, const std::string& folder, const std::string& crash_option,
                            const std::string& resume_option);

}  // namespace pawl::bench
