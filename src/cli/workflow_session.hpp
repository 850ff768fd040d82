// Runs a workflow for a command, and shows its progress and outcome.
#pragma once

#include "cli/command.hpp"
#include "cli/run_view.hpp"
#include "service/workflow_session.hpp"

namespace pawl::cli {

/// Says it plainly if the error is that the workflow's file does not exist.
[[nodiscard]] Error missing_workflow(Error error, const std::string& file);
/// Reads and checks a workflow; `file` is relative to the working directory.
[[nodiscard]] Result<Workflow> load_workflow(const CliContext& context, const std::string& file,
                                             LoadFor what = LoadFor::new_run);
/// Returns what is likely to be wrong with a valid workflow, one printable line each: `notes.yaml:3:5: warning: ...`.
[[nodiscard]] std::vector<std::string> warnings_of(const CliContext& context, const Workflow& workflow,
                                                   const std::string& file);
/// Prints warnings to standard error; with --json nothing.
void tell_warnings(const Invocation& invocation, const std::vector<std::string>& warnings);
/// `notes.yaml:3:5`, as compilers write it.
[[nodiscard]] std::string place_text(const std::string& file, Place place);
/// The path of `file`, relative to the working directory.
[[nodiscard]] std::string absolute_path(const CliContext& context, const std::string& file);

/// How a command shows a run.
struct ShowOptions {
  ViewOptions view = {};
  bool fail_on_dlq = false;                 // a completed run with failed items exits with 1
  bool name_resumed = false;                // print the run id first, also for a run that is resumed
  std::vector<std::string> warnings = {};   // about the workflow of a new run
  BackgroundProcess* background = nullptr;  // releases the foreground once the run is durable; may be null
};

/// Both return when the run has finished, waits or was interrupted. They fail (run_failed, run_waiting,
/// run_interrupted, ...) unless it completed.
[[nodiscard]] Result<void> start_workflow(const Invocation& invocation, const NewRun& run,
                                          const SessionOptions& options, const ShowOptions& show = {});
[[nodiscard]] Result<void> resume_workflow(const Invocation& invocation, const ResumeRequest& request,
                                           const SessionOptions& options, const ShowOptions& show = {});
/// Starts the run, or resumes it as an automatic resume, or returns how it finished.
[[nodiscard]] Result<void> start_or_resume_workflow(const Invocation& invocation, const NewRun& run,
                                                    const SessionOptions& options, const ShowOptions& show = {});

/// Cancels a run that no process executes by executing what its workflow does at the end of every run: its `finally`
/// steps and `notify`. Shows nothing. Fails with run_cancelled if that worked.
[[nodiscard]] Result<void> end_workflow(const Invocation& invocation, const RunId& run, const std::string& reason);

/// One line per run for a message: its id, its status and its age, aligned.
[[nodiscard]] std::string candidates_text(const Invocation& invocation, Store& store, const std::vector<RunInfo>& runs);

}  // namespace pawl::cli
