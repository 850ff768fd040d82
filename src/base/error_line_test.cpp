#include "base/error_line.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(ErrorLine, TheHintStandsBehindTheMessage) {
  EXPECT_EQ(describe_in_line({Code::usage, "it is wrong", "file:3", "mend it", 0}),
            "PAWL-0001: it is wrong (file:3); mend it");
  EXPECT_EQ(describe_in_line({Code::usage, "it is wrong", {}, {}, 0}), "PAWL-0001: it is wrong");
}

TEST(ErrorLine, ListsOfAMessageStandInTheLine) {
  EXPECT_EQ(describe_in_line({Code::usage, "these are left:\n  4711 sleep\n  4712 cat", {}, "end them", 0}),
            "PAWL-0001: these are left: 4711 sleep 4712 cat; end them");
}

}  // namespace
}  // namespace pawl
