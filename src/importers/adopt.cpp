#include "importers/adopt.hpp"

#include <algorithm>
#include <map>

#include "domain/event_types.hpp"

namespace pawl {
namespace {

/// Returns the indices of the workflow's steps that `said` is about.
std::vector<std::size_t> steps_meant(const ImportedStep& said, const Workflow& workflow) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < workflow.steps.size(); ++i) {
    const Step& step = workflow.steps[i];
    const bool meant = !said.id.empty() ? step.id == said.id
                       : said.index     ? i == *said.index
                                        : step.stage == said.stage && !said.stage.empty();
    if (meant) found.push_back(i);
  }
  return found;
}

std::string name_of(const ImportedStep& said) {
  if (!said.id.empty()) return fmt::format("step '{}'", said.id);
  if (said.index) return fmt::format("step {}", *said.index + 1);
  return fmt::format("stage '{}'", said.stage);
}

StepRecord record_of(const ImportedStep& said, const Step& step) {
  StepRecord record;
  record.status = said.status;
  record.attempts = said.status == StepStatus::interrupted ? 0 : 1;
  record.starts = 1;
  record.spent = record.attempts;
  record.error = said.error;
  record.retryable = said.retryable;
  record.ended = said.ended;
  record.started = said.ended;
  if (said.status == StepStatus::completed) record.definition = definition_of(step);
  return record;
}

Result<Json> variables_of(const ImportedRun& run, const Workflow& workflow) {
  Json vars = Json::object();
  for (const Variable& variable : workflow.vars) {
    if (run.vars.is_object() && run.vars.contains(variable.name)) {
      vars[variable.name] = run.vars[variable.name];
    } else if (variable.required) {
      return fail(Code::invalid_variable, "required variable '{}' of the workflow is not in the import", variable.name);
    } else {
      vars[variable.name] = variable.value;
    }
  }
  return vars;
}

/// Returns the last word on each step. A completed step stays completed, whatever follows.
Result<std::map<std::size_t, ImportedStep>> match_steps(const ImportedRun& run, const Workflow& workflow,
                                                        Adopted& adopted) {
  std::map<std::size_t, ImportedStep> matched;
  for (const ImportedStep& said : run.steps) {
    const std::vector<std::size_t> meant = steps_meant(said, workflow);
    // A stage only stands for its steps, so an unknown one is not an error.
    if (meant.empty() && said.status == StepStatus::completed && (said.stage.empty() || !said.id.empty())) {
      return fail(Code::workflow_mismatch, "{} is completed, but the workflow '{}' has no such step", name_of(said),
                  workflow.name);
    }
    if (meant.empty()) adopted.notes.push_back(fmt::format("the workflow has no {}", name_of(said)));
    for (const std::size_t index : meant) {
      const auto known = matched.find(index);
      const bool done = known != matched.end() && known->second.status == StepStatus::completed;
      if (done && (said.status != StepStatus::completed || said.output.is_null())) continue;
      matched[index] = said;
    }
  }
  return matched;
}

void put_output(const ImportedStep& said, const std::string& path, std::uint64_t events_before, StepRecord& record,
                Adopted& adopted) {
  if (said.output.is_null() || said.status != StepStatus::completed) return;
  if (compact(said.output).size() <= kOutputInline) {
    record.output = said.output;
    return;
  }
  adopted.events.push_back({event_type::kStepCompleted, compact({{"step", path}, {"output", said.output}})});
  record.output_event = events_before + adopted.events.size();
}

}  // namespace

Result<Adopted> adopt_run(const ImportedRun& run, const Workflow& workflow,
                          const std::function<Result<std::string>(const Json& vars)>& working_dir,
                          std::uint64_t events_before) {
  Adopted adopted;
  RunState& state = adopted.state;
  PAWL_TRY_ASSIGN(state.vars, variables_of(run, workflow));
  PAWL_TRY_ASSIGN(const auto matched, match_steps(run, workflow, adopted));
  state.workflow_name = workflow.name;
  state.workflow_file = workflow.file;
  state.workflow_hash = workflow.hash;
  PAWL_TRY_ASSIGN(state.working_dir, working_dir(state.vars));
  bool failed = false;
  for (std::size_t i = 0; i < workflow.steps.size(); ++i) {
    const Step& step = workflow.steps[i];
    const auto found = matched.find(i);
    const bool told = found != matched.end();
    if (!told && !run.completed) continue;
    const ImportedStep said =
        told && !run.completed ? found->second : ImportedStep{.output = told ? found->second.output : Json()};
    if (std::holds_alternative<Approve>(step.work)) {
      adopted.notes.push_back(
          fmt::format("approval step '{}' must be approved here; approvals are not imported", step.id));
      continue;
    }
    StepRecord record = record_of(said, step);
    put_output(said, step.id, events_before, record, adopted);
    failed = failed || record.status == StepStatus::failed;
    if (record.status == StepStatus::completed) ++state.completed_steps;
    state.steps.emplace_back(step.id, std::move(record));
  }
  const bool all = state.completed_steps == workflow.steps.size();
  state.status = all ? RunStatus::completed : failed ? RunStatus::failed : RunStatus::interrupted;
  if (!all) state.error = run.error.empty() ? "imported" : run.error;
  return adopted;
}

}  // namespace pawl
