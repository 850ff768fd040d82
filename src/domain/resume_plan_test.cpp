#include "domain/resume_plan.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using Action = StepPlan::Action;

Step command(const std::string& id) {
  Step step;
  step.id = id;
  step.definition_hash = "hash-of-" + id;
  step.work = RunCommand{};
  return step;
}

Workflow one_step(Step step) {
  Workflow workflow;
  workflow.hash = "sha256:w";
  workflow.steps.push_back(std::move(step));
  return workflow;
}

StepRecord record(StepStatus status) {
  StepRecord made;
  made.status = status;
  if (is_settled(status)) made.definition = "hash-of-a";
  return made;
}

RunState state_with(std::optional<StepRecord> step) {
  RunState state;
  state.workflow_hash = "sha256:w";
  state.status = RunStatus::interrupted;
  if (step) state.steps.emplace_back("a", *step);
  return state;
}

Action planned(const Step& step, const std::optional<StepRecord>& known, ResumedBy by = ResumedBy::person) {
  return plan_resume(state_with(known), {}, one_step(step), by).steps.front().action;
}

TEST(PlanResume, AStepThatHasNotBegunIsRun) {
  EXPECT_EQ(planned(command("a"), std::nullopt), Action::run);
  EXPECT_EQ(planned(command("a"), record(StepStatus::pending)), Action::run);
}

TEST(PlanResume, ACompletedOrSkippedStepIsKept) {
  EXPECT_EQ(planned(command("a"), record(StepStatus::completed)), Action::keep);
  EXPECT_EQ(planned(command("a"), record(StepStatus::skipped)), Action::keep);
}

TEST(PlanResume, AStepThatWasRunningOrInterruptedIsExecutedAgain) {
  EXPECT_EQ(planned(command("a"), record(StepStatus::running)), Action::again);
  EXPECT_EQ(planned(command("a"), record(StepStatus::interrupted)), Action::again);
}

TEST(PlanResume, AFailedStepIsRetriedByAPersonWhateverItsAttempts) {
  StepRecord failed = record(StepStatus::failed);
  failed.attempts = failed.spent = 3;
  failed.retryable = false;
  EXPECT_EQ(planned(command("a"), failed), Action::retry);
}

TEST(PlanResume, AnAutomaticResumeHasOnlyTheAttemptsThatAreLeft) {
  Step step = command("a");
  step.retry.attempts = 3;
  StepRecord failed = record(StepStatus::failed);
  failed.spent = 2;
  EXPECT_EQ(planned(step, failed, ResumedBy::automatic), Action::retry);
  failed.spent = 3;
  EXPECT_EQ(planned(step, failed, ResumedBy::automatic), Action::stop);
  failed.spent = 0;
  failed.retryable = false;
  EXPECT_EQ(planned(step, failed, ResumedBy::automatic), Action::stop);
}

TEST(PlanResume, ARejectedGateStopsWhoeverResumes) {
  StepRecord rejected = record(StepStatus::failed);
  rejected.reason = StepReason::rejected;
  Step gate = command("a");
  gate.work = Approve{};
  EXPECT_EQ(planned(gate, rejected), Action::stop);
  EXPECT_EQ(plan_resume(state_with(rejected), {}, one_step(gate), ResumedBy::person).verdict,
            ResumePlan::Verdict::stopped);
}

TEST(PlanResume, AFailureThatWasAcceptedIsKept) {
  Step step = command("a");
  step.continue_on_error = true;
  EXPECT_EQ(planned(step, record(StepStatus::failed)), Action::keep);
}

TEST(PlanResume, WhatWaitsGoesOnWaiting) {
  Step gate = command("a");
  gate.work = Approve{};
  EXPECT_EQ(planned(gate, record(StepStatus::waiting)), Action::wait);
  gate.work = Sleep{};
  EXPECT_EQ(planned(gate, record(StepStatus::waiting)), Action::wait);
  gate.work = WaitFor{};
  EXPECT_EQ(planned(gate, record(StepStatus::waiting)), Action::wait);
}

TEST(PlanResume, LoopsMapsAndChildrenGoOnWhereTheyWere) {
  Step step = command("a");
  for (const Work& work : {Work(Loop{}), Work(Map{}), Work(CallWorkflow{})}) {
    step.work = work;
    EXPECT_EQ(planned(step, record(StepStatus::running)), Action::go_on);
    EXPECT_EQ(planned(step, record(StepStatus::interrupted)), Action::go_on);
    EXPECT_EQ(planned(step, record(StepStatus::waiting)), Action::go_on);
    EXPECT_EQ(planned(step, record(StepStatus::failed)), Action::retry);
  }
}

TEST(PlanResume, AChangedCompletedStepIsNamed) {
  Step changed = command("a");
  changed.definition_hash = "another";
  EXPECT_EQ(planned(changed, record(StepStatus::completed)), Action::changed);
}

TEST(PlanResume, ACompletionAmongTheEventsIsNotForgottenByAnOlderCheckpoint) {
  const std::vector<std::string> completed{"a"};
  for (const auto& known : {std::optional<StepRecord>(), std::optional(record(StepStatus::running))}) {
    EXPECT_EQ(plan_resume(state_with(known), completed, one_step(command("a")), ResumedBy::person).steps.front().action,
              Action::keep);
  }
}

TEST(PlanResume, TheVerdictSaysWhetherToGoOn) {
  RunState state = state_with(record(StepStatus::running));
  const Workflow workflow = one_step(command("a"));
  for (const RunStatus status : {RunStatus::running, RunStatus::waiting, RunStatus::failed, RunStatus::interrupted}) {
    state.status = status;
    EXPECT_EQ(plan_resume(state, {}, workflow, ResumedBy::person).verdict, ResumePlan::Verdict::go);
  }
  for (const RunStatus status : {RunStatus::completed, RunStatus::cancelled}) {
    state.status = status;
    EXPECT_EQ(plan_resume(state, {}, workflow, ResumedBy::person).verdict, ResumePlan::Verdict::nothing);
  }
  state.status = RunStatus::failed;
  state.workflow_hash = "sha256:other";
  EXPECT_EQ(plan_resume(state, {}, workflow, ResumedBy::person).verdict, ResumePlan::Verdict::changed);
}

TEST(RunState, IsReadAsItWasWritten) {
  RunState state = state_with(record(StepStatus::completed));
  state.vars = {{"topic", "tides"}};
  state.usage = {.tokens = 7, .usd = 0.5, .api_calls = 1};
  state.signals = {R"({"signal":"go"})"};
  state.consumed = {"m1"};
  state.added.push_back({"a", Json::array({{{"id", "b"}}})});
  StepRecord map = record(StepStatus::running);
  map.map = MapProgress{.total = 5,
                        .items_hash = "h",
                        .done = *IndexRanges::parse("0-2"),
                        .failed = *IndexRanges::parse("1"),
                        .trips = 1};
  map.partial = {{"page", 3}};
  map.output_event = 9;
  state.steps.emplace_back("pages", map);
  const Result<RunState> back = RunState::from_json(state.to_json());
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_EQ(compact(back->to_json()), compact(state.to_json()));
  EXPECT_EQ(*back->find("pages"), map);
}

TEST(RunState, OtherStatesAreNotTakenForOne) {
  for (const char* text : {"{}", "[]", "3", R"({"pawl":"run/2"})"}) {
    EXPECT_EQ(RunState::from_json(Json::parse(text)).error().code, Code::not_a_workflow_run) << text;
  }
  EXPECT_EQ(RunState::from_json(Json::parse(R"({"pawl":"run/1","status":"odd"})")).error().code,
            Code::state_reconstruction_failed);
}

}  // namespace
}  // namespace pawl
