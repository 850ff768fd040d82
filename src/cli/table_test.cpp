// Tables that fit: which columns are dropped, how values are shortened, and that nothing is shortened outside a
// terminal.
#include "cli/table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/terminal_text.hpp"

namespace pawl::testing {
namespace {

using cli::Cell;
using cli::Colour;
using cli::Column;
using cli::Cut;
using cli::Table;

const cli::Style kPlain(false);

Table runs_table(const std::string& id, const std::string& error) {
  Table table({{.name = "RUN", .cut = Cut::middle, .rank = 0, .least = 20},
               {.name = "STATUS"},
               {.name = "KIND", .rank = 9},
               {.name = "ERROR", .cut = Cut::end, .rank = 3, .least = 10}});
  table.add({id, Cell(Colour::red, "failed"), "step_complete", error});
  return table;
}

void expect_fits(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_columns(line), width) << line;
}

TEST(Tables, ShowEverythingWhereItFits) {
  EXPECT_EQ(runs_table("a", "no disk").text(kPlain, 80),
            "RUN  STATUS  KIND           ERROR\n"
            "a    failed  step_complete  no disk\n");
}

TEST(Tables, DropTheHighestRankFirstAndCutTheEndOfSentences) {
  EXPECT_EQ(runs_table("nightly", "the file can't be read").text(kPlain, 34),
            "RUN      STATUS  ERROR\n"
            "nightly  failed  the file can't b…\n");
}

TEST(Tables, CutIdsInTheMiddle) {
  const std::string text = runs_table("a-very-long-run-id-of-a-nightly-job-2026", "").text(kPlain, 40);
  EXPECT_EQ(text,
            "RUN                               STATUS\n"
            "a-very-long-run-…ightly-job-2026  failed\n");
  EXPECT_EQ(cli::cut_in_middle("abcdefghij", 7), "abc…hij");
  EXPECT_EQ(cli::cut_in_middle("漢字漢字漢字", 7), "漢…漢字");
}

TEST(Tables, DropColumnsBeforeAWantedWidthIsCut) {
  const std::string id = "customer-export-production-eu-central-1-2026";
  Table table({{.name = "RUN", .cut = Cut::middle, .rank = 0, .least = 20, .wanted = SIZE_MAX},
               {.name = "STATUS"},
               {.name = "KIND", .rank = 9},
               {.name = "ERROR", .cut = Cut::end, .rank = 3, .least = 10, .wanted = 40}});
  table.add({id, "failed", "step_complete", "fetch: exit status 22"});
  EXPECT_EQ(table.text(kPlain, 80),
            "RUN                                           STATUS  ERROR\n" + id + "  failed  fetch: exit status 22\n");
  EXPECT_EQ(table.text(kPlain, 52), "RUN                                           STATUS\n" + id + "  failed\n");
  EXPECT_EQ(table.text(kPlain, 40),
            "RUN                               STATUS\n"
            "customer-export-…-central-1-2026  failed\n");
}

TEST(Tables, NeverExceedTheWidthWhateverTheValues) {
  for (std::size_t width = 10; width < 120; ++width) {
    expect_fits(
        runs_table("漢字漢字漢字漢字-very-long-identifier-with-tail", std::string(300, 'x')).text(kPlain, width),
        width);
  }
}

TEST(Tables, PrintEveryValueInFullOffATerminal) {
  EXPECT_EQ(runs_table(std::string(60, 'r'), "").text(kPlain, std::nullopt),
            "RUN" + std::string(59, ' ') + "STATUS  KIND           ERROR\n" + std::string(60, 'r') +
                "  failed  step_complete  -\n");
}

TEST(Tables, AlignAndLeaveNoSpaceAtTheEnd) {
  Table table({{.name = "A"}, {.name = "B"}, {.name = "C"}});
  table.add({"ää", "", ""});
  table.add({"x", "", "z"});
  EXPECT_EQ(table.text(kPlain, 80), "A   B  C\nää\nx      z\n");
}

TEST(Tables, ColourCellsAndKeepThemAligned) {
  Table table({{.name = "A"}, {.name = "B"}});
  table.add({Cell(Colour::green, "done"), "x"});
  EXPECT_EQ(table.text(cli::Style(true), 80), "\x1b[1mA\x1b[0m     \x1b[1mB\x1b[0m\n\x1b[32mdone\x1b[0m  x\n");
}

}  // namespace
}  // namespace pawl::testing
