#include "domain/confidence.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl {
namespace {

TEST(Confidence, CrossesAThresholdInBothDirections) {
  EXPECT_EQ(crossing(0.8, 0.7, 0.75), Crossing::fell_below);
  EXPECT_EQ(crossing(0.7, 0.75, 0.75), Crossing::rose_to);
  EXPECT_EQ(crossing(0.8, 0.75, 0.75), Crossing::none);
  EXPECT_EQ(crossing(0.1, 0.2, 0.75), Crossing::none);
  EXPECT_EQ(crossing(0.8, std::numeric_limits<double>::quiet_NaN(), 0.75), Crossing::fell_below);
}

TEST(ConfidenceHistory, WatchesEachAgentByItself) {
  ConfidenceHistory history(0.75);
  EXPECT_EQ(history.lowest(), std::nullopt);
  EXPECT_EQ(history.add({{1}, "atlas", 0.92}), Crossing::none);
  EXPECT_EQ(history.add({{2}, "mercury", 0.73}), Crossing::fell_below);
  EXPECT_EQ(history.add({{3}, "atlas", 0.9}), Crossing::none);
  EXPECT_EQ(history.add({{4}, "mercury", 0.74}), Crossing::none);
  EXPECT_EQ(history.add({{5}, "mercury", 0.8}), Crossing::rose_to);
  EXPECT_EQ(history.latest("mercury"), 0.8);
  EXPECT_EQ(history.latest("apollo"), std::nullopt);
  EXPECT_EQ(history.lowest(), 0.8);
  EXPECT_EQ(history.snapshots().size(), 5U);
}

TEST(ConfidenceHistory, StaysWithinItsBoundAndKeepsTheNewest) {
  ConfidenceHistory history(0.5, 10);
  for (int i = 0; i < 1'000; ++i) {
    history.add({{i}, "a", 1.0});
    ASSERT_LE(history.snapshots().size(), 10U);
    ASSERT_EQ(history.snapshots().back().at, Timestamp{i});
  }
}

}  // namespace
}  // namespace pawl
