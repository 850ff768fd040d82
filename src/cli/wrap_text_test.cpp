#include "cli/wrap_text.hpp"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

TEST(WrapText, BreaksBetweenWords) {
  EXPECT_EQ(wrap_text("pawl: one two three four", 14, 6), "pawl: one two\n      three\n      four");
  EXPECT_EQ(wrap_text("exactly ten", 11), "exactly ten");
  EXPECT_EQ(wrap_text("unbreakable-and-long word", 8), "unbreakable-and-long\nword");
  EXPECT_EQ(wrap_text("two\nlines\n", 80), "two\nlines\n");
}

TEST(WrapText, LeavesTextAloneWithoutAWidth) {
  const std::string text(500, 'x');
  EXPECT_EQ(wrap_text(text + " " + text, std::nullopt, 6), text + " " + text);
}

TEST(WrapText, LeavesListsAndDifferencesAlone) {
  EXPECT_EQ(wrap_text("it changed:\n  - run: one two three\n", 12), "it changed:\n  - run: one two three\n");
}

TEST(WrapText, KeepsACommandOnOneLineIfItFits) {
  EXPECT_EQ(
      wrap_text("hint: to decide, run: pawl approve notes review (or pawl reject notes review), then: pawl resume "
                "notes",
                60, 6),
      "hint: to decide, run: pawl approve notes review (or\n"
      "      pawl reject notes review), then: pawl resume notes");
  EXPECT_EQ(wrap_text("run: pawl resume a-very-long-run-id", 20), "run: pawl resume\na-very-long-run-id");
}

TEST(WrapPage, JoinsTheLinesOfParagraphsAndListItems) {
  EXPECT_EQ(wrap_page("# Title\n\none two\nthree four\n\n- a b\n  c d\n- e\n", 20),
            "# Title\n\none two three four\n\n- a b c d\n- e\n");
  EXPECT_EQ(wrap_page("- one two three\n", 9), "- one two\n  three\n");
  EXPECT_EQ(wrap_page("```\nx   y\nlong long long\n```\n", 9), "```\nx   y\nlong long long\n```\n");
}

TEST(WithoutLinks, KeepsTheTextOfALink) {
  EXPECT_EQ(without_links("see [PAWL-0342](PAWL-0342.md), or [this](x) a[0] (b)"), "see PAWL-0342, or this a[0] (b)");
}

}  // namespace
}  // namespace pawl::cli
