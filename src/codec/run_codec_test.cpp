#include "codec/run_codec.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using Kind = RecordPlace::Kind;

const Uuid kSealedRun = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca");
const Uuid kOtherSealedRun = *Uuid::parse("e204a1d5-8a93-4062-89ff-98071e9ca6ca");
constexpr std::string_view kRunNonce = "012345678901";
constexpr std::string_view kSecret = R"({"secret":1})";

RunCodec codec_of(const Uuid& run) {
  return RunCodec(run, {}, []() -> Result<SecretKey> { return SecretKey::of(std::string(32, 'k')); });
}

std::string sealed(const RecordPlace& place) {
  RunCodec codec = codec_of(kSealedRun);
  Packed packed;
  EXPECT_TRUE(codec.protect(packed, kSecret, place, kRunNonce));
  EXPECT_EQ(packed.how, "aes");
  return packed.bytes;
}

TEST(RunCodec, WhatIsEncryptedOpensInItsPlaceOnly) {
  const RecordPlace home{Kind::checkpoint, 7, 6, "x"};
  const std::string bytes = sealed(home);
  RunCodec codec = codec_of(kSealedRun);
  EXPECT_EQ(*codec.opened("aes", bytes, home, 100), kSecret);
  const RecordPlace others[] = {{Kind::checkpoint, 8, 6, "x"}, {Kind::checkpoint, 7, 5, "x"},
                                {Kind::checkpoint, 7, 6, "y"}, {Kind::metadata, 7, 6, "x"},
                                {Kind::event, 7, 6, "x"},      {Kind::message, 7, 6, "x"},
                                {Kind::blob, 7, 6, "x"},       {Kind::log, 7, 6, "x"}};
  for (const RecordPlace& other : others)
    EXPECT_EQ(codec.opened("aes", bytes, other, 100).error().code, Code::decryption_failed);
  RunCodec elsewhere = codec_of(kOtherSealedRun);
  EXPECT_EQ(elsewhere.opened("aes", bytes, home, 100).error().code, Code::decryption_failed);
}

TEST(RunCodec, WhatIsPlainIsRefusedInAnEncryptedRun) {
  RunCodec codec = codec_of(kSealedRun);
  EXPECT_EQ(codec.opened("", kSecret, {}, 100).error().code, Code::not_encrypted);
  EXPECT_EQ(codec.opened("zstd", kSecret, {}, 100).error().code, Code::not_encrypted);
  EXPECT_EQ(codec.event({{1, Sequence{1}, {}, "note", "{}"}, ""}).error().code, Code::not_encrypted);
}

TEST(RunCodec, EqualBlobsBecomeEqualAndOthersDoNot) {
  const auto blob = [](std::string_view bytes) {
    RunCodec codec = codec_of(kSealedRun);
    Packed packed;
    EXPECT_TRUE(codec.protect_blob(packed, bytes));
    return packed.bytes;
  };
  EXPECT_EQ(blob("same"), blob("same"));
  EXPECT_NE(blob("same").substr(0, kNonceBytes), blob("else").substr(0, kNonceBytes))
      << "no nonce is used for two contents";
}

TEST(RunCodec, AnEncryptedRunsFingerprintsNeedItsKey) {
  RunCodec codec = codec_of(kSealedRun);
  RunCodec plain(kSealedRun, {}, {});
  EXPECT_EQ(*plain.fingerprint(7), 7U);
  EXPECT_NE(*codec.fingerprint(7), 7U);
  EXPECT_EQ(*codec.fingerprint(7), *codec.fingerprint(7));
  EXPECT_NE(*codec.fingerprint(7), *codec.fingerprint(8));
}

}  // namespace
}  // namespace pawl
