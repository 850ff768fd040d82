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

TEST(ExecutionContext, IsRebuiltFromTheOldestToTheNewest) {
  const ChainLink chain[] = {
      {{1}, {0}, {R"({"a":1,"b":1})", R"({"s":1})", "{}"}},
      {{2}, {1}, {R"({"b":2})", "{}", R"({"x":[1]})"}},
      {{4}, {2}, {R"({"c":3})", R"({"s":2})", R"({"x":[2]})"}},
  };
  const Result<ExecutionContext> context = rebuild_context(chain);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->levels, (StateLevels{R"({"a":1,"b":2,"c":3})", R"({"s":2})", R"({"x":[2]})"}));
  EXPECT_EQ(context->chain, (std::vector<Sequence>{{1}, {2}, {4}}));
}

TEST(ExecutionContext, IsNotRebuiltFromABrokenChain) {
  const ChainLink gap[] = {{{1}, {0}, {}}, {{3}, {2}, {}}};
  EXPECT_EQ(rebuild_context(gap).error().code, Code::chain_broken);
  const ChainLink no_root[] = {{{2}, {1}, {}}};
  EXPECT_EQ(rebuild_context(no_root).error().code, Code::chain_broken);
}

}  // namespace
}  // namespace pawl
