#include "audit/signing.hpp"

#include <gtest/gtest.h>

#include "base/hash.hpp"

namespace pawl {
namespace {

// RFC 8032, section 7.1, tests 1 to 3.
struct Vector {
  const char* public_key;
  const char* message;
  const char* signature;
};
constexpr Vector kVectors[] = {
    {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
     "55141438e7a100b"},
    {"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb"
     "00d291612bb0c00"},
    {"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc"
     "027beceea1ec40a"},
};

TEST(Signing, KnownSignaturesFitAndNoOthers) {
  for (const Vector& vector : kVectors) {
    const std::string message = from_hex(vector.message);
    EXPECT_TRUE(signature_fits(vector.public_key, message, vector.signature));
    EXPECT_FALSE(signature_fits(vector.public_key, message + "x", vector.signature));
    EXPECT_FALSE(signature_fits(kVectors[0].public_key + std::string("00"), message, vector.signature));
    std::string other = vector.signature;
    other[3] = other[3] == '0' ? '1' : '0';
    EXPECT_FALSE(signature_fits(vector.public_key, message, other));
    EXPECT_FALSE(signature_fits(vector.public_key, message, ""));
  }
}

TEST(Signing, AKeySurvivesItsFileAndSignsWhatItsPublicPartAccepts) {
  const auto key = SigningKey::make();
  ASSERT_TRUE(key);
  const auto again = SigningKey::parse(*key->pem());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again->public_key(), *key->public_key());
  EXPECT_TRUE(signature_fits(*key->public_key(), "text", *again->sign("text")));
  EXPECT_FALSE(signature_fits(*SigningKey::make()->public_key(), "text", *again->sign("text")));
  EXPECT_EQ(*parse_public_key(*key->public_key() + "\n"), *key->public_key());
}

TEST(Signing, WhatIsNoKeyIsRefused) {
  const std::string_view texts[] = {"", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"};
  for (const std::string_view text : texts) {
    EXPECT_EQ(SigningKey::parse(text).error().code, Code::invalid_key);
    EXPECT_EQ(parse_public_key(text).error().code, Code::invalid_key);
  }
}

}  // namespace
}  // namespace pawl
