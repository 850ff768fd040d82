#include "base/json.hpp"

#include <gtest/gtest.h>

#include <random>

namespace pawl {
namespace {

/// Returns JSON with nested objects, some of them large, with repeated keys.
std::string any_json(std::mt19937& random, int depth) {
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  const std::uint32_t kind = below(depth > 0 ? 8 : 6);
  if (kind == 0) return "null";
  if (kind == 1) return "true";
  if (kind == 2) return "-17";
  if (kind == 3) return "18446744073709551615";
  if (kind == 4) return " 1.5e3 ";
  if (kind == 5) return R"("t\u00e9xt\n")";
  std::string text = kind == 6 ? "[" : "{";
  const std::uint32_t count = below(4) == 0 ? below(60) : below(5);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) text += ",";
    if (kind == 7) text += "\"k" + std::to_string(below(50)) + "\":";
    text += any_json(random, depth - 1);
  }
  return text + (kind == 6 ? "]" : "}");
}

TEST(Json, IsParsedAsTheLibraryDoes) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = any_json(random, 4);
    const Json parsed = parse_json(text);
    EXPECT_EQ(compact(parsed), compact(Json::parse(text))) << text;
    EXPECT_EQ(parsed, Json::parse(text)) << text;
  }
}

TEST(Json, IsDiscardedIfItIsInvalid) {
  for (const char* text : {"", " ", "{", "[1,", R"({"a":1)", R"({"a":1}x)", "nope", "\"\xFF\"", "1e999", "[1]]"}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
    EXPECT_TRUE(Json::parse(text, nullptr, false).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace pawl
