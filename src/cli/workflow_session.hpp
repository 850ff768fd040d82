// Runs a workflow for a command: puts the engine together, shows what happens, and says how it ended.
#pragma once

#include "cli/command.hpp"
#include "cli/workflow_world.hpp"
#include "engine/open_run.hpp"

namespace pawl::cli {

/// Reads and checks a workflow. The error's message lists all faults, a line each.
[[nodiscard]] Result<Workflow> load_workflow(const CliContext& context, const std::string& file);
/// `file` relative to the folder that pawl was called in.
[[nodiscard]] std::string absolute_path(const CliContext& context, const std::string& file);

/// `notes-k3f9`: the workflow's name and four characters of chance.
[[nodiscard]] std::string fresh_run_id(const std::string& workflow, Random& random);

struct SessionOptions {
  Waiting waiting = Waiting::leave;
  std::optional<Milliseconds> timeout = {};  // the run is interrupted after so long
  std::function<void()> on_timeout = {};     // called then
};

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
