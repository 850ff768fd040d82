#include "engine/state_change.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

std::string changed(std::string_view state, const std::vector<std::string>& texts,
                    MissingPath missing = MissingPath::create) {
  std::vector<StateChange> changes;
  for (const std::string& text : texts) {
    auto change = parse_change(text);
    if (!change) return describe(change.error());
    changes.push_back(std::move(*change));
  }
  const auto result = changed_state(state, changes, missing);
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

TEST(StateChange, JsonPointersAreTakenAsDiffPrintsThem) {
  using Path = std::vector<std::string>;
  EXPECT_EQ(parse_change("/done=true")->path, Path{"done"});
  EXPECT_EQ(parse_change("/todo/2=x")->path, (Path{"todo", "2"}));
  EXPECT_EQ(parse_change("/a~1b/c~0d=1")->path, (Path{"a/b", "c~d"}));
  EXPECT_EQ(parse_change("/a~01=1")->path, Path{"a~1"});
  EXPECT_EQ(parse_change("/=1")->path, Path{""});
  EXPECT_EQ(parse_change("/a.b/c[0]=1")->path, (Path{"a.b", "c[0]"}));
  EXPECT_EQ(parse_change("a/b=1")->path, Path{"a/b"}) << "a slash inside a dotted path is part of the name";
  for (const char* bad : {"/a~=1", "/a~2=1", "/a~"}) EXPECT_EQ(parse_change(bad).error().code, Code::invalid_change);
}

TEST(StateChange, APathIsToldSoThatItCanBeGivenAgain) {
  for (const char* path : {"a.b.2", "/a.b/2", "/a~1b/c~0d", "/a/", "/x[0]"}) {
    EXPECT_EQ(parse_change(std::string(path) + "=1")->text(), path);
  }
  EXPECT_EQ(parse_change("/a/b=1")->text(), "a.b");
}

TEST(StateChange, AMissingPathIsRefusedWithTheNearestOne) {
  const auto refused = [](std::string_view state, const std::string& text) {
    return changed(state, {text}, MissingPath::refuse);
  };
  constexpr std::string_view kState = R"({"done":false,"todo":["a","b"],"a.b":{"c":1},"x/y":1,"n":null})";
  EXPECT_EQ(refused(kState, "/done=true"), R"({"done":true,"todo":["a","b"],"a.b":{"c":1},"x/y":1,"n":null})");
  EXPECT_EQ(refused(R"({"a":[1,2]})", "/a/1=9"), R"({"a":[1,9]})");
  EXPECT_EQ(refused(R"({"a.b":{"c":1}})", "/a.b/c=2"), R"({"a.b":{"c":2}})");
  EXPECT_EQ(refused(R"({"x/y":1})", "/x~1y=2"), R"({"x/y":2})");
  EXPECT_EQ(refused(R"({"x/y":1})", "x/y=2"), R"({"x/y":2})");
  const std::pair<const char*, const char*> missing[] = {
      {"dome=1", "did you mean /done?"},
      {"a.b.c=1", "did you mean /a.b?"},
      {"/todo/2=x", "/todo has 2 elements"},
      {"/todo/-=x", "/todo has 2 elements"},
      {"todo[9]=x", "/todo has 2 elements"},
      {"/done/deep=1", "/done is not an object or array"},
      {"/n/deep=1", "/n is not an object or array"},
      {"zzzzzz=1", "the state has no member 'zzzzzz'"},
  };
  for (const auto& [text, nearest] : missing) {
    const std::string said = refused(kState, text);
    EXPECT_NE(said.find("PAWL-0030"), std::string::npos) << text << ": " << said;
    EXPECT_NE(said.find(nearest), std::string::npos) << text << ": " << said;
    EXPECT_NE(said.find("--create"), std::string::npos) << text << ": " << said;
  }
}

TEST(StateChange, WithCreateWhatIsMissingIsAdded) {
  EXPECT_EQ(changed(R"({"todo":["a"]})", {"/todo/-=b", "/todo/2=c", "/new/deep=1"}),
            R"({"todo":["a","b","c"],"new":{"deep":1}})");
  EXPECT_EQ(changed(R"({"a":1})", {"/01=x"}), R"({"a":1,"01":"x"})");
}

TEST(StateChange, NothingIsPutIntoAPlainValue) {
  EXPECT_NE(changed(R"({"a":1})", {"a.b=9"}).find("PAWL-0030"), std::string::npos);
  EXPECT_EQ(changed(R"({"a":null})", {"a.b.c=9"}), R"({"a":{"b":{"c":9}}})");
  EXPECT_NE(changed("[1]", {"a=9"}).find("PAWL-0030"), std::string::npos);
}

// If each key were searched among all of them, this would take hours.
TEST(StateChange, ChangesAnObjectOfMillionsOfKeys) {
  std::string before = "{\"last\":0";
  for (int i = 0; i < 2'000'000; ++i) before += fmt::format(",\"key_{}\":0", i);
  const std::string rest = before.substr(before.find(','));
  EXPECT_TRUE(changed(before + "}", {"last=1"}, MissingPath::refuse) == "{\"last\":1" + rest + "}");
  EXPECT_TRUE(changed(before + "}", {"last=null"}, MissingPath::refuse) == "{\"last\":null" + rest + "}");
}

}  // namespace
}  // namespace pawl
