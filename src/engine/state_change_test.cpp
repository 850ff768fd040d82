#include "engine/state_change.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

std::string changed(std::string_view state, const std::vector<std::string>& texts) {
  std::vector<StateChange> changes;
  for (const std::string& text : texts) {
    auto change = parse_change(text);
    if (!change) return describe(change.error());
    changes.push_back(std::move(*change));
  }
  const auto result = changed_state(state, changes);
  return result ? *result : describe(result.error());
}

TEST(StateChange, ValuesAreJsonWhereTheyAreSomeAndElseText) {
  EXPECT_EQ(parse_change("a=3")->value, Json(3));
  EXPECT_EQ(parse_change("a=\"3\"")->value, Json("3"));
  EXPECT_EQ(parse_change("a=b=c d")->value, Json("b=c d"));
  EXPECT_EQ(parse_change("a=")->value, Json(""));
  EXPECT_EQ(parse_change("a={\"b\": null}")->value, Json({{"b", nullptr}}));
}

TEST(StateChange, PathsHaveDotsAndBrackets) {
  EXPECT_EQ(parse_change("a.b[2][0].c=1")->path, (std::vector<std::string>{"a", "b", "2", "0", "c"}));
  for (const char* bad : {"a", "=1", ".a=1", "a.=1", "a..b=1", "a[=1", "a[x]=1", "a[1]b=1", "[0]=1"}) {
    EXPECT_EQ(parse_change(bad).error().code, Code::invalid_change) << bad;
  }
}

TEST(StateChange, WhatIsNotChangedKeepsItsBytes) {
  EXPECT_EQ(changed("{ \"n\": 1.50,\n \"a\": {\"b\": 1} }", {"a.b=2"}), "{ \"n\": 1.50,\n \"a\": {\"b\": 2} }");
}

TEST(StateChange, ObjectsAndNullReplaceWhatWasThere) {
  EXPECT_EQ(changed(R"({"a":{"b":1,"c":2}})", {"a={\"d\":3}"}), R"({"a":{"d":3}})");
  EXPECT_EQ(changed(R"({"a":{"b":1}})", {"a.b=null"}), R"({"a":{"b":null}})");
}

TEST(StateChange, ArraysTakeAnIndexOrTheNextOne) {
  EXPECT_EQ(changed(R"({"a":[1,2]})", {"a[0]=9", "a.2=3"}), R"({"a":[9,2,3]})");
  EXPECT_NE(changed(R"({"a":[1,2]})", {"a[3]=9"}).find("PAWL-0030"), std::string::npos);
  EXPECT_NE(changed(R"({"a":[1,2]})", {"a.x=9"}).find("PAWL-0030"), std::string::npos);
}

TEST(StateChange, NothingIsPutIntoAPlainValue) {
  EXPECT_NE(changed(R"({"a":1})", {"a.b=9"}).find("PAWL-0030"), std::string::npos);
  EXPECT_EQ(changed(R"({"a":null})", {"a.b.c=9"}), R"({"a":{"b":{"c":9}}})");
  EXPECT_NE(changed("[1]", {"a=9"}).find("PAWL-0030"), std::string::npos);
}

}  // namespace
}  // namespace pawl
