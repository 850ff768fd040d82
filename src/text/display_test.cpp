#include "text/display.hpp"

#include <gtest/gtest.h>

namespace pawl::testing {
namespace {

TEST(Display, AmountsAreReadable) {
  EXPECT_EQ(grouped_number(0), "0");
  EXPECT_EQ(grouped_number(999), "999");
  EXPECT_EQ(grouped_number(1'234'567), "1,234,567");
  EXPECT_EQ(usd_text(0.0642), "0.06 USD");
  EXPECT_EQ(usd_text(0.0004), "0.0004 USD");
  EXPECT_EQ(usd_text(0.0000004), "<0.0001 USD");
  EXPECT_EQ(used_text(0, 0), "");
  EXPECT_EQ(used_text(0, 1), "1 token");
  EXPECT_EQ(used_text(0.5, 3420), "0.50 USD, 3,420 tokens");
}

}  // namespace
}  // namespace pawl::testing
