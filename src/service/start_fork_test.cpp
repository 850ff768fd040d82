#include "service/start_fork.hpp"

#include "testing/service_fixture.hpp"

namespace pawl::testing {
namespace {

class StartFork : public Service {
 protected:
  void SetUp() override {
    SaveRequest good;
    good.name = "good";
    save_text("r", R"({"n": 1})");
    save_text("r", R"({"n": 2})", {}, good);
    save_text("r", R"({"n": 3})");
  }
  std::string origin(ForkStart start, const std::string& id) {
    start.id = run_id(id);
    const Result<StartedFork> started = start_fork(*store_, start, random_, 100'000);
    if (!started) return describe(started.error());
    return fmt::format("{} of {}@{}", started->id.text(), started->forked.origin.run.text(),
                       started->forked.origin.at.value);
  }
  SeededRandom random_{7};
};

TEST_F(StartFork, TheCheckpointCanBeGivenInEveryWayOfAnAddress) {
  EXPECT_EQ(origin({.from = *Address::parse("r")}, "a"), "a of r@3");
  EXPECT_EQ(origin({.from = *Address::parse("r@1")}, "b"), "b of r@1");
  EXPECT_EQ(origin({.from = *Address::parse("r@name:good")}, "c"), "c of r@2");
}

TEST_F(StartFork, WithoutAnIdTheForkIsNamedAfterItsParent) {
  const Result<StartedFork> started = start_fork(*store_, {.from = *Address::parse("r")}, random_, 100'000);
  ASSERT_TRUE(started) << describe(started.error());
  EXPECT_TRUE(started->id.text().starts_with("r-")) << started->id.text();
  EXPECT_TRUE(store_->run(started->id));
}

TEST_F(StartFork, ChangesApplyToTheForkOnly) {
  ForkStart start{.from = *Address::parse("r@1"), .changes = {*parse_change("n=7")}};
  EXPECT_EQ(origin(start, "a"), "a of r@1");
  EXPECT_EQ(Json::parse(store_->restore(run_id("a"), {})->state)["n"], 7);
  EXPECT_EQ(Json::parse(store_->restore(run_id("r"), {})->state)["n"], 3);
}

TEST_F(StartFork, AStepThatHasNotStartedIsNoPlaceToForkFrom) {
  const Result<StartedFork> started =
      start_fork(*store_, {.from = *Address::parse("r"), .step = "send"}, random_, 100'000);
  EXPECT_FALSE(started);
}

}  // namespace
}  // namespace pawl::testing
