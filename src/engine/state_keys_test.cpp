#include "engine/state_keys.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(StateKeys, ValuesAreReplacedAtAnyDepthAndComeBack) {
  const Json original =
      Json::parse(R"({"token":"t1","a":[{"token":"t1","b":1}],"c":{"pin":1234,"token":"t1"},"d":null})");
  Json value = original;
  KeyValues values;
  mask_keys(value, {"token", "pin", "d"}, values);
  EXPECT_EQ(
      compact(value),
      R"({"token":"[masked:token]","a":[{"token":"[masked:token]","b":1}],"c":{"pin":"[masked:pin]","token":"[masked:token]"},"d":null})");
  EXPECT_EQ(values, (KeyValues{{"token", "t1"}, {"pin", 1234}}));
  Json again = value;
  mask_keys(again, {"token", "pin"}, values);
  EXPECT_EQ(again, value);
  EXPECT_EQ(values.at("token"), Json("t1")) << "a mask is no value";
  unmask_keys(value, values);
  EXPECT_EQ(value, original);
}

TEST(StateKeys, TheyAreGivenAsOptionsOrInTheEnvironment) {
  const auto values = given_key_values({"api-key", "token"}, {{"token", "t1"}}, {"PAWL_VAR_API_KEY=k=1", "X=1"}, "r");
  ASSERT_TRUE(values) << describe(values.error());
  EXPECT_EQ(*values, (KeyValues{{"api-key", "k=1"}, {"token", "t1"}}));
}

TEST(StateKeys, ThoseThatAreMissingAreNamed) {
  const auto values = given_key_values({"api-key", "pin", "token"}, {{"token", "t1"}}, {}, "r");
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().code, Code::invalid_variable);
  EXPECT_EQ(values.error().message, "run 'r' needs the value of 'api-key', 'pin' again, because it is never saved");
  EXPECT_EQ(values.error().hint, "set PAWL_VAR_API_KEY, PAWL_VAR_PIN in the environment, or pass the value");
  EXPECT_EQ(values.error().advice, Advice::give_values);
  EXPECT_EQ(values.error().subject.value, "api-key,pin");
}

}  // namespace
}  // namespace pawl
