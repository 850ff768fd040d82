#include "testing/machine_fixture.hpp"

namespace pawl::machine {
namespace {

using Paths = std::vector<std::string>;

TEST_F(MachineTest, AGateAsksAndAnApprovalContinues) {
  stays = true;
  sequential({gate("ok"), handler("a")});
  begin();
  ASSERT_EQ(all<command::Ask>().size(), 1U);
  approve("ok");
  EXPECT_EQ(all<command::ClosePrompt>().size(), 1U);
  EXPECT_EQ(started(), Paths{"a"});
}

TEST_F(MachineTest, TheFirstRecordedAnswerToAGateCounts) {
  stays = true;
  sequential({gate("ok"), handler("a")});
  begin();
  approve("ok");
  approve("ok", fact::MessageType::reject);
  EXPECT_EQ(status("ok"), StepStatus::completed);
  EXPECT_EQ(all<command::TakeMessage>().size(), 2U);
}

TEST_F(MachineTest, ADecisionAboutOtherInputsIsRefused) {
  stays = true;
  sequential({gate("ok")});
  begin();
  post({.type = fact::MessageType::approve, .path = "ok", .binding = "sha256:0"});
  EXPECT_EQ(status("ok"), StepStatus::waiting);
  EXPECT_EQ(all<command::TakeMessage>().size(), 1U);
}

TEST_F(MachineTest, ARejectionIsNotRetriedEvenAfterAResume) {
  stays = true;
  Step ok = gate("ok");
  ok.retry.attempts = 3;
  sequential({ok});
  begin();
  approve("ok", fact::MessageType::reject);
  EXPECT_EQ(finish()->status, RunStatus::failed);
  crash_and_resume();
  EXPECT_TRUE(all<command::Ask>().empty());
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, AMessageThatIsDeliveredAgainAfterACrashHasNoSecondEffect) {
  stays = true;
  sequential({step_of("go", WaitFor{"s", std::nullopt}), step_of("again", WaitFor{"s", std::nullopt})});
  begin();
  post({.type = fact::MessageType::signal, .text = "s"});
  crash_and_resume();
  feed(fact::MessageArrived{.id = "m1", .type = fact::MessageType::signal, .text = "s"});
  EXPECT_EQ(status("again"), StepStatus::waiting);
  EXPECT_EQ(all<command::TakeMessage>().size(), 1U);
}

TEST_F(MachineTest, AMessageIsRemovedOnlyWhenItsEffectIsDurable) {
  stays = true;
  sequential({gate("ok"), handler("a")});
  begin();
  saves_succeed = false;
  approve("ok");
  EXPECT_TRUE(all<command::TakeMessage>().empty());
}

TEST_F(MachineTest, AnEarlySignalIsKeptAndConsumedOnce) {
  sequential({handler("a"), step_of("go", WaitFor{"s", std::nullopt})});
  begin();
  post({.type = fact::MessageType::signal, .text = "s", .payload = 5});
  end("a");
  EXPECT_EQ(at("go").record.output, Json(5));
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, ASleepGoesOnForTheRestOfItsTimeAfterACrash) {
  sequential({step_of("nap", Sleep{text("10m")})});
  begin();
  now.us += 540'000'000;
  crash_and_resume();
  wait(Milliseconds(61'000));
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, TheExecutionStaysUntilThePersonPostponedEveryGate) {
  asks_a_person = true;
  workflow.steps = {gate("a"), gate("b"), handler("c")};
  begin();
  end("c");
  EXPECT_FALSE(finish());
  feed(fact::AnswerPostponed{"a"});
  feed(fact::AnswerPostponed{"a"});
  EXPECT_FALSE(finish());
  approve("a");
  EXPECT_FALSE(finish());
  feed(fact::AnswerPostponed{"b"});
  ASSERT_TRUE(finish());
  EXPECT_EQ(finish()->status, RunStatus::waiting);
}

/// Whatever is handled between the question and the prompt must not end the execution.
TEST_F(MachineTest, AGateThatAPersonIsAskedForKeepsTheExecutionFromTheBeginning) {
  asks_a_person = true;
  sequential({handler("a"), gate("ok"), handler("b")});
  begin();
  end("a");
  EXPECT_FALSE(finish());
  approve("ok");
  end("b");
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, TheDeadlineOfAGateRejects) {
  stays = true;
  Step ok = gate("ok");
  std::get<Approve>(ok.work).timeout = Milliseconds(60'000);
  sequential({ok});
  begin();
  wait(Milliseconds(60'000));
  EXPECT_EQ(at("ok").record.reason, StepReason::rejected);
  EXPECT_EQ(recorded_count<recorded::Decided>(), 1U);
}

TEST_F(MachineTest, ATimedOutGateThatFailsCanAskAgain) {
  stays = true;
  Step ok = gate("ok");
  std::get<Approve>(ok.work).timeout = Milliseconds(60'000);
  std::get<Approve>(ok.work).on_timeout = OnTimeout::fail;
  ok.retry.attempts = 2;
  sequential({ok});
  begin();
  wait(Milliseconds(60'000));
  wait(Milliseconds(200));
  EXPECT_EQ(all<command::Ask>().size(), 2U);
  wait(Milliseconds(60'000));
  EXPECT_EQ(at("ok").record.reason, StepReason::timed_out);
}

TEST_F(MachineTest, ATimedOutGateCanContinue) {
  stays = true;
  Step ok = gate("ok");
  std::get<Approve>(ok.work).timeout = Milliseconds(60'000);
  std::get<Approve>(ok.work).on_timeout = OnTimeout::go_on;
  sequential({ok});
  begin();
  wait(Milliseconds(60'000));
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, CancelStopsWhatRunsAndRunsFinally) {
  sequential({handler("a"), handler("b")});
  workflow.finally = list({handler("clean")});
  begin();
  post({.type = fact::MessageType::cancel, .text = "enough"});
  end("a", 0);
  EXPECT_EQ(started().back(), "finally[1].clean");
  end("finally[1].clean");
  EXPECT_EQ(finish()->status, RunStatus::cancelled);
}

TEST_F(MachineTest, ACancelledRunStaysCancelledAfterACrash) {
  sequential({handler("a")});
  begin();
  post({.type = fact::MessageType::cancel});
  crash_and_resume(true);
  EXPECT_EQ(started(), Paths{});
  EXPECT_EQ(finish()->status, RunStatus::cancelled);
}

TEST_F(MachineTest, FinallyRunsAgainIfAResumeDidMoreWork) {
  sequential({handler("a")});
  workflow.finally = list({handler("clean")});
  begin();
  end("a", 1);
  end("finally[1].clean");
  EXPECT_EQ(finish()->status, RunStatus::failed);
  crash_and_resume();
  end("a");
  EXPECT_EQ(started(), (Paths{"a", "finally[2].clean"}));
}

TEST_F(MachineTest, FinallyDoesNotRunOnAnInterrupt) {
  sequential({handler("a")});
  workflow.finally = list({handler("clean")});
  begin();
  feed(fact::Interrupted{"SIGINT"});
  end("a", 143);
  EXPECT_EQ(finish()->status, RunStatus::interrupted);
  EXPECT_EQ(started(), Paths{"a"});
}

TEST_F(MachineTest, AFailureInFinallyFailsTheRun) {
  sequential({handler("a")});
  workflow.finally = list({handler("clean")});
  begin();
  end("a");
  end("finally[1].clean", 1);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, TheInboxIsSealedBeforeTheRunEnds) {
  sequential({handler("a")});
  begin();
  end("a");
  ASSERT_EQ(all<command::ReadInbox>().size(), 1U);
  EXPECT_TRUE(all<command::ReadInbox>()[0].seal);
}

TEST_F(MachineTest, AFailedSaveIsRepeatedUnchanged) {
  sequential({handler("a"), handler("b")});
  begin();
  saves_succeed = false;
  commands.clear();
  end("a");
  const SaveBatch first = *all<command::Save>().back().batch;
  feed(fact::SaveFailed{first.id, fact::SaveTrouble::passing, "disk full"});
  wait(Milliseconds(200));
  ASSERT_EQ(all<command::Save>().size(), 2U);
  EXPECT_EQ(all<command::Save>().back().batch->id, first.id);
  EXPECT_EQ(all<command::Save>().back().batch->records.size(), first.records.size());
}

TEST_F(MachineTest, StorageTroubleThatLastsPausesTheRun) {
  sequential({handler("a")});
  saves_succeed = false;
  begin();
  for (int i = 0; i < 20 && !finish(); ++i) {
    feed(fact::SaveFailed{all<command::Save>().back().batch->id, fact::SaveTrouble::passing, "disk full"});
    wait(Milliseconds(4'000));
  }
  ASSERT_TRUE(finish());
  EXPECT_EQ(finish()->ending, Ending::machine_trouble);
  EXPECT_FALSE(finish()->everything_saved);
}

TEST_F(MachineTest, AWorkflowCanContinueWithoutStorage) {
  workflow.checkpoint.on_storage_failure = OnStorageFailure::go_on;
  sequential({handler("a")});
  saves_succeed = false;
  begin();
  feed(fact::SaveFailed{all<command::Save>().back().batch->id, fact::SaveTrouble::hopeless, "read-only"});
  EXPECT_EQ(started(), Paths{"a"});
  end("a");
  EXPECT_EQ(finish()->status, RunStatus::completed);
  EXPECT_FALSE(finish()->everything_saved);
}

TEST_F(MachineTest, AWorkflowTimeoutEndsARunWithQueuedSteps) {
  workflow.parallel = 1;
  workflow.timeout = Milliseconds(1'000);
  workflow.steps = {handler("a"), handler("b")};
  begin();
  wait(Milliseconds(1'000));
  end("a", 143);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, RecordsSurviveTheirJson) {
  sequential({handler("a"), gate("ok")});
  begin();
  end("a", 0, {{"x", 1}}, Report{.usage = {.tokens = 5, .usd = 0.25}, .confidence = 0.5});
  for (const Record& record : journal) {
    const Result<Record> again = record_from_json(to_json(record));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(to_json(*again), to_json(record));
  }
  EXPECT_FALSE(record_from_json({{"type", "unknown"}, {"at", 1}}).has_value());
  EXPECT_FALSE(record_from_json({{"type", "step_started"}, {"at", 1}, {"path", 5}}).has_value());
}

}  // namespace
}  // namespace pawl::machine
