#include "text/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "text/utf8.hpp"

namespace pawl {
namespace {

std::vector<std::string> members(std::string_view object) {
  std::vector<std::string> found;
  JsonMembers cursor(object);
  while (const auto member = cursor.next())
    found.push_back(std::string(member->key) + "=" + std::string(member->value));
  return found;
}

std::vector<std::string> elements(std::string_view array) {
  std::vector<std::string> found;
  JsonElements cursor(array);
  while (const auto element = cursor.next()) found.emplace_back(*element);
  return found;
}

using Strings = std::vector<std::string>;

TEST(JsonText, HandsOutTheMembersOfAnObject) {
  EXPECT_EQ(members("{}"), Strings{});
  EXPECT_EQ(members("{ }"), Strings{});
  EXPECT_EQ(members(R"({ "a" : 1 ,"b":[1,{"c":"]}"}], "c\"":"x\\"})"),
            (Strings{"\"a\"=1", R"("b"=[1,{"c":"]}"}])", R"("c\""="x\\")"}));
  EXPECT_EQ(members("[1]"), Strings{});
}

TEST(JsonText, HandsOutTheElementsOfAnArray) {
  EXPECT_EQ(elements("[ ]"), Strings{});
  EXPECT_EQ(elements(R"([ null , -1.5e3,"a,b",[[]],{}, true ])"),
            (Strings{"null", "-1.5e3", "\"a,b\"", "[[]]", "{}", "true"}));
}

TEST(JsonText, SkipsAValueOfAnyDepthWithoutRecursion) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(skip_json_value(deep + "  ", 0), deep.size());
}

TEST(JsonText, SkipsStringsThatEndInBackslashes) {
  EXPECT_EQ(skip_json_value(R"("\\\\" x)", 0), 6U);
  EXPECT_EQ(skip_json_value(R"("\\\"" x)", 0), 6U);
  EXPECT_EQ(skip_json_value("\"open", 0), 5U);
}

TEST(JsonText, FindsAMemberByItsPlainName) {
  EXPECT_EQ(find_json_member(R"({"x":1,"\u0061b":2})", "ab"), "2");
  EXPECT_EQ(find_json_member(R"({"x":1})", "y"), std::nullopt);
}

TEST(JsonText, KnowsTypes) {
  EXPECT_EQ(json_type("{"), JsonType::object);
  EXPECT_EQ(json_type("-1"), JsonType::number);
  EXPECT_EQ(json_type("null"), JsonType::null);
  EXPECT_EQ(json_type("false"), JsonType::boolean);
  EXPECT_EQ(json_type(""), JsonType::none);
  EXPECT_EQ(trim_json(" \n[1] \t"), "[1]");
}

TEST(JsonText, DecodesEscapes) {
  EXPECT_EQ(unescape_json(R"("a\"\\\/\b\f\n\r\t\u0041z")"), "a\"\\/\b\f\n\r\tAz");
  EXPECT_EQ(unescape_json(R"("\u00e9\u20ac\ud83d\ude00")"), "é€😀");
  EXPECT_EQ(unescape_json(R"("\u0000")"), std::string(1, '\0'));
  EXPECT_EQ(unescape_json(R"("\ud83dx\ude00")"), "\uFFFDx\uFFFD");
}

TEST(JsonText, EscapesOnlyWhatMustBe) {
  EXPECT_EQ(escape_json(""), "\"\"");
  EXPECT_EQ(escape_json("é😀/\x7f"), "\"é😀/\x7f\"");
  EXPECT_EQ(escape_json("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\u0001\"");
}

TEST(JsonText, EscapesAndDecodesEveryByteAtEveryPlace) {
  for (std::size_t at = 0; at < 17; ++at) {
    for (unsigned byte = 0; byte < 0x80; ++byte) {
      std::string plain(17, 'x');
      plain[at] = static_cast<char>(byte);
      const std::string quoted = escape_json(plain);
      ASSERT_EQ(unescape_json(quoted), plain);
      ASSERT_EQ(nlohmann::json::parse(quoted).get<std::string>(), plain);
    }
  }
}

TEST(JsonText, DecodesRandomTextsLikeAParser) {
  std::mt19937 random(3);
  for (int i = 0; i < 5'000; ++i) {
    std::string plain;
    for (std::size_t left = random() % 20; left > 0; --left) {
      const auto any = static_cast<std::uint32_t>((random() % 0x110000) >> (random() % 21));
      append_utf8(plain, any >= 0xD800 && any <= 0xDFFF ? '"' : any);
    }
    ASSERT_EQ(unescape_json(nlohmann::json(plain).dump(-1, ' ', true)), plain);
    ASSERT_TRUE(json_string_is(escape_json(plain), plain));
    ASSERT_EQ(nlohmann::json::parse(escape_json(plain)).get<std::string>(), plain);
  }
}

TEST(JsonText, SurvivesTextThatIsNotJson) {
  std::mt19937 random(5);
  constexpr std::string_view kBytes = "{}[]\",:\\ud8 1tn";
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (std::size_t left = random() % 16; left > 0; --left) text += kBytes[random() % kBytes.size()];
    (void)members(text);
    (void)elements(text);
    (void)unescape_json(text);
    (void)skip_json_value(text, 0);
  }
}

TEST(Utf8, RefusesWhatIsNotValid) {
  EXPECT_EQ(first_code_point("\xC3\xA9x").value, 0xE9U);
  for (const char* text : {"", "\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                           "\xF8\x88\x80\x80", "\xC3", "\xC3x"}) {
    EXPECT_EQ(first_code_point(text).size, 0U);
  }
}

TEST(Utf8, CutsBetweenSequences) {
  EXPECT_EQ(utf8_cut("aé", 2), 1U);
  EXPECT_EQ(utf8_cut("aé", 3), 3U);
  EXPECT_EQ(utf8_cut("aé", 9), 3U);
  EXPECT_EQ(utf8_cut("😀", 3), 0U);
}

}  // namespace
}  // namespace pawl
