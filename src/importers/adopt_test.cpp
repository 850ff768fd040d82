#include "importers/adopt.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

Step step_of(std::string id, std::string stage = {}) {
  Step step;
  step.id = std::move(id);
  step.stage = std::move(stage);
  step.definition_hash = std::string(64, 'a');
  return step;
}

Workflow workflow_of(std::vector<Step> steps) {
  Workflow workflow;
  workflow.name = "w";
  workflow.hash = "sha256:1";
  for (Step& step : steps) workflow.steps.push_back(std::move(step));
  return workflow;
}

Result<std::string> here(const Json&) { return std::string("/here"); }

std::vector<std::string> completed(const RunState& state) {
  std::vector<std::string> found;
  for (const auto& [path, record] : state.steps) {
    if (record.status == StepStatus::completed) found.push_back(path);
  }
  return found;
}

TEST(Adopt, FindsStepsByIdByPlaceAndByStage) {
  const Workflow workflow =
      workflow_of({step_of("a"), step_of("b"), step_of("c", "s"), step_of("d", "s"), step_of("e")});
  ImportedRun run;
  run.steps = {{.id = "a", .output = {}},
               {.index = 1, .output = {}},
               {.stage = "s", .output = {}},
               {.stage = "unknown", .output = {}}};
  const auto adopted = adopt_run(run, workflow, here, 0);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(completed(adopted->state), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(adopted->state.status, RunStatus::interrupted);
  EXPECT_EQ(adopted->state.working_dir, "/here");
  EXPECT_EQ(adopted->state.find("a")->definition, "aaaaaaaa");
  EXPECT_EQ(adopted->notes.size(), 1U);
}

TEST(Adopt, RefusesAWorkflowThatLacksACompletedStep) {
  ImportedRun run;
  run.steps = {{.id = "z", .output = {}}};
  const auto adopted = adopt_run(run, workflow_of({step_of("a")}), here, 0);
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, Code::workflow_mismatch);
  run.steps = {{.index = 7, .output = {}}};
  EXPECT_FALSE(adopt_run(run, workflow_of({step_of("a")}), here, 0));
}

TEST(Adopt, NeverTakesAGateAsPassed) {
  Step gate = step_of("gate");
  gate.work = Approve{};
  ImportedRun run;
  run.completed = true;
  const auto adopted = adopt_run(run, workflow_of({step_of("a"), gate}), here, 0);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(completed(adopted->state), std::vector<std::string>{"a"});
  EXPECT_EQ(adopted->state.status, RunStatus::interrupted);
}

TEST(Adopt, KeepsACompletedStepCompletedWhateverIsSaidLater) {
  ImportedRun run;
  run.steps = {{.id = "a", .output = Json(1)},
               {.id = "a", .status = StepStatus::interrupted, .output = {}},
               {.id = "a", .output = {}}};
  const auto adopted = adopt_run(run, workflow_of({step_of("a")}), here, 0);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->state.find("a")->output, Json(1));
  EXPECT_EQ(adopted->state.status, RunStatus::completed);
}

TEST(Adopt, PutsALargeOutputIntoAnEventThatTheStateNames) {
  ImportedRun run;
  run.steps = {{.id = "a", .output = std::string(5000, 'x')},
               {.id = "b", .status = StepStatus::failed, .output = {}, .error = "no"}};
  const auto adopted = adopt_run(run, workflow_of({step_of("a"), step_of("b")}), here, 7);
  ASSERT_TRUE(adopted);
  ASSERT_EQ(adopted->events.size(), 1U);
  EXPECT_EQ(adopted->state.find("a")->output_event, 8U);
  EXPECT_EQ(adopted->state.status, RunStatus::failed);
}

TEST(Adopt, TakesDeclaredVariablesAloneAndAsksForThoseThatMustBeGiven) {
  Workflow workflow = workflow_of({step_of("a")});
  workflow.vars = {{"x", Json(1), false}, {"y", Json(), true}};
  ImportedRun run;
  run.vars = {{"z", 1}};
  EXPECT_EQ(adopt_run(run, workflow, here, 0).error().code, Code::invalid_variable);
  run.vars = {{"y", 2}, {"z", 1}};
  EXPECT_EQ(adopt_run(run, workflow, here, 0)->state.vars, Json::parse(R"({"x":1,"y":2})"));
}

}  // namespace
}  // namespace pawl
