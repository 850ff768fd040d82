#include "service/retry_letters.hpp"

#include "testing/service_fixture.hpp"

namespace pawl::testing {
namespace {

class RetryLetters : public Service {
 protected:
  /// A completed run with the maps `m` and `n`. Item 1 of both failed, and item 3 of `m`.
  void save_failed_items() {
    RunState state;
    state.status = RunStatus::completed;
    state.workflow_file = "w.yaml";
    state.workflow_hash = "sha256:old";
    for (const char* step : {"m", "n"}) {
      StepRecord record;
      record.status = StepStatus::completed;
      record.map = MapProgress{};
      record.map->total = 5;
      record.map->failed.add(1);
      if (std::string_view(step) == "m") record.map->failed.add(3);
      for (std::uint64_t i = 0; i < 5; ++i) record.map->done.add(i);
      state.steps.emplace_back(step, record);
    }
    save("r", state);
  }
  Result<ChangedLetters> retry(const RetryRequest& request, const std::string& hash) {
    const auto load = [&](const std::string& file) -> Result<Workflow> {
      EXPECT_EQ(file, "w.yaml");
      Workflow workflow;
      workflow.hash = hash;
      return workflow;
    };
    return retry_dead_letters(*store_, run_id("r"), request, load, 100'000);
  }
};

TEST_F(RetryLetters, AnItemIsFoundInTheOnlyMapThatHasIt) {
  save_failed_items();
  const Result<DeadLetter> letter = find_dead_letter(*store_, run_id("r"), "", 3);
  ASSERT_TRUE(letter) << describe(letter.error());
  EXPECT_EQ(letter->step, "m");
  EXPECT_EQ(find_dead_letter(*store_, run_id("r"), "n", 1)->step, "n");
}

TEST_F(RetryLetters, AnItemThatSeveralMapsHaveNeedsAMap) {
  save_failed_items();
  const Result<DeadLetter> letter = find_dead_letter(*store_, run_id("r"), "", 1);
  ASSERT_FALSE(letter);
  EXPECT_EQ(letter.error().code, Code::usage);
  EXPECT_EQ(letter.error().advice, Advice::show_dead_letter);
  EXPECT_EQ(letter.error().subject.step, "m");
  EXPECT_EQ(letter.error().subject.value, "1");
}

TEST_F(RetryLetters, AnItemThatHasNotFailedIsNotFound) {
  save_failed_items();
  const Result<DeadLetter> letter = find_dead_letter(*store_, run_id("r"), "", 2);
  ASSERT_FALSE(letter);
  EXPECT_EQ(letter.error().code, Code::not_waiting);
  EXPECT_EQ(letter.error().advice, Advice::list_dead_letters);
}

TEST_F(RetryLetters, WithoutIndicesAllItemsOfTheMapAreRetried) {
  save_failed_items();
  const Result<ChangedLetters> changed = retry({.choice = {.step = "m"}}, "sha256:old");
  ASSERT_TRUE(changed) << describe(changed.error());
  EXPECT_EQ(changed->indices, (std::vector<std::uint64_t>{1, 3}));
}

TEST_F(RetryLetters, BeforeAResumeAChangedWorkflowIsRefusedAndNothingIsQueued) {
  save_failed_items();
  const Result<ChangedLetters> refused = retry({.choice = {.step = "m"}}, "sha256:new");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::workflow_changed);
  EXPECT_EQ(refused.error().advice, Advice::queue_and_accept_changes);
  EXPECT_EQ(dead_letters(*store_, run_id("r"), "m")->size(), 2U);
  EXPECT_TRUE(retry({.choice = {.step = "m"}, .then = RetryRequest::Then::leave_queued}, "sha256:new"));
  EXPECT_TRUE(dead_letters(*store_, run_id("r"), "m")->empty());
}

}  // namespace
}  // namespace pawl::testing
