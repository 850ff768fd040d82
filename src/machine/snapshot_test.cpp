#include "machine/snapshot.hpp"

#include "domain/rolled_back.hpp"
#include "machine/progress.hpp"
#include "testing/machine_fixture.hpp"

namespace pawl::machine {
namespace {

using Paths = std::vector<std::string>;

const Json& large() {
  static const Json kLarge = std::string(2 * kOutputInline, 'x');
  return kLarge;
}

std::vector<std::string> paths_of(const RunState& state) {
  std::vector<std::string> paths;
  for (const auto& [path, record] : state.steps) paths.push_back(path);
  return paths;
}

TEST_F(MachineTest, ASnapshotContainsStartedStepsInTheOrderOfTheWorkflow) {
  sequential({loop_of("l", 2, {handler("a"), handler("b")}), handler("z")});
  begin();
  end("l[1].a");
  EXPECT_EQ(paths_of(saved()), (Paths{"l", "l[1].a", "l[1].b"}));
  end("l[1].b");
  end("l[2].a");
  end("l[2].b");
  EXPECT_EQ(paths_of(saved()), (Paths{"l", "z"}));
}

TEST_F(MachineTest, ALargeOutputIsNamedByItsEventAndLoadedAfterAResume) {
  Step b = step_of("b", CallHandler{"b", value({{"of", "${steps.a.output}"}})});
  sequential({handler("a"), b});
  begin();
  end("a", 0, large());
  const std::uint64_t record = at("a").record.output_event;
  RunState state = snapshot(s, RunState(), [&](std::uint64_t number) { return number + 100; });
  EXPECT_EQ(state.find("a")->output_event, record + 100);
  EXPECT_TRUE(state.find("a")->output.is_null());
  durable = text_of(state);
  crash_and_resume();
  EXPECT_TRUE(started().empty());
  ASSERT_EQ(all<command::LoadOutput>().size(), 1U);
  EXPECT_EQ(all<command::LoadOutput>()[0].record, record + 100);
  EXPECT_LE(record + 100, s.base) << "numbers of events and of new records must differ";
  feed(fact::OutputLoaded{.node = at("a").id, .output = large()});
  EXPECT_EQ(started(), Paths{"b"});
}

TEST_F(MachineTest, ALargeOutputOfTheIterationBeforeIsLoadedAfterAResume) {
  Step b = step_of("b", CallHandler{"b", value({{"before", "${default(loop.previous.a.output, 'none')}"}})});
  sequential({loop_of("l", 2, {handler("a"), b})});
  begin();
  end("l[1].a", 0, large());
  end("l[1].b");
  EXPECT_FALSE(saved().find("l")->previous["a"].contains("output"));
  crash_and_resume();
  ASSERT_EQ(all<command::LoadOutput>().size(), 1U);
  EXPECT_EQ(all<command::LoadOutput>()[0].path, "l");
  feed(fact::OutputLoaded{.node = at("l").id, .output = large()});
  EXPECT_EQ(started(), Paths{"l[2].a"});
  end("l[2].a");
  EXPECT_EQ(*at("l").previous.at("a"), large());
}

TEST_F(MachineTest, TheOutputOfALoopIsThatOfItsLastIterationAlsoAfterAResume) {
  sequential({loop_of("l", 1, {handler("a")}), handler("z")});
  begin();
  end("l[1].a", 0, large());
  EXPECT_NE(saved().find("l")->output_event, 0U);
  EXPECT_EQ(saved().find("l")->status, StepStatus::completed);
}

TEST_F(MachineTest, AGateLoadsALargeOutputBeforeItAsksAgain) {
  sequential({handler("a"), gate("g")});
  begin();
  end("a", 0, large());
  const std::string binding = at("g").record.binding;
  crash_and_resume();
  approve("g");
  EXPECT_EQ(status("g"), StepStatus::waiting) << "the decision waits for the prompt";
  feed(fact::OutputLoaded{.node = at("a").id, .output = large()});
  EXPECT_EQ(at("g").record.binding, binding);
  EXPECT_EQ(status("g"), StepStatus::completed);
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, ASecondAnswerToAGateIsRefused) {
  stays = true;
  sequential({gate("g"), handler("z")});
  begin();
  const std::string binding = at("g").record.binding;
  approve("g");
  post({.type = fact::MessageType::reject, .path = "g", .binding = binding, .by = "bob"});
  EXPECT_EQ(recorded_count<recorded::Decided>(), 1U);
  EXPECT_EQ(status("g"), StepStatus::completed);
  EXPECT_EQ(std::get<recorded::MessageTaken>(journal.back().fact).answer, recorded::Answer::refused);
}

TEST_F(MachineTest, ADecisionAfterTheCancellationIsRefused) {
  stays = true;
  workflow.finally = list({handler("clean")});
  sequential({gate("g")});
  begin();
  post({.type = fact::MessageType::cancel, .text = "enough"});
  EXPECT_EQ(started(), Paths{"finally[1].clean"});
  approve("g");
  EXPECT_EQ(recorded_count<recorded::Decided>(), 0U);
  EXPECT_EQ(std::get<recorded::MessageTaken>(journal.back().fact).answer, recorded::Answer::refused);
}

TEST_F(MachineTest, ADecisionDuringAnInterruptStaysForTheNextExecution) {
  workflow.steps = {gate("g"), handler("a")};
  begin();
  feed(fact::Interrupted{"signal"});
  approve("g");
  EXPECT_EQ(recorded_count<recorded::MessageTaken>(), 0U);
  end("a", 143);
  EXPECT_EQ(finish()->ending, Ending::interrupted);
}

TEST_F(MachineTest, AStepWhoseDefinitionChangedIsOpenAndItsCostCounted) {
  sequential({handler("a"), handler("b")});
  begin();
  end("a", 0, {}, Report{.usage = {.tokens = 5}});
  workflow.steps[0].definition_hash = "other";
  crash_and_resume(false, true);
  EXPECT_EQ(started(), Paths{"a"});
  EXPECT_EQ(all<command::StartAttempt>()[0].start, 2U);
  EXPECT_EQ(s.usage.tokens, 5U);
  end("a", 0, {}, Report{.usage = {.tokens = 4}});
  EXPECT_EQ(s.usage.tokens, 9U);
}

TEST_F(MachineTest, StepsThatTheWorkflowNoLongerHasAreDropped) {
  sequential({handler("a"), handler("b")});
  begin();
  end("a", 0, {}, Report{.usage = {.tokens = 5}});
  sequential({handler("b")});
  crash_and_resume(false, true);
  EXPECT_EQ(started(), Paths{"b"});
  EXPECT_EQ(s.usage.tokens, 5U);
  EXPECT_EQ(paths_of(saved()), Paths{"b"});
}

TEST_F(MachineTest, TimeBetweenExecutionsIsNotDriven) {
  Step a = handler("a");
  a.total_timeout = Milliseconds(10'000);
  sequential({a});
  begin();
  wait(Milliseconds(4'000));
  feed(fact::AttemptReported{at("a").id, 1, Report{.usage = {.tokens = 1}}});
  now.us += 3'600'000'000;
  s = parsed(restore(definition(), saved()));
  commands.clear();
  feed(fact::AttemptLeft{"a", 1, Report{.usage = {.tokens = 2}}});
  feed(fact::RunResumed{});
  ASSERT_EQ(all<command::SetTimer>().size(), 1U);
  EXPECT_EQ(all<command::SetTimer>()[0].kind, TimerKind::total_timeout);
  EXPECT_EQ(all<command::SetTimer>()[0].due.us - now.us, 6'000'000);
  EXPECT_EQ(s.usage.tokens, 2U);
}

TEST_F(MachineTest, ALostExecutionOfAnOlderProgramContinuesInsideOnFailure) {
  Step a = handler("a");
  a.on_failure = list({handler("fix"), handler("tell")});
  sequential({a, handler("z")});
  StepRecord owner;
  owner.status = StepStatus::interrupted;
  owner.error = "exit status 1";
  StepRecord done;
  done.status = StepStatus::completed;
  done.attempts = 1;
  RunState old;
  old.status = RunStatus::interrupted;
  old.steps = {{"a", owner}, {"a.on_failure.fix", done}};
  durable = text_of(old);
  crash_and_resume();
  EXPECT_EQ(started(), Paths{"a.on_failure.tell"});
}

TEST_F(MachineTest, ALoopOfAnOlderProgramGetsNoMoreIterations) {
  sequential({loop_of("l", 3, {handler("a")})});
  StepRecord loop;
  loop.status = StepStatus::interrupted;
  loop.iteration = 3;
  RunState old;
  old.steps = {{"l", loop}};
  durable = text_of(old);
  crash_and_resume();
  EXPECT_EQ(started(), Paths{"l[3].a"});
  end("l[3].a");
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, AStateSurvivesJson) {
  StepRecord record;
  record.aside = Aside::low_confidence;
  record.previous = {{"a", {{"output", 1}, {"status", "completed"}}}};
  record.passed_breakpoint = true;
  record.driven_from_us = 0;
  record.counted_start = 2;
  record.counted.tokens = 7;
  record.child_number = 9;
  record.child_with = "abc";
  record.child_usage.usd = 0.5;
  record.no_output = true;
  EXPECT_EQ(parsed(StepRecord::from_json(record.to_json())), record);
  EXPECT_EQ(StepRecord().to_json(), Json({{"status", "pending"}}));
}

TEST_F(MachineTest, ARollbackKeepsWhatMustNotBeGivenBack) {
  sequential({handler("a"), handler("b")});
  begin();
  end("a", 0, {}, Report{.usage = {.tokens = 5}});
  RunState point = saved();
  point.events = 4;
  end("b", 1, {}, Report{.usage = {.tokens = 7}});
  RunState newest = saved();
  newest.events = 9;
  newest.consumed = {"m1"};
  const RunState back = rolled_back(point, newest);
  EXPECT_EQ(back.lost.text(), "5-9");
  EXPECT_EQ(back.events, 9U);
  EXPECT_EQ(back.records, newest.records);
  EXPECT_EQ(back.usage.tokens, 12U);
  EXPECT_EQ(back.consumed, Paths{"m1"});
  EXPECT_EQ(back.rollbacks, 1U);
  EXPECT_EQ(back.starts.at("b"), 1U);
  EXPECT_EQ(back.status, RunStatus::interrupted);
  // A second rollback, to a checkpoint that the first one took back, has that checkpoint's events again.
  EXPECT_EQ(rolled_back(newest, back).lost.text(), "");
}

}  // namespace
}  // namespace pawl::machine
