#include "domain/execution_context.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(ExecutionContext, MergesMembersOneLevelDeep) {
  EXPECT_EQ(merge_members("{}", "{}"), "{}");
  EXPECT_EQ(merge_members(R"({ "a" : 1.0, "b": {"x": 1} })", R"({"b":{"y":2},"c":null})"),
            R"({"a":1.0,"b":{"y":2},"c":null})");
  EXPECT_EQ(merge_members(R"({"\u0061":1})", R"({"a":2})"), R"({"\u0061":2})");
  EXPECT_EQ(merge_members(R"({"a":1})", "{}"), R"({"a":1})");
}

TEST(ExecutionContext, FindsTheLevelsOfAState) {
  EXPECT_EQ(levels_of(R"( {"workflow":{"w":1},"stage":3,"step":{"s":1}} )"),
            (StateLevels{R"({"w":1})", "{}", R"({"s":1})"}));
  EXPECT_EQ(levels_of(R"({"agent":{"a":1},"step":{"s":1}})").agent, R"({"a":1})");
  EXPECT_EQ(levels_of("[1]"), StateLevels{});
}

TEST(ExecutionContext, MergesEachLevelByItself) {
  const StateLevels first{R"({"a":1,"b":1})", R"({"s":1})", "{}"};
  const StateLevels second{R"({"b":2})", "{}", R"({"x":[1]})"};
  const StateLevels merged = merge_levels(first, second);
  EXPECT_EQ(merged, (StateLevels{R"({"a":1,"b":2})", R"({"s":1})", R"({"x":[1]})"}));
  EXPECT_EQ(levels_of(merged.to_json()), merged);
  EXPECT_EQ(merged.at(Level::stage), R"({"s":1})");
}

TEST(ExecutionContext, ACheckpointHasTheLevelThatItsLabelsName) {
  CheckpointInfo checkpoint;
  EXPECT_EQ(level_of(checkpoint), Level::workflow);
  checkpoint.stage = "review";
  EXPECT_EQ(level_of(checkpoint), Level::stage);
  checkpoint.step = "critic";
  EXPECT_EQ(level_of(checkpoint), Level::agent);
  for (const Level level : {Level::workflow, Level::stage, Level::agent}) EXPECT_EQ(parse_level(to_text(level)), level);
  EXPECT_EQ(parse_level("step"), Level::agent);
  EXPECT_EQ(parse_level("run"), std::nullopt);
}

}  // namespace
}  // namespace pawl
