// Runs a workflow for a command: shows what happens and how it ended.
#pragma once

#include "cli/command.hpp"
#include "service/workflow_session.hpp"

namespace pawl::cli {

/// Reads and checks a workflow; `file` is relative to the folder that pawl was called in.
[[nodiscard]] Result<Workflow> load_workflow(const CliContext& context, const std::string& file);
/// `file` relative to the folder that pawl was called in.
[[nodiscard]] std::string absolute_path(const CliContext& context, const std::string& file);

/// Both return when the run has ended, waits or was interrupted: an error (run_failed, run_waiting,
/// run_interrupted, ...) unless it is completed.
[[nodiscard]] Result<void> start_workflow(const Invocation& invocation, const NewRun& run,
                                          const SessionOptions& options);
[[nodiscard]] Result<void> resume_workflow(const Invocation& invocation, const ResumeRequest& request,
                                           const SessionOptions& options);
/// Starts the run, or resumes it as an automatic resume, or returns how it finished.
[[nodiscard]] Result<void> start_or_resume_workflow(const Invocation& invocation, const NewRun& run,
                                                    const SessionOptions& options);

}  // namespace pawl::cli
