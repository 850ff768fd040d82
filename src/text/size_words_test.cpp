#include "text/size_words.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(SizeWords, AreANumberAndItsUnit) {
  EXPECT_EQ(parse_size("512MB"), 512'000'000U);
  EXPECT_EQ(parse_size("2 GiB"), 2ULL << 30U);
  EXPECT_EQ(parse_size("100B"), 100U);
}

TEST(SizeWords, RefuseWhatIsNoSize) {
  for (const char* text : {"", "5", "MB", "-1MB", "0B", "5 mb", "5  MB", "1.5MB", "99999999999999999999B", "8192TiB"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(SizeWords, AreTheShortestThatIsExact) {
  EXPECT_EQ(size_words(100ULL << 20U), "100MiB");
  EXPECT_EQ(size_words(500'000), "500KB");
  EXPECT_EQ(size_words(1), "1B");
  for (const std::uint64_t bytes : {1ULL, 999ULL, 1000ULL, 1024ULL, 1025ULL, 1'000'000ULL, 3ULL << 40U}) {
    EXPECT_EQ(parse_size(size_words(bytes)), bytes);
  }
}

}  // namespace
}  // namespace pawl
