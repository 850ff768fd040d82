#include "codec/store_keys.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

const SecretKey kOuter = SecretKey::of(std::string(32, 'o'));
const SecretKey kStore = SecretKey::of(std::string(32, 's'));
const SecretKey kKeyRun = SecretKey::of(std::string(32, 'r'));
const Uuid kStoreId = *Uuid::parse("238d9491-9855-4cdb-9d45-35ed7d92bc78");
const Uuid kOtherStore = *Uuid::parse("338d9491-9855-4cdb-9d45-35ed7d92bc78");
const Uuid kRunId = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca");
const Uuid kOtherKeyRun = *Uuid::parse("e204a1d5-8a93-4062-89ff-98071e9ca6ca");
constexpr std::string_view kKeyNonce = "012345678901";

TEST(StoreKeys, AKeyIsReadFromHexadecimalAndBase64) {
  const std::string hex = key_text(kOuter);
  EXPECT_EQ(hex.size(), 65U);
  EXPECT_EQ(parse_key(hex)->bytes(), kOuter.bytes());
  EXPECT_EQ(parse_key("  " + hex + "\n")->bytes(), kOuter.bytes());
  EXPECT_EQ(parse_key("b29vb29vb29vb29vb29vb29vb29vb29vb29vb29vb28=")->bytes(), kOuter.bytes());
  for (const char* wrong : {"", "abc", "zz", "0011"})
    EXPECT_EQ(parse_key(wrong).error().code, Code::invalid_key) << wrong;
}

TEST(StoreKeys, TheStoresKeyIsOpenedByItsOuterKeyInItsStoreOnly) {
  const StoreKeyInfo info{
      .id = key_id(kOuter), .scrypt = {}, .wrapped = wrap_store_key(kOuter, kStore, kStoreId, kKeyNonce)};
  EXPECT_EQ(unwrap_store_key(kOuter, info, kStoreId)->bytes(), kStore.bytes());
  EXPECT_EQ(unwrap_store_key(kKeyRun, info, kStoreId).error().code, Code::key_wrong);
  EXPECT_EQ(unwrap_store_key(kOuter, info, kOtherStore).error().code, Code::decryption_failed);
}

TEST(StoreKeys, ARunsKeyIsBoundToRunAndStore) {
  const std::string text = encode_run_key(kStore, kKeyRun, kStoreId, kRunId, kKeyNonce);
  EXPECT_TRUE(run_key_is_whole(text));
  EXPECT_EQ(decode_run_key(text, kStore, kStoreId, kRunId)->bytes(), kKeyRun.bytes());
  EXPECT_EQ(decode_run_key(text, kStore, kStoreId, kOtherKeyRun).error().code, Code::decryption_failed);
  EXPECT_EQ(decode_run_key(text, kStore, kOtherStore, kRunId).error().code, Code::decryption_failed);
  EXPECT_EQ(decode_run_key(text, kOuter, kStoreId, kRunId).error().code, Code::decryption_failed);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(run_key_is_whole(changed)) << i;
    EXPECT_FALSE(decode_run_key(changed, kStore, kStoreId, kRunId)) << i;
  }
}

TEST(StoreKeys, APassphraseGivesTheSameKeyForTheSameSalt) {
  Scrypt scrypt{.salt = "salt", .n = 16};
  const auto first = key_of_passphrase("correct horse", scrypt);
  ASSERT_TRUE(first);
  EXPECT_EQ(key_of_passphrase("correct horse", scrypt)->bytes(), first->bytes());
  EXPECT_NE(key_of_passphrase("correct horsf", scrypt)->bytes(), first->bytes());
  scrypt.salt = "pepper";
  EXPECT_NE(key_of_passphrase("correct horse", scrypt)->bytes(), first->bytes());
  EXPECT_EQ(key_of_passphrase("", scrypt).error().code, Code::invalid_key);
  for (const std::uint64_t n : {0ULL, 1ULL, 3ULL, 1ULL << 60U}) {
    scrypt.n = n;
    EXPECT_EQ(key_of_passphrase("p", scrypt).error().code, Code::invalid_key) << n;
  }
}

}  // namespace
}  // namespace pawl
