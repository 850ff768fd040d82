#include "text/state_parts.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using Parts = std::vector<StatePart>;

TEST(StateParts, AreTheLargestFirst) {
  EXPECT_EQ(largest_parts(R"( {"a": 1, "b": "xxxx", "c": [1, 2, 3], "d": 22} )", 3),
            (Parts{{"c", 9}, {"b", 6}, {"d", 2}}));
}

TEST(StateParts, OfArraysAreElements) { EXPECT_EQ(largest_parts("[1, 333, 22]", 2), (Parts{{"1", 3}, {"2", 2}})); }

TEST(StateParts, OfEqualSizeKeepTheirOrder) {
  EXPECT_EQ(largest_parts("[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2]", 3), (Parts{{"0", 1}, {"1", 1}, {"2", 1}}));
}

TEST(StateParts, OfOtherValuesAreNone) {
  for (const char* json : {"1", "\"{}\"", "null", "{}", "[]"}) EXPECT_TRUE(largest_parts(json, 5).empty()) << json;
  EXPECT_TRUE(largest_parts(R"({"a": 1})", 0).empty());
}

TEST(StateParts, AreFoundByTheirPlainName) {
  EXPECT_EQ(part_value(R"({"a": 1, "b\u0063": [2]})", "bc"), "[2]");
  EXPECT_EQ(part_value("[5, 6]", "1"), "6");
  EXPECT_EQ(part_value("{}", "a"), "");
}

}  // namespace
}  // namespace pawl
