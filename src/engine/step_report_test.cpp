#include "engine/step_report.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

StepReport report_of(std::string_view text) { return parse_report(text, LastLine::finished); }

TEST(StepReport, SaysHowLongTheNextAttemptHasToWait) {
  EXPECT_EQ(report_of(R"({"retry_after": 30})").retry_after, Milliseconds(30'000));
  EXPECT_EQ(report_of(R"({"retry_after": 0.25})").retry_after, Milliseconds(250));
  EXPECT_EQ(report_of(R"({"retry_after": 0})").retry_after, Milliseconds(0));
  EXPECT_EQ(report_of(R"({"retry_after": "1m30s"})").retry_after, Milliseconds(90'000));
  EXPECT_EQ(report_of(R"({"retry_after": 86400})").retry_after, Milliseconds(86'400'000));
  EXPECT_EQ(report_of("{\"retry_after\": 1}\n{\"retry_after\": \"2s\"}\n").retry_after, Milliseconds(2'000));
  EXPECT_EQ(report_of(R"({"tokens": 1})").retry_after, std::nullopt);
}

TEST(StepReport, AnInvalidTimeToWaitIsReportedAndIgnored) {
  for (const char* value :
       {"-1", "86400.001", "1e300", "\"30\"", "\"soon\"", "\"2d\"", "true", "null", "[1]", "\"\""}) {
    const StepReport report = report_of(fmt::format("{{\"retry_after\": {}, \"tokens\": 3}}", value));
    EXPECT_EQ(report.retry_after, std::nullopt) << value;
    EXPECT_EQ(report.faults, std::vector<std::string>{"line 1 of $PAWL_RESULT: invalid value of 'retry_after'"})
        << value;
    EXPECT_EQ(report.usage.tokens, 3U) << value;
  }
}

}  // namespace
}  // namespace pawl
