#include "domain/retry_policy.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl {
namespace {

TEST(RetryPolicy, DoublesTheDelayUpToItsLimit) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.delay_ms(1, 0), 100U);
  EXPECT_EQ(policy.delay_ms(2, 0), 200U);
  EXPECT_EQ(policy.delay_ms(6, 0), 3'200U);
  EXPECT_EQ(policy.delay_ms(7, 0), 5'000U);
  EXPECT_EQ(policy.delay_ms(std::numeric_limits<std::uint32_t>::max(), 0), 5'000U);
}

TEST(RetryPolicy, LeavesAShareOfTheDelayToChance) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.delay_ms(1, 0.5), 75U);
  EXPECT_EQ(policy.delay_ms(1, 1.0), 50U);
  RetryPolicy full = policy;
  full.jitter = 1.0;
  EXPECT_EQ(full.delay_ms(1, 1.0), 0U);
  full.jitter = 0.0;
  EXPECT_EQ(full.delay_ms(1, 1.0), 100U);
}

TEST(RetryPolicy, SurvivesExtremeValues) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ((RetryPolicy{3, kMost, kMost, 2.0, 0.0}.delay_ms(9, 0)), kMost);
  EXPECT_LE((RetryPolicy{3, kMost, kMost, kInfinity, 1.0}.delay_ms(9, 1)), kMost);
  EXPECT_EQ((RetryPolicy{3, 0, kMost, kInfinity, 0.0}.delay_ms(9, 0)), 0U);
  EXPECT_EQ((RetryPolicy{3, 100, 5'000, kNan, kNan}.delay_ms(0, kNan)), 100U);
  EXPECT_EQ((RetryPolicy{3, 100, 5'000, -3.0, 9.0}.delay_ms(5, -1)), 100U);
}

TEST(RetryPolicy, CountsTheFirstAttempt) {
  const RetryPolicy policy;
  EXPECT_TRUE(policy.allows_after(2));
  EXPECT_FALSE(policy.allows_after(3));
}

TEST(RetryPolicy, RetriesOnlyWhatCanPass) {
  EXPECT_TRUE(is_retryable(Code::disk_full));
  EXPECT_TRUE(is_retryable(Code::rename_failed));
  for (const Code code : {Code::permission_denied, Code::checksum_mismatch, Code::unsupported_version,
                          Code::outcome_unknown, Code::handle_failed, Code::invalid_json, Code::parent_conflict}) {
    EXPECT_FALSE(is_retryable(code)) << code_text(code);
  }
}

}  // namespace
}  // namespace pawl
