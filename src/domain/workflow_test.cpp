#include "domain/workflow.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(RetrySettings, AreReplacedKeyByKey) {
  RetrySettings base;
  base.attempts = 3;
  base.backoff = Milliseconds(200);
  base.jitter = true;
  base.no_retry_codes = {2};
  RetrySettings over;
  over.attempts = 5;
  over.jitter = false;
  over.factor = 3.0;
  over.no_retry_codes = std::vector<int>();
  const RetrySettings all = merged(base, over);
  EXPECT_EQ(all.attempts, 5U);
  EXPECT_EQ(all.backoff, Milliseconds(200));
  EXPECT_EQ(all.max_backoff, std::nullopt);
  EXPECT_EQ(all.factor, 3.0);
  EXPECT_EQ(all.jitter, false);
  EXPECT_EQ(all.no_retry_codes, std::vector<int>());
}

}  // namespace
}  // namespace pawl
