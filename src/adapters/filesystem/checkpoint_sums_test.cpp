#include "adapters/filesystem/checkpoint_sums.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace pawl {
namespace {

std::string sum_for(std::uint64_t number) {
  std::string text = std::to_string(number);
  return std::string(64 - text.size(), 'a') + text;
}

/// In any order, with gaps and repetitions, it contains what a map would.
TEST(CheckpointSums, ContainWhatAMapWould) {
  std::mt19937_64 dice(7);
  for (int round = 0; round < 200; ++round) {
    CheckpointSums sums;
    std::map<std::uint64_t, std::pair<std::string, bool>> model;
    const std::uint64_t range = round % 4 == 0 ? 20'000 : 50;
    std::uint64_t next = 1;
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t sequence = dice() % 3 == 0 ? 1 + dice() % range : next++;
      const std::string sum = dice() % 10 == 0 ? std::string() : sum_for(dice() % 1000);
      sums.put(sequence, sum);
      model[sequence].first = sum;
      const std::uint64_t audited = 1 + dice() % range;
      sums.set_audited(audited);
      if (const auto found = model.find(audited); found != model.end()) found->second.second = true;
    }
    auto expected = model.begin();
    sums.for_each([&](std::uint64_t sequence, bool audited) {
      ASSERT_NE(expected, model.end());
      EXPECT_EQ(sequence, expected->first);
      EXPECT_EQ(sums.sum_of(sequence), expected->second.first);
      EXPECT_EQ(audited, expected->second.second);
      ++expected;
    });
    EXPECT_EQ(expected, model.end());
    EXPECT_EQ(sums.last(), model.rbegin()->first);
    for (std::uint64_t sequence = 0; sequence < 60; ++sequence)
      EXPECT_EQ(sums.contains(sequence), model.contains(sequence));
  }
}

TEST(CheckpointSums, StretchesAreBounded) {
  CheckpointSums sums;
  for (std::uint64_t sequence = 1; sequence <= 10'000; ++sequence) sums.put(sequence, sum_for(sequence));
  EXPECT_EQ(sums.sum_of(4096), sum_for(4096));
  EXPECT_EQ(sums.sum_of(4097), sum_for(4097));
  EXPECT_EQ(sums.sum_of(10'000), sum_for(10'000));
  EXPECT_FALSE(sums.contains(10'001));
}

}  // namespace
}  // namespace pawl
