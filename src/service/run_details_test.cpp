#include "service/run_details.hpp"

#include "testing/service_fixture.hpp"

namespace pawl::testing {
namespace {

class RunDetailsTest : public Service {
 protected:
  void save_times(const std::string& run, int count) {
    for (int i = 0; i < count; ++i) save_text(run, fmt::format(R"({{"n": {}}})", saved_++));
  }
  std::string sequences(const std::vector<CheckpointInfo>& checkpoints) {
    std::string text;
    for (const CheckpointInfo& info : checkpoints) text += fmt::format("{} ", info.sequence.value);
    return text;
  }
  std::string page(const CheckpointsRequest& request) {
    const Result<CheckpointPage> found = list_checkpoints(*store_, run_id("r"), request);
    if (!found) return describe(found.error());
    return (found->more_before ? "... " : "") + sequences(found->checkpoints) + (found->more_after ? "..." : "");
  }
  int saved_ = 0;
};

TEST_F(RunDetailsTest, CheckpointsAreTheNewestOnesOrThoseAfterASequence) {
  save_times("r", 5);
  EXPECT_EQ(page({}), "1 2 3 4 5 ");
  EXPECT_EQ(page({.limit = 2}), "... 4 5 ");
  EXPECT_EQ(page({.after = Sequence{0}, .limit = 2}), "1 2 ...");
  EXPECT_EQ(page({.after = Sequence{3}, .limit = 2}), "4 5 ");
  EXPECT_EQ(page({.after = Sequence{5}}), "");
}

TEST_F(RunDetailsTest, PrunedCheckpointsLeaveGapsAmongTheNewest) {
  save_times("r", 9);
  RetentionSettings limits;
  limits.keep = 1;
  ASSERT_TRUE(store_->prune(run_id("r"), limits, PruneMode::remove));
  save_times("r", 1);
  EXPECT_EQ(page({.limit = 5}), "9 10 ");
  EXPECT_EQ(page({.limit = 1}), "... 10 ");
}

TEST_F(RunDetailsTest, ACheckpointNamesWhatDependsOnIt) {
  save_times("r", 3);
  const Result<CheckpointDetails> details = checkpoint_details(*store_, *Address::parse("r@2"));
  ASSERT_TRUE(details) << describe(details.error());
  EXPECT_EQ(details->info.sequence.value, 2U);
  EXPECT_EQ(details->dependents.checkpoints, std::vector<Sequence>{Sequence{3}});
}

TEST_F(RunDetailsTest, ARunOfAWorkflowHasStepsAndWhatWasAskedFor) {
  RunState state;
  state.status = RunStatus::failed;
  StepRecord done;
  done.status = StepStatus::completed;
  done.output = Json{{"n", 1}};
  state.steps = {{"gather", done}};
  save("r", state);
  const auto brief = run_details(*store_, run_id("r"), {});
  ASSERT_TRUE(brief) << describe(brief.error());
  const auto* details = std::get_if<WorkflowRunDetails>(&*brief);
  ASSERT_NE(details, nullptr);
  EXPECT_EQ(details->report.steps.size(), 1U);
  EXPECT_EQ(details->progress.done, 1U);
  EXPECT_TRUE(details->outputs.empty());
  const auto full = run_details(*store_, run_id("r"), {.outputs = DetailOptions::Outputs::read});
  ASSERT_TRUE(full);
  EXPECT_EQ(std::get<WorkflowRunDetails>(*full).outputs, std::vector<Json>{done.output});
}

TEST_F(RunDetailsTest, ARunThatNamesAWorkflowAndIsNoneIsAPlainOne) {
  save_text("r", R"({"a": 1})", {.workflow = "w.yaml"});
  const auto details = run_details(*store_, run_id("r"), {.detail = Detail::events, .checkpoints_max = 10});
  ASSERT_TRUE(details) << describe(details.error());
  const auto* plain = std::get_if<PlainRunDetails>(&*details);
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->latest.sequence.value, 1U);
  EXPECT_EQ(sequences(plain->newest), "1 ");
}

TEST_F(RunDetailsTest, AMissingRunIsNotFound) {
  const auto details = run_details(*store_, run_id("none"), {});
  ASSERT_FALSE(details);
  EXPECT_EQ(details.error().code, Code::run_not_found);
}

}  // namespace
}  // namespace pawl::testing
