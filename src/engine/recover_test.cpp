#include "engine/recover.hpp"

#include <gtest/gtest.h>

#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

RunId recovered(std::string_view text) { return *RunId::parse(text); }

std::optional<Timestamp> time_of(std::string_view text) {
  RecoveryRequest request{.run = recovered("r")};
  if (!parse_point(text, request)) return std::nullopt;
  return request.not_after;
}

TEST(RecoveryPoint, IsANumberOrATime) {
  RecoveryRequest request{.run = recovered("r")};
  ASSERT_TRUE(parse_point("17", request));
  EXPECT_EQ(request.up_to.value, 17U);
  EXPECT_FALSE(request.not_after);
}

TEST(RecoveryPoint, TakesTheFormsOfIso8601) {
  const Timestamp half_past = *Timestamp::parse("2026-01-11T14:30:00Z");
  EXPECT_EQ(time_of("2026-01-11T14:30:00Z"), half_past);
  EXPECT_EQ(time_of("2026-01-11T14:30Z"), half_past);
  EXPECT_EQ(time_of("2026-01-11T14:30"), half_past);
  EXPECT_EQ(time_of("2026-01-11T15:30:00+01:00"), half_past);
  EXPECT_EQ(time_of("2026-01-11T09:00:00-0530"), half_past);
  EXPECT_EQ(time_of("2026-01-11T14:30:00.000000Z"), half_past);
  EXPECT_EQ(time_of("2026-01-11"), *Timestamp::parse("2026-01-11T23:59:59.999999Z"));
}

TEST(RecoveryPoint, RefusesWhatIsNeither) {
  for (const std::string_view text : {"", "0", "-3", "yesterday", "2026-13-01", "2026-01-11T25:00Z",
                                      "2026-01-11T14:30+99:00", "2026-01-11T14:30+0x:00", "12a"}) {
    RecoveryRequest request{.run = recovered("r")};
    const auto parsed = parse_point(text, request);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::usage);
  }
}

class RecoverRun : public ::testing::Test {
 protected:
  RecoverRun() {
    const auto run = store_->open_run(recovered("r"), {});
    for (int number = 1; number <= 5; ++number) {
      memory_.clock().advance(1'000'000);
      const std::string body = fmt::format("[{}]", number);
      SaveRequest request;
      request.body = body;
      request.events = {{"step_completed", fmt::format("{{\"step\":\"s{}\"}}", number)}};
      EXPECT_TRUE((*run)->save(request));
    }
  }
  Result<RecoveryResult> recover(RecoveryRequest request) { return recover_run(*store_, memory_.clock(), request); }

  MemoryUnderTest memory_;
  std::unique_ptr<Store> store_ = memory_.open();
};

TEST_F(RecoverRun, LatestReadsOnlyTheNewest) {
  const auto result = recover({.run = recovered("r")});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->checkpoint.state, "[5]");
  EXPECT_EQ(result->rebuilt, 1U);
  EXPECT_EQ(result->events_replayed, 0U);
  EXPECT_FALSE(result->fell_back);
}

TEST_F(RecoverRun, FullRebuildsAllAndReplaysAllEvents) {
  const auto result = recover({.run = recovered("r"), .mode = RecoveryMode::full});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->checkpoint.state, "[5]");
  EXPECT_EQ(result->rebuilt, 5U);
  EXPECT_EQ(result->events_replayed, 5U);
  EXPECT_TRUE(result->completed_after.empty());
}

TEST_F(RecoverRun, PointInTimeTakesTheNewestAtOrBefore) {
  const auto result = recover({.run = recovered("r"), .mode = RecoveryMode::point_in_time, .up_to = {3}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->checkpoint.state, "[3]");
}

TEST(StepsToRunAgain, AreThoseThatTheStateDoesNotKnowAsCompleted) {
  RunState state;
  StepRecord done;
  done.status = StepStatus::completed;
  StepRecord map;
  map.status = StepStatus::running;
  map.map = MapProgress{};
  map.map->done.add(0);
  state.steps = {{"a", done}, {"pages", map}};
  RecoveryResult result;
  result.completed_after = {"a", "b", "pages[0]", "pages[1]"};
  EXPECT_EQ(steps_to_run_again(result, state), (std::vector<std::string>{"b", "pages[1]"}));
}

}  // namespace
}  // namespace pawl::testing
