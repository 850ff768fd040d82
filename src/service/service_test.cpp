// The use cases on the memory store.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "service/audited_read.hpp"
#include "service/handoff.hpp"
#include "service/lineage.hpp"
#include "service/prune_logs.hpp"
#include "service/recovery.hpp"
#include "service/run_report.hpp"
#include "service/run_status.hpp"
#include "service/workflow_session.hpp"
#include "testing/local_files_under_test.hpp"
#include "testing/service_fixture.hpp"

namespace pawl::testing {
namespace {

constexpr std::int64_t kHourUs = 3'600'000'000;

StepRecord step_with(StepStatus status) {
  StepRecord record;
  record.status = status;
  return record;
}

std::vector<std::string> names_of(const std::vector<RunInfo>& runs) {
  std::vector<std::string> names;
  for (const RunInfo& run : runs) names.push_back(run.id.text());
  return names;
}

TEST_F(Service, ARunThatSaysRunningAndHasNoOwnerIsInterrupted) {
  save_status("r", RunStatus::running);
  EXPECT_EQ(standing_run(*store_, run_id("r"))->status, RunStatus::interrupted);
  const auto held = hold("r");
  EXPECT_EQ(standing_run(*store_, run_id("r"))->status, RunStatus::running);
  EXPECT_TRUE(standing_run(*store_, run_id("r"))->owner);
}

TEST_F(Service, ResumableRunsAreThoseThatNobodyExecutesAndThatHaveNotEnded) {
  save_status("crashed", RunStatus::running);
  save_status("waits", RunStatus::waiting);
  save_status("cancelled", RunStatus::cancelled);
  save_status("held", RunStatus::running);
  RunState child;
  child.parent_run = "waits";
  save("child", child);
  const auto held = hold("held");
  const auto runs = resumable_runs(*store_);
  ASSERT_TRUE(runs);
  std::vector<std::string> names = names_of(*runs);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"crashed", "waits"}));
}

TEST_F(Service, CrashedRunsAreFoundWithinTheLimits) {
  RunState tired;
  tired.automatic_resumes = 2;
  save_status("old", RunStatus::running);
  memory_.clock().advance(2 * kHourUs);
  save_status("crashed", RunStatus::running);
  save_status("failed", RunStatus::failed);
  save("tired", tired);
  RecoverySettings settings;
  settings.attempts_max = 2;
  settings.within = std::chrono::hours(1);
  const Result<CrashedRuns> crashed = crashed_runs(*store_, settings, now());
  ASSERT_TRUE(crashed);
  ASSERT_EQ(crashed->to_resume.size(), 1U);
  EXPECT_EQ(crashed->to_resume.front().text(), "crashed");
  ASSERT_EQ(crashed->given_up.size(), 1U);
  EXPECT_EQ(crashed->given_up.front().run.text(), "tired");
  EXPECT_EQ(crashed->given_up.front().crashes, 3U);
}

TEST_F(Service, ARecoveryReportsEachRunAndStopsOnlyForAPerson) {
  const std::vector<RunId> runs = {run_id("fine"), run_id("fails"), run_id("slow"), run_id("stopped"), run_id("never")};
  std::vector<std::string> resumed;
  std::vector<std::string> news;
  const Result<void> ended = resume_crashed(
      runs, {},
      [&](const ResumeRequest& request, const std::function<void()>& on_timeout) -> Result<void> {
        EXPECT_EQ(request.by, ResumedBy::automatic);
        resumed.push_back(request.id.text());
        if (resumed.back() == "fine") return {};
        if (resumed.back() == "slow") on_timeout();
        return fail(resumed.back() == "fails" ? Code::run_failed : Code::run_interrupted, "it ended");
      },
      [&](const RecoveryNews& told) {
        if (told.what != RecoveryNews::What::resuming)
          news.push_back(told.run.text() + (told.what == RecoveryNews::What::failed ? " failed" : " timed out"));
      });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::run_interrupted);
  EXPECT_EQ(resumed, (std::vector<std::string>{"fine", "fails", "slow", "stopped"}));
  EXPECT_EQ(news, (std::vector<std::string>{"fails failed", "slow timed out"}));
}

TEST_F(Service, WhatToDoNextDependsOnHowARunStands) {
  RunState state;
  state.status = RunStatus::failed;
  state.steps = {{"send", step_with(StepStatus::failed)}};
  save("r", state);
  const Result<RunReport> report = report_run(*store_, run_id("r"), Detail::state);
  ASSERT_TRUE(report) << describe(report.error());
  const std::vector<NextAction> actions = next_actions(*report);
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(actions[0].advice, Advice::show_logs);
  EXPECT_EQ(actions[0].subject.step, "send");
  EXPECT_EQ(actions[1].advice, Advice::resume);
  EXPECT_EQ(actions[1].subject.run, "r");
}

TEST_F(Service, NothingIsToBeDoneAboutARunThatIsBeingExecuted) {
  save_status("r", RunStatus::running);
  const auto held = hold("r");
  EXPECT_TRUE(next_actions(*report_run(*store_, run_id("r"), Detail::state)).empty());
}

TEST_F(Service, ALineageNamesBothSides) {
  save_status("r", RunStatus::failed);
  fork("r", 1, "f");
  const Lineage parent = lineage_of(*store_, *store_->run(run_id("r")));
  EXPECT_FALSE(parent.fork_of);
  ASSERT_TRUE(parent.forks);
  ASSERT_EQ(parent.forks->size(), 1U);
  EXPECT_EQ(parent.forks->front().run.text(), "f");
  const Lineage child = lineage_of(*store_, *store_->run(run_id("f")));
  ASSERT_TRUE(child.fork_of);
  EXPECT_EQ(child.fork_of->run, "r");
  EXPECT_EQ(child.fork_of->at.value, 1U);
}

TEST_F(Service, AReadIsRecordedOnlyIfTheSettingsAskForIt) {
  save_status("r", RunStatus::failed);
  const std::size_t before = store_->audit(run_id("r"), 0, 100)->size();
  Settings settings;
  ASSERT_TRUE(note_read(*store_, settings, memory_.clock(), run_id("r"), Sequence{1}, "restore"));
  EXPECT_EQ(store_->audit(run_id("r"), 0, 100)->size(), before);
  settings.audit.reads = true;
  ASSERT_TRUE(note_read(*store_, settings, memory_.clock(), run_id("r"), Sequence{1}, "restore"));
  EXPECT_GT(store_->audit(run_id("r"), 0, 100)->size(), before);
}

TEST_F(Service, AReadThatCannotBeRecordedIsRefused) {
  Settings settings;
  settings.audit.reads = true;
  const Result<void> read = note_read(*store_, settings, memory_.clock(), run_id("none"), Sequence{1}, "restore");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().advice, Advice::show_settings);
  EXPECT_TRUE(read.error().message.starts_with("cannot record this read")) << read.error().message;
}

TEST_F(Service, OldLogsOfRunsThatNobodyExecutesArePruned) {
  LocalFilesUnderTest files;
  const auto log_of = [&](const std::string& run) {
    save_status(run, RunStatus::failed);
    const std::string path = *store_->local_folder(run_id(run)) + "/a.1.log";
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "12345";
    return path;
  };
  const std::string old = log_of("old");
  const std::string used = log_of("used");
  const auto held = hold("used");
  const std::vector<RunId> runs = {run_id("old"), run_id("used")};
  const Timestamp later{files.modified(old).us + kHourUs};
  const Timestamp earlier{files.modified(old).us - kHourUs};
  EXPECT_EQ(prune_logs(*store_, files, runs, earlier, PruneMode::remove)->removed(), 0U);
  const Result<PrunedLogs> planned = prune_logs(*store_, files, runs, later, PruneMode::dry_run);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->removed(), 1U);
  EXPECT_EQ(planned->freed_bytes(), 5U);
  EXPECT_TRUE(files.exists(old));
  EXPECT_EQ(prune_logs(*store_, files, runs, later, PruneMode::remove)->runs.size(), 1U);
  EXPECT_FALSE(files.exists(old));
  EXPECT_TRUE(files.exists(used));
}

std::string named(const NextAction& action) {
  return fmt::format("<{} {}>", static_cast<int>(action.advice), action.subject.run);
}

TEST_F(Service, ABriefingNamesActionsInTheWordsOfItsReader) {
  RunState state;
  state.status = RunStatus::failed;
  state.workflow_name = "notes";
  state.steps = {{"send", step_with(StepStatus::failed)}};
  save("r", state);
  const Result<Briefing> briefing = brief_run(*store_, run_id("r"), "memory:", now());
  ASSERT_TRUE(briefing) << describe(briefing.error());
  const std::string expected = named({Advice::resume, {.run = "r"}});
  const std::string markdown = markdown_of(*briefing, 16'384, named);
  EXPECT_NE(markdown.find("## Next"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find(expected), std::string::npos) << markdown;
  const Json document = Json::parse(json_of(*briefing, 16'384, named));
  EXPECT_EQ(document["next"].back(), expected);
  EXPECT_EQ(document["status"], "failed");
}

TEST_F(Service, ABriefingOfASessionThatHasNoRunsFails) {
  const Result<Briefing> briefing = brief_session(*store_, "night", now());
  ASSERT_FALSE(briefing);
  EXPECT_EQ(briefing.error().code, Code::run_not_found);
  EXPECT_EQ(briefing.error().advice, Advice::list_runs);
}

TEST(FreshRunId, IsTheNameOfTheWorkflowAndFourLetters) {
  SeededRandom random(1);
  const std::string id = fresh_run_id("notes", random);
  EXPECT_EQ(id.size(), std::string_view("notes-k3f9").size());
  EXPECT_TRUE(id.starts_with("notes-")) << id;
  EXPECT_NE(fresh_run_id("notes", random), id);
  for (const char* name : {"", "-x", "a b/c", "ä", "."}) {
    const std::string made = fresh_run_id(name, random);
    EXPECT_TRUE(RunId::parse(made)) << made;
  }
}

}  // namespace
}  // namespace pawl::testing
