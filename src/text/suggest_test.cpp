#include "text/suggest.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Suggest, FindsTheNearestWordOnly) {
  EXPECT_EQ(edit_distance("svae", "save"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(suggest("lst", {"list", "show"}), "list");
  EXPECT_EQ(suggest("rollback", {"list", "show"}), "");
}

}  // namespace
}  // namespace pawl
