// Runs a workflow for a command, and shows its progress and outcome.
#pragma once

#include "cli/command.hpp"
#include "service/workflow_session.hpp"

namespace pawl::cli {

/// Reads and checks a workflow; `file` is relative to the working directory.
[[nodiscard]] Result<Workflow> load_workflow(const CliContext& context, const std::string& file);
/// The path of `file`, relative to the working directory.
[[nodiscard]] std::string absolute_path(const CliContext& context, const std::string& file);

/// Both return when the run has finished, waits or was interrupted. Unless it completed, they fail with run_failed,
/// run_waiting, run_interrupted and so on.
[[nodiscard]] Result<void> start_workflow(const Invocation& invocation, const NewRun& run,
                                          const SessionOptions& options);
[[nodiscard]] Result<void> resume_workflow(const Invocation& invocation, const ResumeRequest& request,
                                           const SessionOptions& options);
/// Starts the run, or resumes it as an automatic resume, or returns how it finished.
[[nodiscard]] Result<void> start_or_resume_workflow(const Invocation& invocation, const NewRun& run,
                                                    const SessionOptions& options);

}  // namespace pawl::cli
