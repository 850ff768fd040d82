#include "audit/anchor.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

Anchor example() {
  Anchor anchor;
  anchor.store = *Uuid::parse("238d9491-9855-4cdb-9d45-35ed7d92bc78");
  anchor.created = Timestamp{1'768'141'800'000'000};
  anchor.runs = {{"alpha", *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca"), 7, std::string(64, 'a'),
                  std::string(64, 'b'), Timestamp{5}},
                 {"beta", *Uuid::parse("4247e814-fd78-453a-ade3-a3b3d6a8cb55"), 1, std::string(64, 'c'),
                  std::string(64, 'd'), Timestamp{6}}};
  return anchor;
}

TEST(Anchor, ComesBackAsItWasSigned) {
  const auto key = SigningKey::make();
  ASSERT_TRUE(key);
  Anchor anchor = example();
  const auto text = sign_anchor(anchor, *key);
  ASSERT_TRUE(text);
  const auto read = read_anchor(*text, *key->public_key());
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->runs, anchor.runs);
  EXPECT_EQ(read->store, anchor.store);
  EXPECT_EQ(read->created, anchor.created);
  EXPECT_EQ(read->find("beta")->entries, 1U);
  EXPECT_EQ(read->find("gamma"), nullptr);
}

TEST(Anchor, EveryChangedByteAndAnotherKeyAreRefused) {
  const auto key = SigningKey::make();
  ASSERT_TRUE(key);
  Anchor anchor = example();
  const std::string text = *sign_anchor(anchor, *key);
  EXPECT_EQ(read_anchor(text, *SigningKey::make()->public_key()).error().code, Code::signature_wrong);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto read = read_anchor(changed, *key->public_key());
    ASSERT_FALSE(read) << i;
    EXPECT_EQ(read.error().code, Code::signature_wrong);
    EXPECT_FALSE(read_anchor(text.substr(0, i), *key->public_key())) << i;
  }
}

TEST(Anchor, OfAnEmptyStoreCanBeSigned) {
  const auto key = SigningKey::make();
  Anchor anchor = example();
  anchor.runs.clear();
  const auto read = read_anchor(*sign_anchor(anchor, *key), *key->public_key());
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_TRUE(read->runs.empty());
}

}  // namespace
}  // namespace pawl
