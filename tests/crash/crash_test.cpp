// Simulated crashes: seeded schedules over several processes that save, take over, settle, recycle and read,
// cut by kill -9 and by power loss at every kind of call (tests/crash/crash_world.hpp).
//
// PAWL_CRASH_SEEDS sets how many schedules are run; PAWL_CRASH_SEED runs one of them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/crash/crash_world.hpp"

namespace pawl::testing {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(CrashTest, NothingAcknowledgedIsLostInTwentyThousandSchedules) {
  const std::uint64_t only = number_from("PAWL_CRASH_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1;
  const std::uint64_t last = only != 0 ? only : number_from("PAWL_CRASH_SEEDS", 20'000);
  CrashWorld::Counts sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CrashWorld world(seed, {});
    const auto violation = world.run();
    ASSERT_FALSE(violation) << "seed " << seed << ": " << *violation;
    sum.acknowledged += world.counts().acknowledged;
    sum.kills += world.counts().kills;
    sum.power_losses += world.counts().power_losses;
    sum.reads += world.counts().reads;
    sum.nested += world.counts().nested;
    sum.settles += world.counts().settles;
  }
  std::printf("%llu schedules: %llu acknowledged saves, %llu kills, %llu power losses, %llu reads beside writers, %llu nested "
              "actions, %llu settles\n",
              static_cast<unsigned long long>(last - first + 1), static_cast<unsigned long long>(sum.acknowledged),
              static_cast<unsigned long long>(sum.kills), static_cast<unsigned long long>(sum.power_losses),
              static_cast<unsigned long long>(sum.reads), static_cast<unsigned long long>(sum.nested),
              static_cast<unsigned long long>(sum.settles));
  // Each kind of trouble really occurred.
  EXPECT_GT(sum.acknowledged, 0U);
  EXPECT_GT(sum.kills, 0U);
  EXPECT_GT(sum.power_losses, 0U);
  EXPECT_GT(sum.nested, 0U);
}

/// How many schedules it takes until the suite notices; 0: it does not.
std::uint64_t schedules_until_noticed(const Mutation& mutation, std::uint64_t seeds_max) {
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed) {
    CrashWorld world(seed, mutation);
    if (world.run()) return seed;
  }
  return 0;
}

class EverySync : public ::testing::TestWithParam<int> {};

TEST_P(EverySync, IsNeeded) {
  const auto point = static_cast<SyncPoint>(GetParam());
  const std::uint64_t seeds = schedules_until_noticed({.ignored = point}, 20'000);
  EXPECT_NE(seeds, 0U) << "without the sync '" << to_text(point) << "' nothing is lost";
  std::printf("without %s: noticed in schedule %llu\n", std::string(to_text(point)).c_str(), static_cast<unsigned long long>(seeds));
}

TEST_P(EverySync, MustComeBeforeWhatFollowsIt) {
  const auto point = static_cast<SyncPoint>(GetParam());
  const std::uint64_t seeds = schedules_until_noticed({.postponed = point, .postponed_ops = 2}, 20'000);
  EXPECT_NE(seeds, 0U) << "with the sync '" << to_text(point) << "' postponed nothing is lost";
  std::printf("%s postponed: noticed in schedule %llu\n", std::string(to_text(point)).c_str(), static_cast<unsigned long long>(seeds));
}

INSTANTIATE_TEST_SUITE_P(Sync, EverySync, ::testing::Range(0, static_cast<int>(kSyncPointCount)),
                         [](const auto& test) { return std::string(to_text(static_cast<SyncPoint>(test.param))); });

}  // namespace
}  // namespace pawl::testing
