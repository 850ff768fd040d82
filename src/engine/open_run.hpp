// Opening runs for execution: a new one, one to go on with, the child of another.
#pragma once

#include "domain/resume_plan.hpp"
#include "engine/execution.hpp"
#include "engine/recover.hpp"

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

/// Whether a fallback may run steps again whose completion is recorded.
enum class Reruns : std::uint8_t { refuse, accept };

struct ResumeRequest {
  RunId id;
  std::string workflow_file = {};  // empty: the recorded one
  Changes changes = Changes::refuse;
  ResumedBy by = ResumedBy::person;
  Json budget = {};                          // {"usd": n, "tokens": n}, or null
  Json given = Json::object();               // values of keys that are not saved
  RecoveryMode mode = RecoveryMode::latest;  // full: everything is rebuilt and checked first
  Fallback fallback = Fallback::refuse;      // the settings may allow it, too
  Reruns reruns = Reruns::refuse;
  BadEvents bad_events = BadEvents::refuse;  // skip: only where steps may run again
  std::uint32_t automatic_max = UINT32_MAX;  // automatic resumes in a row
};

/// What a resume will do, known before it does anything.
struct Resumption {
  OpenedRun run;
  ResumePlan plan;
  std::vector<std::string> notes;  // for people
  RecoveryResult recovery = {};    // its checkpoint is without the state
};

/// A refusal is noted in recovery/failures.jsonl, and so is a fallback. Refuses with the code of the damage,
/// fallback_reruns, recovery_in_progress, handler_not_registered, run_ended, retries_exhausted (an automatic resume
/// with nothing left to try), workflow_changed, items_changed (later), folder_changed, gate_in_the_way, run_busy,
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
  std::string child_run;        // empty: it is new
  std::uint32_t rollbacks = 0;  // of the parent: a child that was begun before one is not gone on with
};
/// The state of a child that is completed already.
[[nodiscard]] std::optional<RunState> completed_child(Store& store, const std::string& run);
[[nodiscard]] Result<OpenedRun> open_child(const ExecutionServices& services, const ChildOf& of,
                                           const std::string& file, const Json& with);

/// The newest state of a run, of whatever program wrote it: not_a_workflow_run where it has none.
[[nodiscard]] Result<RunState> load_state(Store& store, const RunId& id);
/// The same, or where that is damaged the newest that is whole; who uses it must say so.
[[nodiscard]] Result<RunState> load_whole_state(Store& store, const RunId& id);

}  // namespace pawl
