// Opens runs for execution: new runs, runs to resume, and child runs.
#pragma once

#include "domain/resume_plan.hpp"
#include "engine/execution_services.hpp"
#include "engine/recover.hpp"

namespace pawl {

struct NewRun {
  RunId id;
  std::shared_ptr<const Workflow> workflow;
  Json vars = Json::object();  // values by name; the others have their defaults
  std::string session = {};
  std::string parent_run = {};
  std::string parent_step = {};
  std::string parent_key = {};  // identifies the child among those of the step
  std::uint64_t depth = 0;      // number of runs around it
};

/// Returns values for all declared variables. Fails with invalid_variable if one is missing or not declared.
[[nodiscard]] Result<Json> resolve_vars(const Workflow& workflow, const Json& given);

/// Returns the value that a person means by `text`: JSON of the type of the variable's default, or the text itself if
/// the default is a string or null. Fails with invalid_variable if the text is not of that type.
[[nodiscard]] Result<Json> value_from_text(const Workflow& workflow, const std::string& name, const std::string& text);

/// Returns the working directory for the commands of the workflow, relative to the folder of its file.
[[nodiscard]] Result<std::string> working_folder(LocalFiles& files, const Workflow& workflow, const Json& vars);

/// Fails with run_exists if the run exists.
[[nodiscard]] Result<OpenedRun> open_new(const ExecutionServices& services, const NewRun& run);

/// Whether a fallback may run completed steps again.
enum class Reruns : std::uint8_t { refuse, accept };

struct ResumeRequest {
  RunId id;
  std::string workflow_file = {};  // empty: the recorded one
  std::string working_dir = {};    // of a project that was moved: an absolute path; empty: the recorded one
  Changes changes = Changes::refuse;
  ResumedBy by = ResumedBy::person;
  Json budget = {};                          // {"usd": n, "tokens": n}, or null
  Json given = Json::object();               // values of keys that are not saved
  RecoveryMode mode = RecoveryMode::latest;  // full: rebuild and check everything first
  Fallback fallback = Fallback::refuse;      // the settings may allow it as well
  Reruns reruns = Reruns::refuse;
  BadEvents bad_events = BadEvents::refuse;  // skip: only if steps may run again
  std::uint32_t automatic_max = UINT32_MAX;  // automatic resumes in a row
  bool by_parent = false;                    // a run that its parent continues; the parent looks after the budget
  std::optional<std::string> cancel = {};    // the reason: only the `finally` steps run, and the run is cancelled
};

/// What a resume will do.
struct Resumption {
  OpenedRun run;
  ResumePlan plan;
  std::vector<std::string> notes;  // for people
  RecoveryResult recovery = {};    // without the state of its checkpoint
  std::optional<MovedFolder> moved = {};
};

/// Records refusals and fallbacks in recovery/failures.jsonl. Fails with the code of the damage,
/// fallback_reruns, recovery_in_progress, handler_not_registered, run_ended, retries_exhausted (an automatic resume
/// with nothing left to try), workflow_changed, items_changed (later), folder_changed, gate_in_the_way, run_busy,
/// not_a_workflow_run.
[[nodiscard]] Result<Resumption> open_resume(const ExecutionServices& services, const ResumeRequest& request);

/// Adapts the state to a changed workflow. Unchanged completed steps are kept, and gates must be decided again. Returns
/// the paths of completed steps that will run again or are missing. Fails with gate_in_the_way if the new workflow
/// lacks a gate that the run has reached.
[[nodiscard]] Result<std::vector<std::string>> change_workflow(RunState& state, const Workflow& workflow);
/// Returns the data of an event that records the workflow of a run.
[[nodiscard]] Json workflow_facts(const Workflow& workflow);

struct ChildOf {
  std::string parent_run;
  std::string parent_step;
  std::string key;              // distinguishes the children that one step begins, see machine/children.cpp
  std::string child_run;        // its recorded ID; empty: not known
  std::uint32_t rollbacks = 0;  // of the parent
  std::uint64_t depth = 0;      // number of runs around it
};
/// A child run: one that has finished, or one that is open for execution.
struct OpenedChild {
  std::string id;
  std::optional<RunState> finished = {};
  std::unique_ptr<OpenedRun> run = {};
};
/// Continues the child run with this key, or creates it. A run with the same name and another key is never touched.
[[nodiscard]] Result<OpenedChild> open_child(const ExecutionServices& services, const ChildOf& of,
                                             const std::string& file, const Json& with);

/// Returns the newest state of a run. Fails with not_a_workflow_run if it is not a workflow run.
[[nodiscard]] Result<RunState> load_state(Store& store, const RunId& id);
/// The same, or the newest intact state if that one is damaged. Callers must report that.
[[nodiscard]] Result<RunState> load_whole_state(Store& store, const RunId& id);

}  // namespace pawl
