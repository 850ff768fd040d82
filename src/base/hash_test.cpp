#include "base/hash.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

/// RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, HasItsKnownValues) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending += c;
  EXPECT_EQ(crc32c(ascending), 0x46DD794EU);
  EXPECT_EQ(crc32c(std::string(ascending.rbegin(), ascending.rend())), 0x113FDB5CU);
}

TEST(Crc32c, GoesOnFromASeed) {
  const std::string text = "The pawl catches the wheel at every tooth, and it never slips back.";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text)) << cut;
  }
  EXPECT_NE(crc32c(text, 1), crc32c(text, 2));
}

TEST(Crc32c, ChangesWithEveryBit) {
  std::string text = "{\"seq\":17,\"parent\":16,\"stored\":4}";
  const std::uint32_t before = crc32c(text);
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(text), before) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
  }
}

/// FIPS 180-2, appendix B.
TEST(Sha256, HasItsKnownValues) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, JoinsItsParts) {
  EXPECT_EQ(sha256("ab", "c"), sha256("abc"));
  EXPECT_EQ(sha256("a", "b", "c"), sha256("abc"));
  EXPECT_EQ(sha256("", "abc", ""), sha256("abc"));
}

TEST(Hex, IsLowerCaseAndGoesBothWays) {
  EXPECT_EQ(to_hex(std::string_view("\x00\x7F\xAB\xFF", 4)), "007fabff");
  EXPECT_EQ(from_hex("007fabff"), std::string("\x00\x7F\xAB\xFF", 4));
  EXPECT_EQ(to_hex(std::uint32_t{0x1A2B3C}), "001a2b3c");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_hex(to_hex(all)), all);
}

TEST(Hex, RefusesWhatIsNone) {
  EXPECT_EQ(from_hex("abc"), "");
  EXPECT_EQ(from_hex("zz"), "");
  EXPECT_EQ(from_hex("AB"), "");
  EXPECT_EQ(from_hex("00 1"), "");
}

TEST(Hash, AStreamGivesTheHashOfItsParts) {
  Sha256Stream stream;
  stream.add("one");
  stream.add("");
  stream.add("two");
  EXPECT_EQ(stream.finish(), sha256("onetwo"));
}

}  // namespace
}  // namespace pawl
