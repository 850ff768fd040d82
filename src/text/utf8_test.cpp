#include "text/utf8.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pawl {
namespace {

struct Utf8Case {
  std::string_view text;
  std::size_t invalid_at;
  std::string_view repaired;
};

constexpr std::size_t kNone = std::string_view::npos;
constexpr auto kUtf8Cases = std::to_array<Utf8Case>({
    {"", kNone, ""},
    {"plain", kNone, "plain"},
    {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", kNone, "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
    {"a\xFF"
     "b",
     1,
     "a\xEF\xBF\xBD"
     "b"},
    {"a\xC0\xAF", 1, "a\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xED\xA0\x80", 0, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xC3\xA9\xC3", 2, "\xC3\xA9\xEF\xBF\xBD"},
    {"\xF4\x90\x80\x80", 0, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
});

TEST(Utf8, FindsAndReplacesInvalidBytes) {
  for (const Utf8Case& each : kUtf8Cases) {
    EXPECT_EQ(is_valid_utf8(each.text), each.invalid_at == kNone) << each.text;
    EXPECT_EQ(invalid_utf8_at(each.text), each.invalid_at) << each.text;
    EXPECT_EQ(valid_utf8(each.text), each.repaired) << each.text;
    EXPECT_TRUE(is_valid_utf8(valid_utf8(each.text))) << each.text;
  }
}

TEST(Utf8, CountsTheBytesOfAnIncompleteSequence) {
  EXPECT_EQ(incomplete_utf8_bytes(""), 0U);
  EXPECT_EQ(incomplete_utf8_bytes("a"), 0U);
  EXPECT_EQ(incomplete_utf8_bytes("\xC3\xA9"), 0U);
  EXPECT_EQ(incomplete_utf8_bytes("a\xC3"), 1U);
  EXPECT_EQ(incomplete_utf8_bytes("a\xE2\x82"), 2U);
  EXPECT_EQ(incomplete_utf8_bytes("\xF0\x9F\x98"), 3U);
  EXPECT_EQ(incomplete_utf8_bytes("a\x80\x80\x80\x80"), 0U);
  EXPECT_EQ(incomplete_utf8_bytes("\xFF"), 0U);
}

TEST(Utf8, KnowsControlCharacters) {
  for (const std::uint32_t control : {0x00U, 0x1BU, 0x7FU, 0x80U, 0x9FU}) EXPECT_TRUE(is_control(control));
  for (const std::uint32_t other : {0x20U, 0x7EU, 0xA0U, 0x10FFFFU}) EXPECT_FALSE(is_control(other));
}

}  // namespace
}  // namespace pawl
