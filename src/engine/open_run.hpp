// Opening runs for execution: a new one, one to go on with, the child of another.
#pragma once

#include "domain/resume_plan.hpp"
#include "engine/execution.hpp"

namespace pawl {

struct NewRun {
  RunId id;
  std::shared_ptr<const Workflow> workflow;
  Json vars = Json::object();  // given values by name; the rest are defaults
  std::string session = {};
  std::string parent_run = {};
  std::string parent_step = {};
};

/// Values for all declared variables: invalid_variable where one is required and missing, or not declared.
[[nodiscard]] Result<Json> resolve_vars(const Workflow& workflow, const Json& given);

/// The folder that commands of the workflow run in: what it says, relative to where its file is.
[[nodiscard]] Result<std::string> working_folder(LocalFiles& files, const Workflow& workflow, const Json& vars);

/// `run_exists` where it does.
[[nodiscard]] Result<OpenedRun> open_new(const ExecutionServices& services, const NewRun& run);


struct ResumeRequest {
  RunId id;
  std::string workflow_file = {};  // empty: the recorded one
  Changes changes = Changes::refuse;
  ResumedBy by = ResumedBy::person;
  Json budget = {};  // {"usd": n, "tokens": n}, or null
  Json given = Json::object();  // values of keys that are not saved
};

/// What a resume will do, known before it does anything.
struct Resumption {
  OpenedRun run;
  ResumePlan plan;
  std::vector<std::string> notes;  // for people
};

/// Refuses with run_ended, retries_exhausted (an automatic resume with nothing left to try), workflow_changed, items_changed (later), folder_changed, gate_in_the_way, run_busy,
/// not_a_workflow_run.
[[nodiscard]] Result<Resumption> open_resume(const ExecutionServices& services, const ResumeRequest& request);

/// What a run goes on with after its workflow was changed: completed steps that are as they were are kept, gates have
/// to be decided again. Gives the paths of completed steps that will run again or are gone; gate_in_the_way where the
/// new workflow lacks a gate that the run has come to.
[[nodiscard]] Result<std::vector<std::string>> change_workflow(RunState& state, const Workflow& workflow);
/// The data of an event that says which workflow a run goes on with.
[[nodiscard]] Json workflow_facts(const Workflow& workflow);

struct ChildOf {
  std::string parent_run;
  std::string parent_step;
  std::string child_run;  // empty: it is new
};
/// The state of a child that is completed already.
[[nodiscard]] std::optional<RunState> completed_child(Store& store, const std::string& run);
[[nodiscard]] Result<OpenedRun> open_child(const ExecutionServices& services, const ChildOf& of, const std::string& file,
                                           const Json& with);

/// The newest state of a run, of whatever program wrote it: not_a_workflow_run where it has none.
[[nodiscard]] Result<RunState> load_state(Store& store, const RunId& id);

}  // namespace pawl
