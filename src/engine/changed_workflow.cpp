#include "engine/changed_workflow.hpp"

#include <algorithm>

#include "domain/event_types.hpp"
#include "engine/resume_facts.hpp"

namespace pawl {
namespace {

/// Refuses a workflow without a gate that the run has reached, because the gate would be bypassed.
Result<void> check_gates(const RunState& state, const Workflow& workflow) {
  for (const auto& [path, record] : state.steps) {
    if (record.binding.empty()) continue;
    const Step* step = find_step(workflow, path);
    if (step != nullptr && std::holds_alternative<Approve>(step->work)) continue;
    return fail(
        Error{Code::gate_in_the_way,
              fmt::format("the changed workflow lacks the approval step '{}', which this run has reached", path),
              {},
              "restore the approval step, or start a new run",
              0});
  }
  return {};
}

/// Returns whether the step was added by another one while the run was executed.
bool is_added(const RunState& state, std::string_view path) {
  const std::string_view id = path.substr(0, path.find_first_of(".["));
  return std::ranges::any_of(state.added, [&](const AddedSteps& added) {
    return added.steps.is_array() && std::ranges::any_of(added.steps, [&](const Json& step) {
             return step.is_object() && text_in(step, "id") == id;
           });
  });
}

/// Drops decisions, which were about the old workflow. Completed steps that changed or are missing stay in the state,
/// because what they cost remains spent; the machine opens them again. Returns their paths.
std::vector<std::string> apply_changes(RunState& state, const Workflow& workflow) {
  std::vector<std::string> dropped;
  std::vector<std::pair<std::string, StepRecord>> kept;
  for (auto& [path, record] : state.steps) {
    const Step* step = find_step(workflow, path);
    const bool same = is_added(state, path) || (step != nullptr && has_definition(*step, record.definition));
    const bool decided = !record.binding.empty();
    if (record.status == StepStatus::completed && (decided || !same)) dropped.push_back(path);
    if (!decided) {
      kept.emplace_back(path, std::move(record));
    } else if (std::ranges::find(state.reached_gates, path) == state.reached_gates.end()) {
      state.reached_gates.push_back(path);
    }
  }
  state.steps = std::move(kept);
  return dropped;
}

/// Variables that were added to the file have their defaults, or are given like masked values.
Result<void> add_new_variables(const ExecutionServices& services, const Workflow& workflow, RunState& state) {
  for (const Variable& variable : workflow.vars) {
    if (state.vars.contains(variable.name)) continue;
    if (services.given.contains(variable.name)) {
      state.vars[variable.name] = services.given[variable.name];
    } else if (variable.required) {
      return fail(Error{
          Code::invalid_variable,
          fmt::format("the changed workflow requires the variable '{}', which this run does not have", variable.name),
          workflow.file, fmt::format("give '{}' a default in the workflow, or start a new run", variable.name), 0});
    } else {
      state.vars[variable.name] = variable.value;
    }
  }
  return {};
}

}  // namespace

Result<void> check_workflow(const ExecutionServices& services, const ResumeRequest& request, const Workflow& workflow,
                            RunState& state, Resumption& resumption) {
  if (workflow.hash == state.workflow_hash) return {};
  PAWL_TRY(check_gates(state, workflow));
  const std::string before = recorded_text(services.store, request.id);
  const std::string difference = text_difference(before, workflow.text);
  RunState changed = state;
  const std::vector<std::string> dropped = apply_changes(changed, workflow);
  if (request.changes == Changes::refuse) {
    std::string message = fmt::format("the workflow has changed since the run was started:\n{}", difference);
    if (!dropped.empty())
      message += fmt::format("\ncompleted steps that would run again or are missing: {}", joined_list(dropped));
    const Subject subject{.run = request.id.text(), .value = request.working_dir};
    return fail(Error{Code::workflow_changed, message, workflow.file, {}, 0, Advice::accept_changes, subject});
  }
  PAWL_TRY(add_new_variables(services, workflow, changed));
  state = std::move(changed);
  resumption.run.first_events.push_back(
      {event_type::kWorkflowChanged,
       compact({{"before", state.workflow_hash}, {"workflow", workflow_facts(workflow)}, {"dropped", dropped}})});
  for (const std::string& path : dropped)
    resumption.notes.push_back(fmt::format("step {} changed and will run again", path));
  state.workflow_hash = workflow.hash;
  state.workflow_file = workflow.file;
  return {};
}

Result<std::vector<std::string>> change_workflow(RunState& state, const Workflow& workflow) {
  PAWL_TRY(check_gates(state, workflow));
  std::vector<std::string> dropped = apply_changes(state, workflow);
  state.workflow_name = workflow.name;
  state.workflow_hash = workflow.hash;
  state.workflow_file = workflow.file;
  return dropped;
}

}  // namespace pawl
