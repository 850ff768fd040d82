#include "codec/sealed_text.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

std::string sealed(std::string text, std::uint32_t seed = 0) {
  seal(text, seed);
  return text;
}

TEST(SealedText, EndsWithTheChecksumOfWhatIsBeforeIt) {
  EXPECT_EQ(sealed("{\"a\":1"), R"({"a":1,"crc":"149cdbb2"})");
  EXPECT_EQ(unseal(sealed("{\"a\":1")), "{\"a\":1");
  EXPECT_EQ(sealed("{").size(), 1 + kSealBytes);
}

TEST(SealedText, IsBoundToItsSeed) {
  const std::string text = sealed("{\"a\":1", 7);
  EXPECT_TRUE(unseal(text, 7));
  EXPECT_FALSE(unseal(text, 8));
  EXPECT_FALSE(unseal(text));
}

TEST(SealedText, FindsEveryChangedByte) {
  const std::string text = sealed(R"({"type":"x","data":[1,2,3])");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int change = 1; change < 256; ++change) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ change);
      EXPECT_FALSE(unseal(other)) << "byte " << i << " ^ " << change;
    }
  }
}

TEST(SealedText, RefusesWhatIsCutOrLonger) {
  const std::string text = sealed(R"({"a":"b")");
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(unseal(text.substr(0, size))) << size;
  EXPECT_FALSE(unseal(text + "\n"));
  EXPECT_FALSE(unseal(text + " "));
  EXPECT_FALSE(unseal(" " + text));
}

}  // namespace
}  // namespace pawl
