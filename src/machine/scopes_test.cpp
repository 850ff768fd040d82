#include "domain/rolled_back.hpp"
#include "testing/machine_fixture.hpp"

namespace pawl::machine {
namespace {

using Paths = std::vector<std::string>;

TEST_F(MachineTest, StartsAStepWhenTheOneBeforeItIsDurablyCompleted) {
  sequential({handler("a"), handler("b")});
  begin();
  EXPECT_EQ(started(), Paths{"a"});
  end("a");
  EXPECT_EQ(started(), (Paths{"a", "b"}));
}

TEST_F(MachineTest, RecordsAnEndAndTheNextStartTogether) {
  sequential({handler("a"), handler("b")});
  begin();
  commands.clear();
  end("a");
  const auto saves = all<command::Save>();
  ASSERT_EQ(saves.size(), 1U);
  std::vector<std::string_view> types;
  for (const Record& record : saves[0].batch->records) types.push_back(type_of(record.fact));
  EXPECT_EQ(types, (std::vector<std::string_view>{"step_settled", "step_started"}));
}

TEST_F(MachineTest, DoesNotStartTheNextStepBeforeTheSaveIsDurable) {
  sequential({handler("a"), handler("b")});
  begin();
  commands.clear();
  saves_succeed = false;
  end("a");
  EXPECT_EQ(started(), Paths{});
  feed(fact::SaveDurable{all<command::Save>().back().batch->id});
  EXPECT_EQ(started(), Paths{"b"});
}

TEST_F(MachineTest, RunsStepsWithoutNeedsAtTheSameTime) {
  workflow.steps = {handler("a"), handler("b")};
  begin();
  EXPECT_EQ(started(), (Paths{"a", "b"}));
}

TEST_F(MachineTest, SkipsAStepWhoseNeedWasSkipped) {
  Step a = handler("a");
  a.when = expression("false");
  Step b = handler("b");
  b.needed = {0};
  sequential({a, b});
  begin();
  EXPECT_EQ(status("b"), StepStatus::skipped);
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, RunsAnAlwaysStepAfterAFailure) {
  Step last = handler("last");
  last.when = expression("always()");
  sequential({handler("a"), handler("b"), last});
  begin();
  end("a", 1);
  EXPECT_EQ(started(), (Paths{"a", "last"}));
  end("last");
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, KeepsACompletedAlwaysStepAtAResume) {
  Step last = handler("last");
  last.when = expression("always()");
  sequential({handler("a"), last});
  begin();
  end("a", 1);
  end("last");
  crash_and_resume();
  EXPECT_EQ(started(), Paths{"a"});
  end("a");
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, AQueuedStepDoesNotStartAfterAFailure) {
  workflow.parallel = 1;
  workflow.steps = {handler("a"), handler("b")};
  begin();
  end("a", 1);
  EXPECT_EQ(started(), Paths{"a"});
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, AStepThatIsAboutToStartDoesNotStartAfterAFailure) {
  workflow.steps = {handler("a"), handler("c"), handler("b")};
  workflow.steps[2].after = {1};
  begin();
  saves_succeed = false;
  end("c");
  end("a", 1);
  saves_succeed = true;
  feed(fact::SaveDurable{all<command::Save>().back().batch->id});
  EXPECT_EQ(started(), (Paths{"a", "c"}));
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, FailFastEndsASleepAGateAndABackoffBesideIt) {
  workflow.fail_fast = true;
  Step again = handler("again");
  again.retry.attempts = 3;
  workflow.steps = {handler("a"), step_of("nap", Sleep{text("1h")}), gate("ok"), again};
  begin();
  end("again", 1);
  end("a", 1);
  EXPECT_EQ(status("nap"), StepStatus::cancelled);
  EXPECT_EQ(status("ok"), StepStatus::cancelled);
  EXPECT_EQ(all<command::ClosePrompt>().size(), 1U);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, FailFastStopsAChildBesideIt) {
  workflow.fail_fast = true;
  workflow.steps = {handler("a"), step_of("c", CallWorkflow{"c.yaml", value(Json::object())})};
  begin();
  feed(fact::ChildOpened{at("c").id, "r.c"});
  end("a", 1);
  ASSERT_EQ(all<command::StopChild>().size(), 1U);
  EXPECT_FALSE(finish().has_value());
  feed(fact::ChildEnded{.node = at("c").id, .status = RunStatus::interrupted});
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, RunsAGateInsideTheWorkflowsOnFailure) {
  sequential({handler("a")});
  workflow.on_failure = list({gate("ask"), handler("clean")});
  begin();
  end("a", 1);
  EXPECT_EQ(finish()->status, RunStatus::waiting);
  stays = true;
  crash_and_resume(true);
  approve("on_failure.ask");
  EXPECT_EQ(started(), Paths{"on_failure.clean"});
  end("on_failure.clean");
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, AFailedStageIsNotCompleted) {
  Step a = handler("a");
  a.stage = "one";
  workflow.stages = {{"one", Stage::Type::sequential}};
  sequential({a});
  begin();
  end("a", 1);
  EXPECT_EQ(recorded_count<recorded::PhaseCompleted>(), 0U);
}

TEST_F(MachineTest, ACheckpointCanHaveSeveralLabels) {
  Step a = handler("a");
  a.stage = "one";
  Step b = handler("b");
  b.risky = true;
  workflow.stages = {{"one", Stage::Type::sequential}};
  sequential({a, b});
  begin();
  commands.clear();
  end("a");
  std::vector<Reason> reasons;
  const SaveBatch batch = *all<command::Save>()[0].batch;
  for (const Label& label : batch.labels) reasons.push_back(label.reason);
  EXPECT_EQ(reasons, (std::vector{Reason::after_step, Reason::stage_completed}));
}

TEST_F(MachineTest, StopsAtABreakpointUntilItIsResumed) {
  Step b = handler("b");
  b.breakpoint = Breakpoint::before;
  sequential({handler("a"), b});
  begin();
  end("a");
  EXPECT_EQ(finish()->ending, Ending::waiting);
  crash_and_resume();
  EXPECT_EQ(started(), Paths{"b"});
}

TEST_F(MachineTest, ABudgetStopsTheRunBetweenAttempts) {
  workflow.budget.tokens = 10;
  Step a = handler("a");
  a.retry.attempts = 2;
  sequential({a});
  begin();
  end("a", 1, {}, Report{.usage = {.tokens = 10}});
  wait(Milliseconds(200));
  EXPECT_EQ(started(), Paths{"a"});
  EXPECT_EQ(finish()->ending, Ending::waiting);
  EXPECT_EQ(waiting_for(s), std::vector<std::string>{"a larger budget"});
}

TEST_F(MachineTest, TheCostOfARunningAttemptCountsAtOnce) {
  workflow.budget.tokens = 10;
  workflow.steps = {handler("a"), handler("b")};
  workflow.steps[1].retry.attempts = 2;
  begin();
  feed(fact::AttemptReported{at("a").id, 1, Report{.usage = {.tokens = 12}}});
  end("b", 1);
  wait(Milliseconds(200));
  EXPECT_EQ(started(), (Paths{"a", "b"}));
  end("a", 0, {}, Report{.usage = {.tokens = 15}});
  EXPECT_EQ(s.usage.tokens, 15U);
}

TEST_F(MachineTest, AddedStepsThatCompletedDoNotRunAgainAfterAcceptedChanges) {
  sequential({handler("a"), handler("z")});
  begin();
  auto with_parser = std::make_shared<Definition>(*s.definition);
  const auto parse = [](const Json&, const Steps&, std::size_t after) -> Result<Steps> {
    Step more = handler("more");
    more.after = {after};
    return Steps{more};
  };
  with_parser->parse_added = parse;
  s.definition = with_parser;
  const Node& a = at("a");
  feed(fact::AttemptEnded{.node = a.id, .start = 1, .add_steps = Json::array({"more"})});
  EXPECT_EQ(started(), (Paths{"a", "more"}));
  end("more");
  commands.clear();
  s = parsed(restore(with_parser, saved()));
  feed(fact::RunResumed{.changes_accepted = true});
  EXPECT_EQ(started(), Paths{"z"});
}

TEST_F(MachineTest, ARollbackOpensTheStepsAfterItAndKeepsTheirCost) {
  sequential({handler("a"), handler("b")});
  begin();
  end("a", 0, {}, Report{.usage = {.tokens = 5}});
  const RunState point = saved();
  end("b", 0, {}, Report{.usage = {.tokens = 7}});
  durable = text_of(rolled_back(point, saved()));
  crash_and_resume();
  EXPECT_EQ(started(), Paths{"b"});
  EXPECT_EQ(all<command::StartAttempt>()[0].start, 2U);
  EXPECT_EQ(s.usage.tokens, 12U);
}

}  // namespace
}  // namespace pawl::machine
