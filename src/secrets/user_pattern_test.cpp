#include "secrets/user_pattern.hpp"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <array>

namespace pawl {
namespace {

struct RefusedPattern {
  const char* pattern;
  const char* why;
};

constexpr auto kRefusedPatterns = std::to_array<RefusedPattern>({
    {"(?=a)b", "lookahead (?=...) is not supported"},
    {"a(?!b)", "negative lookahead (?!...) is not supported"},
    {"(?<=key: )\\w+", "lookbehind (?<=...) is not supported"},
    {"(?<!x)y", "negative lookbehind (?<!...) is not supported"},
    {"(?<name>a)", "the named group (?<name>...) is not supported"},
    {"(?>a+)b", "the atomic group (?>...) is not supported"},
    {"(a)\\1", "the backreference \\1 is not supported"},
    {"(?P<q>a)\\k<q>", "the backreference \\k<name> is not supported"},
    {"\\u00e4", "the escape \\u is not supported"},
    {"a++", "the possessive quantifier ++ is not supported"},
    {"[(?=]\\1", "the backreference \\1 is not supported"},
    {"(", "missing )"},
    {")", "unexpected )"},
    {"[a", "missing ] [a"},
    {"*a", "nothing to repeat before *"},
    {"a{1001}", "repetition above 1,000 or out of order {1001}"},
    {"[z-a]", "invalid range in a character class z-a"},
    {"\\", "it ends with \\"},
    {"\\y", "unknown escape \\y"},
});

TEST(UserPattern, AnErrorNamesWhatIsWrong) {
  for (const RefusedPattern& refused : kRefusedPatterns) {
    const auto compiled = compile_pattern(refused.pattern);
    ASSERT_FALSE(compiled) << refused.pattern;
    EXPECT_EQ(compiled.error().code, Code::usage);
    EXPECT_EQ(compiled.error().message,
              fmt::format("invalid regular expression '{}': {}", refused.pattern, refused.why));
  }
}

TEST(UserPattern, CommonSyntaxCompiles) {
  for (const char* pattern : {"CUST-[0-9]{6}", "^pin: .*$", "(?i)token=\\S+", "(?:a|b)+?c", "[]a]", "[^]a]", "\\bx\\b",
                              "[[:xdigit:]]{32}", "\\x41", "(?P<name>a)", "a{0,1000}"})
    EXPECT_TRUE(compile_pattern(pattern)) << pattern;
}

TEST(UserPattern, MatchesBytes) {
  const auto any = compile_pattern("a.b");
  ASSERT_TRUE(any);
  EXPECT_TRUE(
      re2::RE2::FullMatch("a\xFF"
                          "b",
                          **any));
  const auto umlaut = compile_pattern(
      "gr\xC3\xBC"
      "n");
  ASSERT_TRUE(umlaut);
  EXPECT_TRUE(
      re2::RE2::PartialMatch("ein gr\xC3\xBC"
                             "nes Blatt",
                             **umlaut));
}

}  // namespace
}  // namespace pawl
