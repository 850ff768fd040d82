#include "text/appended.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

std::string elements(std::string_view before, std::string_view after) {
  const auto found = appended_elements(before, after);
  return found ? std::string(found->elements) : "none";
}

TEST(AppendedElements, AreFoundWhereAnArrayGrew) {
  EXPECT_EQ(elements(R"({"m":[1]})", R"({"m":[1,2]})"), "2");
  EXPECT_EQ(elements(R"([{"a":"x"}])", R"([{"a":"x"},{"a":"y"}])"), R"({"a":"y"})");
  EXPECT_EQ(elements("[1\n]\n", "[1, 2\n]\n"), " 2");
  EXPECT_EQ(elements(R"({"m":[1],"n":"x"})", R"({"m":[1,2],"n":"x"})"), "2");
}

TEST(AppendedElements, KnowHowDeepTheyStand) {
  EXPECT_EQ(appended_elements("[[[1]]]", "[[[1,2]]]")->depth, 3U);
  EXPECT_EQ(appended_elements(R"({"m":[1],"n":[]})", R"({"m":[1,2],"n":[]})")->depth, 2U);
}

TEST(AppendedElements, AreNotSeenWhereTheChangeIsAnotherOne) {
  EXPECT_EQ(elements("[1]", "[12]"), "none");
  EXPECT_EQ(elements("[]", "[1]"), "none");
  EXPECT_EQ(elements("[1]", "[1]"), "none");
  EXPECT_EQ(elements("[1,2]", "[1]"), "none");
  EXPECT_EQ(elements(R"({"a":1})", R"({"a":1,"b":2})"), "none");
  EXPECT_EQ(elements(R"({"n":1,"m":[1]})", R"({"n":2,"m":[1,2]})"), "none");
}

TEST(AppendedElements, AreNotSeenInsideOfStrings) {
  EXPECT_EQ(elements(R"(["a]b"])", R"(["a,x]b"])"), "none");
  EXPECT_EQ(elements(R"(["a\"]"])", R"(["a\",1]"])"), "none");
  EXPECT_EQ(elements(R"(["a\"],[\"b"])", R"(["a\",1],[\"b"])"), "none");
}

TEST(AppendedElements, ThatCloseTheArrayAreNoElements) {
  // A check of "[" + elements + "]" finds that this is not JSON.
  EXPECT_EQ(elements("[[1]]", "[[1,2],[3]]"), "2],[3");
}

}  // namespace
}  // namespace pawl
