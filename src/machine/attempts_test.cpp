#include "machine/names.hpp"
#include "testing/machine_fixture.hpp"

namespace pawl::machine {
namespace {

using Paths = std::vector<std::string>;

TEST_F(MachineTest, RetriesWithBackoffUpToTheNumberOfAttempts) {
  Step a = handler("a");
  a.retry.attempts = 2;
  sequential({a});
  begin();
  end("a", 1);
  EXPECT_FALSE(finish().has_value());
  wait(Milliseconds(150));
  EXPECT_EQ(started(), (Paths{"a", "a"}));
  end("a", 1);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, AManualResumeGivesAFreshBudgetOfAttemptsAndAnAutomaticOneDoesNot) {
  sequential({handler("a")});
  begin();
  end("a", 1);
  crash_and_resume(true);
  EXPECT_EQ(started(), Paths{});
  EXPECT_EQ(finish()->status, RunStatus::failed);
  crash_and_resume(false);
  EXPECT_EQ(started(), Paths{"a"});
}

TEST_F(MachineTest, DoesNotRetryExitCodes126And127) {
  Step a = handler("a");
  a.retry.attempts = 3;
  sequential({a});
  begin();
  end("a", 127);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, DoesNotRetryTheCodesThatTheWorkflowExcludes) {
  Step a = handler("a");
  a.retry.attempts = 3;
  a.retry.no_retry_codes = std::vector{7};
  sequential({a});
  begin();
  end("a", 7);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, RetriesOnlyTheCodesThatTheWorkflowNames) {
  Step a = handler("a");
  a.retry.attempts = 3;
  a.retry.on_codes = std::vector{75};
  sequential({a});
  begin();
  end("a", 75);
  EXPECT_FALSE(finish().has_value());
  wait(Milliseconds(150));
  end("a", 1);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, WaitsAsLongAsTheStepAsksFor) {
  Step a = handler("a");
  a.retry.attempts = 2;
  sequential({a});
  begin();
  feed(fact::AttemptEnded{.node = at("a").id, .start = 1, .exit_code = 1, .retry_after = Milliseconds(60'000)});
  wait(Milliseconds(30'000));
  EXPECT_EQ(started(), Paths{"a"});
  wait(Milliseconds(31'000));
  EXPECT_EQ(started(), (Paths{"a", "a"}));
}

TEST_F(MachineTest, AnAttemptThatTimedOutFailsEvenIfItExitsWith0) {
  Step a = handler("a");
  a.timeout = Milliseconds(1'000);
  sequential({a});
  begin();
  wait(Milliseconds(1'000));
  ASSERT_EQ(all<command::StopAttempt>().size(), 1U);
  end("a", 0);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, TheTotalTimeoutCountsOnlyTimeInWhichAProcessDrivesTheRun) {
  Step a = handler("a");
  a.total_timeout = Milliseconds(10'000);
  sequential({a});
  begin();
  now.us += 3'600'000'000;
  crash_and_resume();
  commands.clear();
  wait(Milliseconds(1));
  EXPECT_TRUE(all<command::StopAttempt>().empty());
}

TEST_F(MachineTest, AnInterruptedAttemptIsNotCompletedWhateverItsExitCode) {
  sequential({handler("a")});
  begin();
  feed(fact::Interrupted{"SIGINT"});
  end("a", 0, "done");
  EXPECT_EQ(finish()->status, RunStatus::interrupted);
  EXPECT_EQ(at("a").record.attempts, 0U);
  crash_and_resume();
  EXPECT_EQ(started(), Paths{"a"});
}

TEST_F(MachineTest, AnInterruptEndsARunWithQueuedSteps) {
  workflow.parallel = 1;
  workflow.steps = {handler("a"), handler("b")};
  begin();
  feed(fact::Interrupted{"SIGINT"});
  end("a", 143);
  EXPECT_EQ(finish()->ending, Ending::interrupted);
}

TEST_F(MachineTest, AStartThatTheMachineRefusesIsNoAttempt) {
  sequential({handler("a")});
  begin();
  not_started("a", fact::Party::machine);
  EXPECT_EQ(at("a").record.attempts, 0U);
  wait(Milliseconds(200));
  EXPECT_EQ(started(), (Paths{"a", "a"}));
  end("a");
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, TroubleOfTheMachineThatLastsPausesTheRun) {
  sequential({map_of("m", {1, 2}, {handler("a")})});
  std::get<Map>(workflow.steps[0].work).on_item_failure = Map::OnItemFailure::dlq;
  begin();
  for (int i = 0; i < 20 && !finish(); ++i) {
    not_started("m[0].a", fact::Party::machine);
    wait(Milliseconds(4'000));
  }
  EXPECT_EQ(finish()->ending, Ending::machine_trouble);
  EXPECT_EQ(recorded_count<recorded::ItemEnded>(), 0U);
}

TEST_F(MachineTest, AnAttemptThatIsLostWithItsReaperRunsAgain) {
  sequential({handler("a")});
  begin();
  feed(fact::AttemptLost{at("a").id, 1, Report{.usage = {.tokens = 3}}});
  wait(Milliseconds(200));
  EXPECT_EQ(started(), (Paths{"a", "a"}));
  EXPECT_EQ(at("a").record.attempts, 0U);
  EXPECT_EQ(s.usage.tokens, 3U);
}

TEST_F(MachineTest, AReportThatACrashLeftBehindIsCountedOnce) {
  sequential({handler("a")});
  begin();
  feed(fact::AttemptReported{at("a").id, 1, Report{.usage = {.tokens = 4}}});
  commands.clear();
  s = parsed(restore(definition(), saved()));
  s.saving.durable = journal.size();
  feed(fact::AttemptLeft{"a", 1, Report{.usage = {.tokens = 6}}});
  feed(fact::RunResumed{});
  EXPECT_EQ(s.usage.tokens, 6U);
  EXPECT_EQ(all<command::StartAttempt>()[0].start, 2U);
}

TEST_F(MachineTest, OnFailureRunsAfterTheLastAttemptAndCanRescue) {
  Step a = handler("a");
  a.on_failure = list({handler("fix")});
  a.rescue = true;
  sequential({a});
  begin();
  end("a", 1);
  EXPECT_EQ(started(), (Paths{"a", "a.on_failure.fix"}));
  end("a.on_failure.fix");
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, ACrashInsideOnFailureContinuesThere) {
  Step a = handler("a");
  a.on_failure = list({handler("fix"), handler("tell")});
  sequential({a});
  begin();
  end("a", 1);
  end("a.on_failure.fix");
  crash_and_resume(true);
  EXPECT_EQ(started(), Paths{"a.on_failure.tell"});
}

TEST_F(MachineTest, LowConfidenceRunsItsStepsBeforeTheStepCompletes) {
  Step a = handler("a");
  a.confidence = LowConfidence{0.5, list({handler("check")})};
  sequential({a, handler("b")});
  begin();
  end("a", 0, "draft", Report{.confidence = 0.2});
  EXPECT_EQ(started(), (Paths{"a", "a.then.check"}));
  end("a.then.check");
  EXPECT_EQ(started().back(), "b");
  EXPECT_EQ(at("a").record.output, Json("draft"));
}

TEST_F(MachineTest, AnAttemptAcquiresItsLimitsAndReleasesThem) {
  Step a = handler("a");
  a.uses = {"openai"};
  sequential({a});
  begin();
  EXPECT_EQ(started(), Paths{});
  ASSERT_EQ(all<command::AcquirePermits>().size(), 1U);
  feed(fact::PermitsGranted{at("a").id});
  EXPECT_EQ(started(), Paths{"a"});
  end("a");
  EXPECT_EQ(all<command::ReleasePermits>().size(), 1U);
}

TEST_F(MachineTest, AHitInTheCacheCompletesTheStepWithoutAnAttempt) {
  Step a = handler("a");
  a.cache = Cache{text("key"), std::nullopt};
  sequential({a});
  begin();
  feed(fact::CacheAnswered{at("a").id, true, "known", "old@3"});
  EXPECT_EQ(started(), Paths{});
  EXPECT_EQ(at("a").record.output, Json("known"));
}

TEST_F(MachineTest, AMissInTheCacheRunsTheStepAndStoresItsResult) {
  Step a = handler("a");
  a.cache = Cache{text("key"), std::nullopt};
  sequential({a});
  begin();
  feed(fact::CacheAnswered{.node = at("a").id});
  end("a", 0, "fresh");
  ASSERT_EQ(all<command::StoreCache>().size(), 1U);
  EXPECT_EQ(all<command::StoreCache>()[0].key, "key");
}

TEST_F(MachineTest, TheOutputOfTheLastFailedAttemptIsThatOfTheStep) {
  Step a = handler("a");
  a.retry.attempts = 2;
  a.continue_on_error = true;
  sequential({a, handler("b")});
  begin();
  end("a", 1, "first");
  EXPECT_EQ(at("a").record.output, Json());
  wait(Milliseconds(150));
  end("a", 1, "second");
  EXPECT_EQ(status("a"), StepStatus::failed);
  EXPECT_EQ(at("a").record.output, "second");
  crash_and_resume();
  EXPECT_EQ(at("a").record.output, "second");
}

TEST_F(MachineTest, AStepThatRunsAgainStartsWithoutTheOutputOfItsFailure) {
  const std::string large(kOutputInline + 1, 'x');
  sequential({handler("a")});
  begin();
  end("a", 1, large);
  EXPECT_NE(at("a").record.output_event, 0U);
  crash_and_resume();
  EXPECT_EQ(at("a").record.output_event, 0U);
  EXPECT_EQ(output_of(at("a")).value_or("?"), Json());
  end("a", 0, "done");
  EXPECT_EQ(at("a").record.output, "done");
}

TEST_F(MachineTest, StepsOnFailureAndWhatFollowsThemKnowTheOutputOfTheFailure) {
  Step a = handler("a");
  a.on_failure = list({handler("f")});
  a.continue_on_error = true;
  sequential({a});
  begin();
  end("a", 1, "cause");
  EXPECT_EQ(at("a").record.output, "cause");
  crash_and_resume();
  EXPECT_EQ(at("a").record.output, "cause");
  end(started().at(0));
  EXPECT_EQ(status("a"), StepStatus::failed);
  EXPECT_EQ(at("a").record.output, "cause");
}

TEST_F(MachineTest, ARescuedStepHasNoOutput) {
  Step a = handler("a");
  a.on_failure = list({handler("f")});
  a.rescue = true;
  sequential({a});
  begin();
  end("a", 1, "cause");
  end(started().back());
  EXPECT_EQ(status("a"), StepStatus::completed);
  EXPECT_EQ(at("a").record.output, Json());
}

TEST_F(MachineTest, TheStartOfAnItemsStepIsThatOfItsAttempt) {
  sequential({map_of("m", {1}, {handler("a"), handler("b")})});
  begin();
  const Timestamp began = now;
  now.us += 70'000;
  const Node& a = at("m[0].a");
  feed(fact::AttemptEnded{.node = a.id, .start = 1, .ms = 70});
  EXPECT_EQ(at("m[0].a").record.started.us, began.us);
  now.us += 30'000;
  const Node& b = at("m[0].b");
  feed(fact::AttemptEnded{.node = b.id, .start = 1, .exit_code = 1, .ms = 30});
  EXPECT_EQ(at("m[0].b").record.started.us, began.us + 70'000);
  const auto tells = all<command::Tell>();
  const auto failed = std::ranges::find(tells, "item_failed", &command::Tell::type);
  ASSERT_NE(failed, tells.end());
  EXPECT_EQ(failed->data["ms"], 100);
}

TEST_F(MachineTest, AReportLeftInTheLastIterationOfALoopThatIsUsedUpIsNotCountedAgain) {
  Step l = loop_of("l", 1, {handler("a")});
  std::get<Loop>(l.work).until = expression("false");
  sequential({l});
  begin();
  end("l[1].a", 0, {}, {.usage = {.tokens = 5}});
  EXPECT_EQ(at("l").record.reason, StepReason::exhausted);
  s = parsed(restore(definition(), saved()));
  feed(fact::AttemptLeft{"l[1].a", 1, {.usage = {.tokens = 5}}});
  EXPECT_EQ(s.usage.tokens, 5U);
}

}  // namespace
}  // namespace pawl::machine
