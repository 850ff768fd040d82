#include "codec/pruned_text.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr std::uint32_t kSeed = 77;

PrunedList example() {
  PrunedList list;
  list.at = *Timestamp::parse("2026-01-11T14:30:02.000002Z");
  list.dropped = *IndexRanges::parse("1-49,51-120");
  list.closed = *IndexRanges::parse("1-99");
  list.kept[50] = {std::string(64, 'a'), std::string(64, 'b')};
  list.callers = 3;
  return list;
}

TEST(PrunedText, ComesBackAsItWas) {
  const std::string text = encode_pruned(example(), kSeed);
  const auto list = decode_pruned(text, kSeed);
  ASSERT_TRUE(list) << describe(list.error());
  EXPECT_EQ(encode_pruned(*list, kSeed), text);
  EXPECT_TRUE(list->is_dropped({49}));
  EXPECT_FALSE(list->is_dropped({50}));
  EXPECT_TRUE(list->is_closed({99}));
  EXPECT_FALSE(list->is_closed({100}));
  ASSERT_NE(list->rewritten({50}), nullptr);
  EXPECT_EQ(list->rewritten({50})->is, std::string(64, 'b'));
  EXPECT_EQ(list->rewritten({51}), nullptr);
}

TEST(PrunedText, FindsTheNextAndTheLastThatAreThere) {
  const PrunedList list = example();
  EXPECT_EQ(list.next_there({1}).value, 50U);
  EXPECT_EQ(list.next_there({50}).value, 50U);
  EXPECT_EQ(list.next_there({51}).value, 121U);
  EXPECT_EQ(list.last_there({200}).value, 200U);
  EXPECT_EQ(list.last_there({120}).value, 50U);
  EXPECT_EQ(list.last_there({49}).value, 0U);
  EXPECT_EQ(PrunedList().last_there({7}).value, 7U);
}

TEST(PrunedText, EveryFlippedBitIsFound) {
  const std::string text = encode_pruned(example(), kSeed);
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_pruned(flipped, kSeed)) << bit;
  }
}

TEST(PrunedText, ImpossibleNumbersAreRefused) {
  static constexpr std::uint64_t kTooHigh = 1ULL << 53U;
  const auto refuses = [](auto change) {
    PrunedList list = example();
    change(list);
    const auto back = decode_pruned(encode_pruned(list, kSeed), kSeed);
    return !back && back.error().code == Code::store_damaged;
  };
  EXPECT_FALSE(refuses([](PrunedList& list) { list.dropped.add(121, kTooHigh - 1); }));
  EXPECT_TRUE(refuses([](PrunedList& list) { list.dropped.add(121, kTooHigh); }));
  EXPECT_TRUE(refuses([](PrunedList& list) { list.dropped.add(0); }));
  EXPECT_TRUE(refuses([](PrunedList& list) { list.closed.add(kTooHigh); }));
  EXPECT_TRUE(refuses([](PrunedList& list) { list.kept[kTooHigh] = list.kept[50]; }));
  EXPECT_TRUE(refuses([](PrunedList& list) { list.tails[50] = kTooHigh; }));
  EXPECT_TRUE(refuses([](PrunedList& list) { list.callers = UINT64_MAX; }));
}

TEST(PrunedText, OfAnotherRunIsRefused) {
  EXPECT_EQ(decode_pruned(encode_pruned(example(), kSeed), kSeed + 1).error().code, Code::store_damaged);
}

TEST(PrunedText, ACallersIdComesBackAsItWas) {
  PrunedCaller caller;
  caller.number = 4;
  caller.info.sequence.value = 12;
  caller.info.id = *Uuid::parse("4247e814-fd78-453a-ade3-a3b3d6a8cb55");
  caller.info.kind = Kind::workflow_start;
  caller.info.checksum = "sha256:" + std::string(64, 'c');
  caller.info.caller_id = "job \"7\"";
  caller.fingerprint = "0123456789abcdef";
  const std::string line = encode_pruned_caller(caller, kSeed);
  const auto back = decode_pruned_caller(line, kSeed);
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_EQ(encode_pruned_caller(*back, kSeed), line);
  EXPECT_EQ(back->info, caller.info);
  EXPECT_FALSE(decode_pruned_caller(line, kSeed + 1));
}

}  // namespace
}  // namespace pawl
