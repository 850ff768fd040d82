#include "cli/terminal_text.hpp"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

TEST(TerminalText, LinesKeepTheirBreaksAndTabsAndNothingElseThatControlsATerminal) {
  EXPECT_EQ(indented_lines("a\n\tb\x1b[31m\r\n\n c\n\n", "  "), "  a\n  \tb\\x1b[31m\\x0d\n\n   c\n");
  EXPECT_EQ(indented_lines("a", ""), "a\n");
  EXPECT_EQ(indented_lines("\n", "  "), "");
  EXPECT_EQ(indented_lines("a\xff", ""), "a\\xff\n");
}

TEST(TerminalText, ASummaryIsTheFirstLine) {
  EXPECT_EQ(summary_line("a\nb"), "a …");
  EXPECT_EQ(summary_line("a\n\n"), "a");
  EXPECT_EQ(summary_line(""), "");
  EXPECT_TRUE(is_one_line("a\n"));
  EXPECT_TRUE(is_one_line(""));
  EXPECT_FALSE(is_one_line("a\nb"));
}

TEST(TerminalText, ElapsedTimesOfEventsHaveSeconds) {
  EXPECT_EQ(exact_elapsed_text(340), "340 ms");
  EXPECT_EQ(exact_elapsed_text(59'900), "59.9 s");
  EXPECT_EQ(exact_elapsed_text(192'000), "3:12");
  EXPECT_EQ(exact_elapsed_text(97'383'000), "27:03:03");
}

}  // namespace
}  // namespace pawl::cli
