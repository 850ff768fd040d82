#include "text/index_ranges.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pawl {
namespace {

TEST(IndexRanges, ReadsWhatItWrites) {
  for (const std::string text : {"", "0", "0-40,42", "3,5-7,9"}) {
    const auto set = IndexRanges::parse(text);
    ASSERT_TRUE(set) << text;
    EXPECT_EQ(set->text(), text);
  }
}

TEST(IndexRanges, RefusesWhatItWouldNotWrite) {
  for (const std::string text : {"a", "1-", "-1", "5-3", "1,1", "1,2", "4,2", "1,,2", "18446744073709551615"}) {
    EXPECT_FALSE(IndexRanges::parse(text)) << text;
  }
}

TEST(IndexRanges, AddsARangeOfAnyLengthAtOnce) {
  IndexRanges ranges;
  ranges.add(5, UINT64_MAX - 1);
  EXPECT_EQ(ranges.text(), "5-18446744073709551614");
  EXPECT_EQ(ranges.count(), UINT64_MAX - 5);
  ranges.add(3, 2);
  EXPECT_FALSE(ranges.contains(3));
}

TEST(IndexRanges, AddsRangesLikeSingleIndices) {
  std::mt19937 random(9);
  for (int i = 0; i < 300; ++i) {
    IndexRanges ranges;
    IndexRanges expected;
    for (int j = 0; j < 12; ++j) {
      const std::uint64_t first = random() % 40;
      const std::uint64_t last = first + random() % 9;
      ranges.add(first, last);
      for (std::uint64_t index = first; index <= last; ++index) expected.add(index);
      ASSERT_EQ(ranges, expected);
    }
  }
}

TEST(IndexRanges, AgreesWithASetUnderRandomAddsAndRemoves) {
  std::mt19937 random(7);
  IndexRanges ranges;
  std::set<std::uint64_t> expected;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t index = random() % 60;
    if (random() % 3 == 0) {
      ranges.remove(index);
      expected.erase(index);
    } else {
      ranges.add(index);
      expected.insert(index);
    }
    ASSERT_EQ(ranges.count(), expected.size());
    std::uint64_t missing = index;
    while (expected.contains(missing)) ++missing;
    ASSERT_EQ(ranges.next_missing(index), missing);
    ASSERT_EQ(ranges.contains(index), expected.contains(index));
    ASSERT_EQ(IndexRanges::parse(ranges.text()), ranges);
  }
}

}  // namespace
}  // namespace pawl
