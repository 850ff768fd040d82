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
  EXPECT_EQ(used_text(0.5, 3420, 5, 90000), "0.50 of 5.00 USD, 3,420 of 90,000 tokens");
  EXPECT_EQ(used_text(0.5, 1, 5, std::nullopt), "0.50 of 5.00 USD, 1 token");
  EXPECT_EQ(used_text(0, 0, 0.005, std::nullopt), "0.00 of 0.0050 USD");
  EXPECT_EQ(used_text(0, 0, std::nullopt, 1), "0 of 1 tokens");
}

TEST(Display, OnlyColoursOfACommandReachATerminal) {
  const std::string text = "\x1b[1;31mred\x1b[0m \x1b[2J\x1b]0;title\x07 \x1b[3";
  EXPECT_EQ(printable_output(text, Colours::keep), "\x1b[1;31mred\x1b[0m \\x1b]0;title\\x07 \\x1b[3");
  EXPECT_EQ(printable_output(text, Colours::remove), "red \\x1b]0;title\\x07 \\x1b[3");
  EXPECT_EQ(printable_output("\x1b[32mgreen", Colours::keep), "\x1b[32mgreen\x1b[0m");
}

}  // namespace
}  // namespace pawl::testing
