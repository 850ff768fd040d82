#include "domain/resume_plan.hpp"

#include <algorithm>
#include <array>

namespace pawl {
namespace {

using Action = StepPlan::Action;

constexpr std::array<std::string_view, 8> kActions{"keep", "run", "again", "retry", "go_on", "wait", "stop", "changed"};

bool contains_steps(const Step& step) {
  return std::holds_alternative<Loop>(step.work) || std::holds_alternative<Map>(step.work) ||
         std::holds_alternative<CallWorkflow>(step.work);
}

StepPlan plan_failed(const Step& step, const StepRecord& record, ResumedBy by) {
  StepPlan plan{.path = step.id, .action = Action::retry, .why = record.error};
  if (record.reason == StepReason::rejected) return {step.id, Action::stop, "it was rejected"};
  const std::uint32_t allowed = step.retry.attempts.value_or(1);
  if (by == ResumedBy::automatic && (!record.retryable || record.spent >= allowed))
    return {step.id, Action::stop, "it has no attempts left"};
  return plan;
}

StepPlan plan_step(const Step& step, const StepRecord* record, bool completed_in_events, ResumedBy by) {
  const bool known = record != nullptr && record->status != StepStatus::pending;
  if (!known) {
    if (completed_in_events) return {step.id, Action::keep, "its completion is recorded in the events"};
    return {step.id, Action::run, "it has not started"};
  }
  const bool settled = record->status == StepStatus::completed || record->status == StepStatus::skipped;
  if (settled && !has_definition(step, record->definition))
    return {step.id, Action::changed, "its definition has changed"};
  switch (record->status) {
    case StepStatus::completed: return {step.id, Action::keep, "completed"};
    case StepStatus::skipped: return {step.id, Action::keep, record->reason_text()};
    case StepStatus::waiting:
      return {step.id, contains_steps(step) ? Action::go_on : Action::wait, record->reason_text()};
    case StepStatus::failed:
      if (step.continue_on_error) return {step.id, Action::keep, "its failure was accepted"};
      return plan_failed(step, *record, by);
    default: break;
  }
  if (completed_in_events) return {step.id, Action::keep, "its completion is recorded in the events"};
  if (contains_steps(step)) return {step.id, Action::go_on, "it was in progress"};
  return {step.id, Action::again, "it was running"};
}

/// Returns how many steps were completed in a completed step, with itself. Steps deeper inside are not counted.
std::uint64_t completed_in(const Step& step, const StepRecord& record) {
  std::uint64_t count = record.status == StepStatus::completed ? 1 : 0;
  if (const auto* map = std::get_if<Map>(&step.work); map != nullptr && record.map)
    count += (record.map->done.count() - record.map->failed.count()) * (1 + map->steps->size());
  if (const auto* loop = std::get_if<Loop>(&step.work)) count += record.iteration * loop->steps->size();
  return count;
}

}  // namespace

std::string_view to_text(StepPlan::Action action) { return kActions[static_cast<std::size_t>(action)]; }

ResumePlan plan_resume(const RunState& state, std::span<const std::string> completed_in_events,
                       const Workflow& workflow, ResumedBy by) {
  ResumePlan plan;
  plan.kept_steps = state.completed_steps;
  plan.kept_ms = state.spent_ms;
  plan.kept_usage = state.usage;
  for (const Step& step : workflow.steps) {
    const bool completed = std::ranges::find(completed_in_events, step.id) != completed_in_events.end();
    const StepRecord* record = state.find(step.id);
    plan.steps.push_back(plan_step(step, record, completed, by));
    if (plan.steps.back().action == Action::changed)
      plan.kept_steps -= std::min(plan.kept_steps, completed_in(step, *record));
  }
  const auto any = [&](Action action) {
    return std::ranges::find(plan.steps, action, &StepPlan::action) != plan.steps.end();
  };
  if (state.status == RunStatus::completed || state.status == RunStatus::cancelled) {
    plan.verdict = ResumePlan::Verdict::nothing;
  } else if (workflow.hash != state.workflow_hash) {
    plan.verdict = ResumePlan::Verdict::changed;
  } else if (any(Action::stop)) {
    plan.verdict = ResumePlan::Verdict::stopped;
  }
  return plan;
}

}  // namespace pawl
