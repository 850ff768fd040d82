#include "text/duration.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Duration, IsReadWithItsUnits) {
  EXPECT_EQ(parse_duration("200ms"), Milliseconds(200));
  EXPECT_EQ(parse_duration("5s"), Milliseconds(5'000));
  EXPECT_EQ(parse_duration("2m"), Milliseconds(120'000));
  EXPECT_EQ(parse_duration("24h"), Milliseconds(86'400'000));
  EXPECT_EQ(parse_duration("1d"), Milliseconds(86'400'000));
  EXPECT_EQ(parse_duration("1h30m"), Milliseconds(5'400'000));
  EXPECT_EQ(parse_duration("1d2h3m4s5ms"), Milliseconds(93'784'005));
  EXPECT_EQ(parse_duration("0s"), Milliseconds(0));
}

TEST(Duration, RefusesEverythingElse) {
  for (const char* text : {"",
                           "5",
                           "s",
                           "-5s",
                           "+5s",
                           "5 s",
                           " 5s",
                           "5s ",
                           "5x",
                           "5S",
                           "1.5h",
                           "30m1h",
                           "1s1s",
                           "5s5",
                           "1hh",
                           "9223372036854775807s",
                           "99999999999999999999ms",
                           "106751991168d",
                           "9223372036854775807ms1ms",
                           "1e3s"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  EXPECT_EQ(parse_duration("9223372036854775807ms"), Milliseconds::max());
}

TEST(Duration, IsShownInItsLargestUnits) {
  EXPECT_EQ(duration_text(Milliseconds(200)), "200 ms");
  EXPECT_EQ(duration_text(Milliseconds(5'400'000)), "1 h 30 min");
  EXPECT_EQ(duration_text(Milliseconds(93'784'005)), "1 d 2 h 3 min 4 s 5 ms");
  EXPECT_EQ(duration_text(Milliseconds(0)), "0 s");
  EXPECT_EQ(duration_text(Milliseconds(-1'000)), "-1 s");
  EXPECT_TRUE(duration_text(Milliseconds::min()).starts_with("-106751991167 d"));
}

}  // namespace
}  // namespace pawl
