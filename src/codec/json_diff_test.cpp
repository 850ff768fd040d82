#include "codec/json_diff.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/json.hpp"

namespace pawl {
namespace {

TEST(JsonDiff, WritesAJsonPatch) {
  EXPECT_EQ(*json_patch("{}", "{ }"), "[]");
  EXPECT_EQ(
      *json_patch(R"({"a":1,"b":2})", R"({"a":3,"c":[1]})"),
      R"([{"op":"replace","path":"/a","value":3},{"op":"remove","path":"/b"},{"op":"add","path":"/c","value":[1]}])");
  EXPECT_EQ(*json_patch("[1,2,3]", "[1]"), R"([{"op":"remove","path":"/2"},{"op":"remove","path":"/1"}])");
  EXPECT_EQ(*json_patch(R"({"~/":{"é":1}})", R"({"~/":{"é":2}})"), R"([{"op":"replace","path":"/~0~1/é","value":2}])");
  EXPECT_EQ(*json_patch("1", "{}"), R"([{"op":"replace","path":"","value":{}}])");
}

TEST(JsonDiff, WritesALinePerChange) {
  EXPECT_EQ(*readable_diff("{}", "{}"), "");
  EXPECT_EQ(*readable_diff(R"({"m":["x"],"n":1,"old":true})", R"({"m":["x","y"],"n":2})"),
            "+ /m/1: \"y\"\n~ /n: 1 -> 2\n- /old: true\n");
  EXPECT_EQ(*readable_diff(R"({"a\nb":1})", R"({"a\nb":2})"), "~ /a\\nb: 1 -> 2\n");
  EXPECT_EQ(*readable_diff("1", "2"), "~ (everything): 1 -> 2\n");
}

TEST(JsonDiff, ShortensValuesBetweenCharacters) {
  const std::string text = *readable_diff("{}", "{\"a\":\"" + std::string(78, 'x') + "é and more\"}");
  EXPECT_EQ(text, "+ /a: \"" + std::string(78, 'x') + "...\n");
}

/// Returns an object with `count` keys, in descending order if `backwards`, with `last` as the value of one of them.
std::string many_keys(std::size_t count, bool backwards, int last) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t number = backwards ? count - 1 - i : i;
    text += fmt::format("{}\"key_{}\":{}", i == 0 ? "" : ",", number, number == count - 1 ? last : 0);
  }
  return text + "}";
}

// If each key were searched among all of them, this would take hours.
TEST(JsonDiff, ComparesObjectsOfMillionsOfKeys) {
  constexpr std::size_t kKeys = 2'000'000;
  const std::string before = many_keys(kKeys, false, 1);
  EXPECT_EQ(*readable_diff(before, many_keys(kKeys, false, 2)), "~ /key_1999999: 1 -> 2\n");
  EXPECT_EQ(*json_patch(before, many_keys(kKeys, true, 2)), R"([{"op":"replace","path":"/key_1999999","value":2}])");
}

TEST(JsonDiff, RefusesWhatIsNotJson) {
  EXPECT_EQ(json_patch("{", "{}").error().code, Code::invalid_json);
  EXPECT_EQ(readable_diff("{}", "nope").error().code, Code::invalid_json);
  EXPECT_EQ(readable_diff("\"\xFF\"", "1").error().code, Code::invalid_json);
}

Json random_json(std::mt19937& random, int depth) {
  const std::size_t pick = random() % (depth > 0 ? 6 : 3);
  if (pick < 3) return Json(random() % 3);
  Json json = pick == 3 ? Json::array() : Json::object();
  for (std::size_t left = random() % 5; left > 0; --left) {
    if (json.is_array()) {
      json.push_back(random_json(random, depth - 1));
    } else {
      json[std::string(1, static_cast<char>('a' + random() % 6))] = random_json(random, depth - 1);
    }
  }
  return json;
}

TEST(JsonDiff, MakesPatchesThatLeadFromOneStateToTheOther) {
  std::mt19937 random(12);
  for (int i = 0; i < 3'000; ++i) {
    const Json before = random_json(random, 4);
    const Json after = random_json(random, 4);
    const std::string patch = *json_patch(before.dump(), after.dump());
    // Compared without order: a patch does not say where in an object a new key is added.
    ASSERT_EQ(nlohmann::json::parse(before.patch(Json::parse(patch)).dump()), nlohmann::json::parse(after.dump()))
        << patch;
  }
}

TEST(JsonDiff, GoesDeep) {
  const std::string open(512, '[');
  const std::string close(512, ']');
  EXPECT_EQ(Json::parse(*json_patch(open + "1" + close, open + "2" + close)).size(), 1U);
}

}  // namespace
}  // namespace pawl
